// The paths of the console's HTTP interface and how each is answered: by the controller's own
// services, through a channel inside the process whose peer may only read.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <google/protobuf/message.h>

#include "controller/api/console.pb.h"
#include "controller/console/views/pair_grid.h"
#include "kernels/core/base/result.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace railgauge::console {

struct Stubs;  // in service_stubs.h

// Calls of the services, at most kMostCalls at a time, since those of a connection are bounded.
// Thread safe.
class Reader {
 public:
  static constexpr std::size_t kMostCalls = 6;
  static constexpr double kTurnSeconds = 5;   // to wait for one of these places
  static constexpr double kCallSeconds = 20;  // of a call
  // To wait for others' matrices, and to read one with the one that it is compared with. Together
  // they are below what the server grants an answer.
  static constexpr double kGridTurnSeconds = 5;
  static constexpr double kGridReadSeconds = 22;
  static constexpr double kGridSeconds = 30;  // a run's matrix is read again after this time
  static constexpr std::size_t kMostGrids = 8;
  // Answers that cost a core tenths of a second, and that several people look at: kMostAnswers of
  // 2 MB each.
  static constexpr double kAnswerTurnSeconds = 5;
  static constexpr double kAnswerSeconds = 300;  // where it cannot change unseen
  static constexpr double kShortSeconds = 10;    // where it can
  static constexpr std::size_t kMostAnswers = 8;
  // Blocks of large matrices that are read at a time. A person who moves the picture asks for many,
  // and the overview of the next one must find a thread of the services free.
  static constexpr std::size_t kMostBlocks = 1;
  static constexpr double kBlockTurnSeconds = 10;  // to wait for the turn of a block
  // Callers that wait for that turn. Each holds one of the few places that the HTTP server grants a
  // source, and a page asks for a tile again.
  static constexpr std::size_t kMostBlockWaits = 2;

  // Opens a channel to the services. Each call has one of its own, which costs little inside a
  // process: the server closes connections that are idle for a minute.
  using Connect = std::function<std::shared_ptr<grpc::Channel>()>;
  explicit Reader(Connect connect) : connect_(std::move(connect)) {}
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Makes one call that ends, with its turn, within `seconds`. Errors: the service's;
  // kResourceExhausted: kMostCalls are under way; kDeadlineExceeded.
  using Send = std::function<grpc::Status(const Stubs& stubs, grpc::ClientContext& context)>;
  Status call(const Send& send, double seconds = kTurnSeconds + kCallSeconds);
  // Whether the run has ended: its figures change no more. false: also where it cannot be read.
  bool has_ended(const std::string& run_id);
  // Ends the calls under way, and refuses those that come later.
  void stop();
  // The arranged matrix, from memory where it was asked for a moment ago. Errors: call()'s and
  // PairGrid's; kResourceExhausted: other matrices are being read.
  Result<std::shared_ptr<const PairGrid>> grid(const api::MatrixRequest& request);
  // The answer to a route's request, from memory while it is kept and `is_newest` agrees; else made
  // by `make`, one at a time, into `answer`. `make` returns for how many seconds it is kept.
  // Errors: those of both.
  using Make = std::function<Result<double>(google::protobuf::Message& answer)>;
  using IsNewest = std::function<Result<bool>(const google::protobuf::Message& kept)>;
  Status kept_answer(const google::protobuf::Message& request, const IsNewest& is_newest,
                     const Make& make, google::protobuf::Message& answer);
  // The figures of a block. Who has hung up loses the turn. Errors: call()'s; kCancelled: `is_gone`
  // while it waited; kResourceExhausted: kMostBlocks were being read for kBlockTurnSeconds, or, at
  // once, kMostBlockWaits others wait.
  using IsGone = std::function<bool()>;
  Status block(const api::MatrixBlockRequest& request, const IsGone& is_gone,
               api::MatrixBlock& answer);

 private:
  struct ReadGrid {
    std::string key{};
    double until_seconds = 0;
    std::shared_ptr<const PairGrid> grid{};
  };
  struct KeptAnswer {
    std::string key{};
    double until_seconds = 0;
    std::shared_ptr<const google::protobuf::Message> answer{};
  };
  Result<NodePlaces> read_places();
  Result<std::shared_ptr<const PairGrid>> read_grid(const api::MatrixRequest& request);

  const Connect connect_;
  std::mutex mutex_;  // guards the next five
  std::condition_variable changed_;
  std::set<grpc::ClientContext*> calls_;  // under way
  std::size_t blocks_ = 0;                // that are being read
  std::size_t block_waits_ = 0;           // callers that wait for the turn of a block
  bool is_stopping_ = false;
  std::timed_mutex grids_mutex_;    // held while a matrix is read, so that tiles read it once
  std::list<ReadGrid> grids_;       // the newest first
  std::timed_mutex answers_mutex_;  // held while such an answer is made
  std::list<KeptAnswer> answers_;   // the newest first
};

// The report of the site for a page. Makes many calls, one after the other. kInvalidArgument: hours
// out of range, or more than one of run, upgrade and hours. Errors: those of the calls. In
// report_reader.cc.
Result<api::ReportPage> read_report(Reader& reader, const api::ReportRequest& request);

// Who waits for an answer.
struct Asking {
  Reader::IsGone is_gone{};  // may be empty
  std::string caller{};      // the services' name of the visitor, for a route that is_as_visitor
};

// One path of the interface. `path` may have a part in braces: the field of the request that this
// part of a URL is.
struct Route {
  std::string_view path;
  std::string_view summary;
  const google::protobuf::Message& (*request)();
  const google::protobuf::Message& (*answer)();
  Status (*read)(Reader& reader, const Asking& asking, const google::protobuf::Message& request,
                 google::protobuf::Message& answer);
  bool is_as_visitor = false;  // the visitor's own rights count, not those of every reader
};
std::span<const Route> routes();

// The route of `path`, and in `value` the text in place of its braces; nullptr: there is none.
// Pure.
const Route* find_route(std::string_view path, std::string& field, std::string& value);

}  // namespace railgauge::console
