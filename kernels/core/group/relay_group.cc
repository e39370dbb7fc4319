// The channel's reading thread, its waits, and the steps of a group over it.
#include "kernels/core/group/relay_group.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/group/framing.h"
#include "kernels/core/group/step_answers.h"

namespace railgauge {
namespace {
// Bytes of one read: a pipe's default capacity.
constexpr std::size_t kRelayReadBytes = 64U << 10U;
// Keeps the clock's integers from overflowing.
constexpr double kMaxWaitSeconds = 7 * 86400.0;
}  // namespace

// The event descriptor wakes the thread for the destructor.
RelayChannel::RelayChannel(int request_fd, int record_fd, OnEnd on_end)
    : request_fd_(request_fd),
      record_fd_(record_fd),
      on_end_(std::move(on_end)),
      wake_fd_(::eventfd(0, EFD_CLOEXEC)) {
  RG_CHECK(wake_fd_ >= 0);
  reader_ = std::thread([this] { read_loop(); });
}

RelayChannel::~RelayChannel() {
  RG_CHECK(::eventfd_write(wake_fd_, 1) == 0);
  reader_.join();
  ::close(wake_fd_);
}

// The lock keeps messages of several threads apart.
Status RelayChannel::send(const FromRunner& message) {
  const std::string bytes = frame(message);
  const std::lock_guard lock(send_mutex_);
  return write_all(record_fd_, bytes, kSendTimeoutSeconds);
}

// Ends on the destructor's wake, the agent's end, a cancel or garbage.
void RelayChannel::read_loop() {
  FrameReader frames;
  std::array<char, kRelayReadBytes> bytes;
  for (;;) {
    std::array<pollfd, 2> wait{pollfd{request_fd_, POLLIN, 0}, pollfd{wake_fd_, POLLIN, 0}};
    if (::poll(wait.data(), wait.size(), -1) < 0) {
      if (errno == EINTR) continue;
      return end({Code::kInternal, fmt::format("request pipe: poll: {}", std::strerror(errno))});
    }
    if (wait[1].revents != 0) return;
    const ssize_t got = ::read(request_fd_, bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) return end({Code::kUnavailable, "agent closed the request pipe"});
    frames.feed({bytes.data(), static_cast<std::size_t>(got)});
    for (;;) {
      auto next = frames.next();
      if (!next) return end(next.error());
      if (!*next) break;
      if (Status taken = take(**next); !taken) return end(taken.error());
    }
  }
}

// Handles one message of the agent. An error ends the channel.
Status RelayChannel::take(const std::string& frame) {
  ToRunner message;
  if (!message.ParseFromString(frame))
    return fail(Code::kDataLoss, "request pipe: the message is not a ToRunner");
  const std::lock_guard lock(mutex_);
  switch (message.body_case()) {
    case ToRunner::kRequest:
      if (request_) return fail(Code::kDataLoss, "request pipe: a second request");
      request_ = std::move(*message.mutable_request());
      break;
    case ToRunner::kGo:
      go_ = true;
      break;
    case ToRunner::kStep:
      if (step_) return fail(Code::kDataLoss, "request pipe: a step before the last was taken");
      step_ = std::move(*message.mutable_step());
      break;
    case ToRunner::kCancel:
      return fail(Code::kCancelled,
                  message.cancel().reason().empty() ? "cancelled" : message.cancel().reason());
    case ToRunner::BODY_NOT_SET:
      return fail(Code::kDataLoss, "request pipe: an empty message");
  }
  changed_.notify_all();
  return {};
}

// Wakes every wait with the error. The callback runs without the lock, since it may call the
// channel.
void RelayChannel::end(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = error;
    changed_.notify_all();
  }
  if (on_end_) on_end_(error);
}

// Waits until `ready` is true or the channel has ended. `what` names the missing message in the
// error.
template <class Ready>
Status RelayChannel::wait(double timeout_seconds, const char* what, Ready ready) {
  std::unique_lock lock(mutex_);
  const auto limit =
      std::chrono::duration<double>(std::clamp(timeout_seconds, 0.0, kMaxWaitSeconds));
  changed_.wait_for(lock, limit, [&] { return ended_ || ready(); });
  if (ended_) return tl::unexpected(*ended_);
  if (ready()) return {};
  return fail(Code::kDeadlineExceeded, "agent sent no {} within {:.3g} s", what, timeout_seconds);
}

Result<TaskRequest> RelayChannel::wait_request(double timeout_seconds) {
  RG_TRY_OK(wait(timeout_seconds, "request", [&] { return request_.has_value(); }));
  const std::lock_guard lock(mutex_);
  return *request_;
}

Status RelayChannel::wait_go(double timeout_seconds) {
  return wait(timeout_seconds, "go", [&] { return go_; });
}

// Takes the step, so that the next one may come.
Result<GroupStep> RelayChannel::wait_step(double timeout_seconds) {
  RG_TRY_OK(wait(timeout_seconds, "rendezvous step", [&] { return step_.has_value(); }));
  const std::lock_guard lock(mutex_);
  GroupStep taken = std::move(*step_);
  step_.reset();
  return taken;
}

Result<std::vector<std::string>> RelayGroup::exchange(std::string mine, double timeout_seconds) {
  return pass({}, std::move(mine), timeout_seconds);
}

Result<std::vector<std::string>> RelayGroup::gather(std::string mine, Loudness loudness,
                                                    double timeout_seconds) {
  GroupStep said;
  said.set_brief(rank_ != 0);
  said.set_loudness(static_cast<std::uint32_t>(loudness));
  return pass(std::move(said), std::move(mine), timeout_seconds);
}

// Sends one step and waits for its answer. Steps are counted, so that an answer to another step is
// an error.
Result<std::vector<std::string>> RelayGroup::pass(GroupStep said, std::string mine,
                                                  double timeout_seconds) {
  RG_CHECK(mine.size() <= kMaxPayload);
  said.set_step(next_step_);
  said.add_payloads(std::move(mine));
  said.set_at(place_);
  FromRunner message;
  *message.mutable_step() = std::move(said);
  RG_TRY_OK(channel_.send(message));
  GroupStep answer = RG_TRY(channel_.wait_step(timeout_seconds));
  auto all = RG_TRY(payloads_of(std::move(answer), next_step_, size_));
  ++next_step_;
  return all;
}

}  // namespace railgauge
