// One connected stream, as one thread uses it: whole messages out and in, with an end to every
// wait. Nothing here allocates; a wait that sleeps does so inside the kernel for kLookNs at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::net {

// `stop` may be set by any thread; the rest is set before the threads start.
struct Limits {
  double deadline_monotonic_ns = 0;
  double stall_ns = 0;            // nothing moved for this long
  std::atomic<bool> stop{false};  // the own side wants no more
};

inline constexpr double kLookNs = 20e6;  // the socket's own time limit between two looks

// Each thread has a pipe of its own; see twin().
class Pipe {
 public:
  Pipe() = default;
  // The socket is set to block for kLookNs at a time. `who` opens every message: "net.tcp: stream 2
  // to rank 1 (192.0.2.2:40001)". With `spins` a receive looks without rest and never sleeps.
  static Result<Pipe> adopt(Fd socket, std::string who, const Limits& limits, bool spins);

  // False ends it; failure() says why. kAborted: the own side said stop.
  [[nodiscard]] bool send_all(std::span<const std::byte> bytes);
  [[nodiscard]] bool receive_all(std::span<std::byte> bytes);
  // Receives: bytes, 0 where nothing came for kLookNs, negative on failure. `since_ns` is the
  // caller's, 0 at a wait's beginning.
  [[nodiscard]] std::ptrdiff_t receive_some(std::span<std::byte> bytes, double& since_ns);
  // The same stream for a second thread: one sends, the other receives.
  [[nodiscard]] Result<Pipe> twin() const;

  // One line: who, act and cause. After a call that failed.
  [[nodiscard]] Error failure() const;
  [[nodiscard]] bool failed() const { return failure_ != Failure::kNone; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  // Ends both directions; the other side sees it at once.
  void shut_down() const;

 private:
  enum class Failure { kNone, kClosed, kSend, kReceive, kStalled, kDeadline, kStopped };

  bool fail_with(Failure failure, int error = 0) {
    failure_ = failure;
    error_ = error;
    return false;
  }
  // After a call that moved nothing.
  [[nodiscard]] bool may_continue(double& since_ns);

  Fd socket_;
  // Beginning of every message.
  std::string who_;
  const Limits* limits_ = nullptr;
  bool spins_ = false;
  Failure failure_ = Failure::kNone;
  int error_ = 0;
};

}  // namespace railgauge::net
