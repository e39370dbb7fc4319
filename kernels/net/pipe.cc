#include "kernels/net/pipe.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <cerrno>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"
#include "kernels/net/sockets.h"

namespace railgauge::net {
namespace {

// Empty receives between two looks at the clock.
constexpr unsigned kSpinsBetweenLooks = 1024;

Error lock_error(const std::string& who) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return {
      Code::kFailedPrecondition,
      fmt::format("{}: send without a copy: no more memory may be locked; all sockets of a user "
                  "share {} bytes (RLIMIT_MEMLOCK); set LimitMEMLOCK=infinity in its service or "
                  "run `ulimit -l unlimited` before it",
                  who, limit.rlim_cur)};
}

}  // namespace

// SO_RCVTIMEO and SO_SNDTIMEO end a blocking call, so that each wait looks at its limits.
Result<Pipe> Pipe::adopt(Fd socket, std::string who, const Limits& limits, bool spins) {
  const int flags = fcntl(socket.get(), F_GETFL);
  const timeval look{0, static_cast<suseconds_t>(kLookNs / 1e3)};
  const bool well =
      flags >= 0 && fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) == 0 &&
      sockets().setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &look, sizeof look) == 0 &&
      sockets().setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &look, sizeof look) == 0;
  if (!well)
    return fail(Code::kInternal,
                fmt::format("{}: set the socket's time limits: {}", who, errno_words(errno)));
  Pipe pipe;
  pipe.socket_ = std::move(socket);
  pipe.who_ = std::move(who);
  pipe.limits_ = &limits;
  pipe.spins_ = spins;
  return pipe;
}

// MSG_NOSIGNAL: a closed connection is an error here, not a SIGPIPE.
bool Pipe::send_copied(std::span<const std::byte> bytes) {
  return send_by_pieces(bytes, [this](std::span<const std::byte> rest) {
    return sockets().send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
  });
}

bool Pipe::send_all(std::span<const std::byte> bytes) {
  if (!outlet_) return send_copied(bytes);
  return send_by_pieces(bytes,
                        [this](std::span<const std::byte> rest) { return outlet_->send(rest); });
}

Status Pipe::send_by(Sending way) {
  outlet_.reset();
  if (way != Sending::kCopy) outlet_ = RG_TRY(Outlet::open(way, socket_.get(), who_));
  return {};
}

bool Pipe::settle() {
  double since_ns = 0;
  while (outlet_) {
    const ssize_t left = outlet_->settle();
    if (left == 0) break;
    if (left < 0) return fail_with(Failure::kSend, errno);
    if (!may_continue(since_ns)) return false;
  }
  return true;
}

template <class Send>
bool Pipe::send_by_pieces(std::span<const std::byte> bytes, Send send) {
  double since_ns = 0;
  while (!bytes.empty()) {
    const ssize_t sent = send(bytes);
    if (sent > 0) [[likely]] {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
      since_ns = 0;
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    if (error == EPIPE || error == ECONNRESET) return fail_with(Failure::kClosed, error);
    if (error != EAGAIN) return fail_with(Failure::kSend, error);
    if (!may_continue(since_ns)) return false;
  }
  return true;
}

// A result of 0 is the peer's orderly end, which inside a message is a failure.
bool Pipe::receive_all(std::span<std::byte> bytes) {
  double since_ns = 0;
  unsigned idle = 0;
  while (!bytes.empty()) {
    const ssize_t got =
        sockets().recv(socket_.get(), bytes.data(), bytes.size(), spins_ ? MSG_DONTWAIT : 0);
    if (got > 0) [[likely]] {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
      since_ns = 0;
      continue;
    }
    const int error = errno;
    if (got == 0) return fail_with(Failure::kClosed);
    if (error == EINTR) continue;
    if (error == ECONNRESET) return fail_with(Failure::kClosed, error);
    if (error != EAGAIN) return fail_with(Failure::kReceive, error);
    if (spins_ && ++idle % kSpinsBetweenLooks != 0) continue;
    if (!may_continue(since_ns)) return false;
  }
  return true;
}

// Returns after each piece, so that the caller can count and place it.
std::ptrdiff_t Pipe::receive_some(std::span<std::byte> bytes, double& since_ns) {
  for (;;) {
    const ssize_t got = sockets().recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) [[likely]] {
      since_ns = 0;
      return got;
    }
    const int error = errno;
    if (got < 0 && error == EINTR) continue;
    if (got < 0 && error == EAGAIN) return may_continue(since_ns) ? 0 : -1;
    const bool is_closed = got == 0 || error == ECONNRESET;
    fail_with(is_closed ? Failure::kClosed : Failure::kReceive, got == 0 ? 0 : error);
    return -1;
  }
}

// A duplicated descriptor: each thread owns one, and failures are kept apart.
Result<Pipe> Pipe::twin() const {
  Pipe other;
  other.socket_ = Fd(fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
  if (!other.socket_)
    return fail(Code::kResourceExhausted,
                fmt::format("{}: duplicate the socket: {}", who_, errno_words(errno)));
  other.who_ = who_;
  other.limits_ = limits_;
  other.spins_ = spins_;
  return other;
}

// In the order stop, deadline, stall: the first is the most exact reason.
bool Pipe::may_continue(double& since_ns) {
  if (limits_->stop) return fail_with(Failure::kStopped);
  const double now_ns = monotonic_now_ns();
  if (now_ns >= limits_->deadline_monotonic_ns) return fail_with(Failure::kDeadline);
  if (since_ns == 0) since_ns = now_ns;
  if (now_ns - since_ns >= limits_->stall_ns) return fail_with(Failure::kStalled);
  return true;
}

// Made on demand: nothing in a transfer allocates.
Error Pipe::failure() const {
  switch (failure_) {
    case Failure::kClosed:
      return {Code::kUnavailable, fmt::format("{}: the other side closed the connection{}", who_,
                                              error_ == 0 ? "" : ": " + errno_words(error_))};
    case Failure::kSend:
      return {Code::kUnavailable, fmt::format("{}: send: {}", who_, errno_words(error_))};
    case Failure::kReceive:
      return {Code::kUnavailable, fmt::format("{}: receive: {}", who_, errno_words(error_))};
    case Failure::kStalled:
      if (outlet_ && outlet_->lacks_memory()) return lock_error(who_);
      return {Code::kUnavailable,
              fmt::format("{}: nothing moved for {:.3g} s", who_, limits_->stall_ns / 1e9)};
    case Failure::kDeadline:
      return {Code::kDeadlineExceeded, fmt::format("{}: the task's deadline has come", who_)};
    case Failure::kStopped:
      return {Code::kAborted, fmt::format("{}: stopped by its own side", who_)};
    case Failure::kNone:
      break;
  }
  return {Code::kInternal, fmt::format("{}: nothing failed", who_)};
}

// The descriptor stays open, so that other threads may still use its number.
void Pipe::shut_down() const {
  if (socket_) static_cast<void>(::shutdown(socket_.get(), SHUT_RDWR));
}

}  // namespace railgauge::net
