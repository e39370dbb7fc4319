// The stream of one modelled agent: one dial, one AgentLink.Attach call on a channel of its own, by
// gRPC's callbacks. Its events go to the fleet's inbox; gRPC's threads do nothing else.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller/api/agent.grpc.pb.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

class FleetStream;

// An event of a stream.
struct StreamEvent {
  enum class Kind { kMessage, kEnded };
  Kind kind = Kind::kMessage;
  std::uint32_t agent = 0;
  // The stream that the event is of; a later one may have taken its place.
  std::uint64_t stream = 0;
  api::ControllerMessage message{};
  // For kEnded, one line.
  std::string reason{};
};

// Where gRPC's threads leave events for the fleet's one thread. Thread safe. Bounded: a stream
// reads its next message when the fleet has taken the one before.
class Inbox {
 public:
  // kResourceExhausted: no descriptor is left.
  static Result<std::unique_ptr<Inbox>> open();
  void put(StreamEvent event);
  std::vector<StreamEvent> take();
  // Readable while take() has something.
  [[nodiscard]] int fd() const { return wake_.get(); }

 private:
  explicit Inbox(Fd wake) : wake_(std::move(wake)) {}
  Fd wake_;
  std::mutex mutex_;
  std::vector<StreamEvent> events_;
};

// Settings of every stream.
struct StreamOptions {
  // HOST:PORT or unix:/path; several by commas.
  std::string controller{};
  int keepalive_ms = 20'000;
};

// Thread safe. The destructor waits for the call's end: hang up first.
class FleetStream final
    : private grpc::ClientBidiReactor<api::AgentMessage, api::ControllerMessage> {
 public:
  // Dials `controller` and sends `hello`.
  FleetStream(const StreamOptions& options, const std::string& controller,
              const std::shared_ptr<grpc::ChannelCredentials>& credentials, std::uint32_t agent,
              std::uint64_t number, api::Hello hello, Inbox& inbox);
  ~FleetStream() override;
  FleetStream(const FleetStream&) = delete;
  FleetStream& operator=(const FleetStream&) = delete;

  [[nodiscard]] std::uint64_t number() const { return number_; }
  // Queues a message. False: too many wait, and the message is dropped.
  bool send(api::AgentMessage message);
  // Reads the next message; the fleet has handled the last one.
  void read_next();
  // Ends the call; kEnded follows.
  void hang_up();

 private:
  static constexpr std::size_t kMaxWaiting = 4'096;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  // Starts no further operation, so that the call may end.
  void close();

  const std::uint32_t agent_;
  const std::uint64_t number_;
  Inbox& inbox_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<api::AgentLink::Stub> stub_;
  grpc::ClientContext context_;
  api::ControllerMessage incoming_;

  std::mutex mutex_;  // guards all below
  std::deque<api::AgentMessage> outgoing_;
  bool is_closed_ = false;
};

}  // namespace railgauge::fleet
