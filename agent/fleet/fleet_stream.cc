#include "agent/fleet/fleet_stream.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::fleet {
namespace {

constexpr int kReconnectMs = 1'000;  // gRPC's own retries within one dial
constexpr int kKeepaliveOfSeveralMs = 6'000;
constexpr int kMaxMessageBytes = 16 << 20;

// Each dial has a channel, so a connection, of its own, as agents on different hosts have.
std::shared_ptr<grpc::Channel> channel_to(
    const StreamOptions& options, const std::string& controller,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
  // As the agent's own link: a controller that is frozen holds up nobody who has another one.
  const bool has_others = options.controller.find(',') != std::string::npos;
  const int keepalive_ms =
      has_others ? std::min(options.keepalive_ms, kKeepaliveOfSeveralMs) : options.keepalive_ms;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms);
  if (has_others) arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_ms);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(controller, credentials, arguments);
}

std::string words_of(const grpc::Status& status) {
  if (status.ok()) return "the controller closed the stream";
  return status.error_message().empty()
             ? fmt::format("gRPC status {}", static_cast<int>(status.error_code()))
             : status.error_message();
}

}  // namespace

Result<std::unique_ptr<Inbox>> Inbox::open() {
  Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return fail(Code::kResourceExhausted, "eventfd: {}", errno_words(errno));
  return std::unique_ptr<Inbox>(new Inbox(std::move(wake)));
}

void Inbox::put(StreamEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  if (events_.size() > 1) return;
  const std::uint64_t one = 1;
  static_cast<void>(!::write(wake_.get(), &one, sizeof(one)));
}

std::vector<StreamEvent> Inbox::take() {
  const std::lock_guard lock(mutex_);
  std::uint64_t rung = 0;
  static_cast<void>(!::read(wake_.get(), &rung, sizeof(rung)));
  return std::exchange(events_, {});
}

// The hold keeps the call open for operations that the fleet's thread starts.
FleetStream::FleetStream(const StreamOptions& options, const std::string& controller,
                         const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                         std::uint32_t agent, std::uint64_t number, api::Hello hello, Inbox& inbox)
    : agent_(agent),
      number_(number),
      inbox_(inbox),
      channel_(channel_to(options, controller, credentials)),
      stub_(api::AgentLink::NewStub(channel_)) {
  *outgoing_.emplace_back().mutable_hello() = std::move(hello);
  stub_->async()->Attach(&context_, this);
  AddHold();
  StartWrite(&outgoing_.front());
  StartRead(&incoming_);
  StartCall();
}

FleetStream::~FleetStream() = default;

bool FleetStream::send(api::AgentMessage message) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return true;
  if (outgoing_.size() >= kMaxWaiting) return false;
  outgoing_.push_back(std::move(message));
  if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  return true;
}

void FleetStream::read_next() {
  const std::lock_guard lock(mutex_);
  if (!is_closed_) StartRead(&incoming_);
}

void FleetStream::hang_up() {
  context_.TryCancel();
  close();
}

void FleetStream::close() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_closed_, true)) return;
  }
  RemoveHold();
}

void FleetStream::OnReadDone(bool ok) {
  if (!ok) return close();
  inbox_.put({.kind = StreamEvent::Kind::kMessage,
              .agent = agent_,
              .stream = number_,
              .message = std::move(incoming_)});
}

// After a failed write the read fails too, and its end has the reason.
void FleetStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  outgoing_.pop_front();
  if (ok && !is_closed_ && !outgoing_.empty()) StartWrite(&outgoing_.front());
}

void FleetStream::OnDone(const grpc::Status& status) {
  inbox_.put({.kind = StreamEvent::Kind::kEnded,
              .agent = agent_,
              .stream = number_,
              .reason = words_of(status)});
}

}  // namespace railgauge::fleet
