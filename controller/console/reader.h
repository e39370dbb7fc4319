// The paths of the console's HTTP interface and how each is answered: by the controller's own
// services, through a channel inside the process whose peer may only read.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <google/protobuf/message.h>

#include "controller/api/console.pb.h"
#include "controller/console/answer_cache.h"
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
  static constexpr double kGridSeconds = 30;     // where something was written since it was read
  static constexpr double kOverviewSeconds = 2;  // likewise, of a matrix that is read in blocks
  static constexpr std::size_t kMostGrids = 8;
  // Suspects and columns of series cost a core tenths of a second, and several people look at them.
  static constexpr double kSuspectSeconds = 10;  // likewise; columns are read again at once
  static constexpr std::size_t kMostAnswers = 32;
  static constexpr std::size_t kMostAnswerBytes = 64U << 20U;  // of each kind
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
  // `writes` counts what the store wrote, so that answers are made again; it may be empty.
  explicit Reader(Connect connect, std::function<std::uint64_t()> writes = {});
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Makes one call that ends, with its turn, within `seconds`. Errors: the service's;
  // kResourceExhausted: kMostCalls are under way; kDeadlineExceeded.
  using Send = std::function<grpc::Status(const Stubs& stubs, grpc::ClientContext& context)>;
  Status call(const Send& send, double seconds = kTurnSeconds + kCallSeconds);
  // Ends the calls under way, and refuses those that come later.
  void stop();
  // The arranged matrix, from memory where it was asked for a moment ago. Errors: call()'s and
  // PairGrid's; kResourceExhausted: other matrices are being read.
  Result<std::shared_ptr<const PairGrid>> grid(const api::MatrixRequest& request);
  // The suspects of a run and the columns of a series, from memory where nothing was written since.
  // Errors: call()'s and AnswerCache::get()'s.
  Result<std::shared_ptr<const api::SuspectList>> suspects(const api::PairsRequest& request);
  Result<std::shared_ptr<const api::SeriesColumns>> columns(
      const api::SeriesColumnsRequest& request);
  // The figures of a block. Who has hung up loses the turn. Errors: call()'s; kCancelled: `is_gone`
  // while it waited; kResourceExhausted: kMostBlocks were being read for kBlockTurnSeconds, or, at
  // once, kMostBlockWaits others wait.
  using IsGone = std::function<bool()>;
  Status block(const api::MatrixBlockRequest& request, const IsGone& is_gone,
               api::MatrixBlock& answer);

 private:
  Result<NodePlaces> read_places();
  Result<std::shared_ptr<const PairGrid>> read_grid(const api::MatrixRequest& request);

  const Connect connect_;
  std::mutex mutex_;  // guards the next five
  std::condition_variable changed_;
  std::set<grpc::ClientContext*> calls_;  // under way
  std::size_t blocks_ = 0;                // that are being read
  std::size_t block_waits_ = 0;           // callers that wait for the turn of a block
  bool is_stopping_ = false;
  AnswerCache<PairGrid> grids_;
  AnswerCache<api::SuspectList> suspects_;
  AnswerCache<api::SeriesColumns> columns_;
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
