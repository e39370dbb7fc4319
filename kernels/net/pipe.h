// One connected stream for one thread: sends and receives whole messages with a limit on every
// wait. Allocates nothing; a sleeping wait sleeps inside the kernel for kLookNs at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/net/outlet.h"

namespace railgauge::net {

// Any thread may set `stop`; the rest is set before the threads start.
struct Limits {
  double deadline_monotonic_ns = 0;
  double stall_ns = 0;            // longest time without progress
  std::atomic<bool> stop{false};  // this side ends the transfer
};

inline constexpr double kLookNs = 20e6;  // the socket's own time limit between two looks

// Each thread needs its own pipe; see twin().
class Pipe {
 public:
  Pipe() = default;
  // Takes the socket and makes it block for at most kLookNs at a time. `who` opens every message:
  // "net.tcp: stream 2 to rank 1 (192.0.2.2:40001)". With `spins` a receive polls without sleeping.
  static Result<Pipe> adopt(Fd socket, std::string who, const Limits& limits, bool spins);

  // Return false on failure; failure() has the reason. kAborted: `stop` was set.
  [[nodiscard]] bool send_all(std::span<const std::byte> bytes);
  // Sends as send_all() without an outlet: the bytes may change at once.
  [[nodiscard]] bool send_copied(std::span<const std::byte> bytes);
  // Makes send_all() use another way from now on. Errors as Outlet::open.
  Status send_by(Sending way);
  // Waits until the kernel reads no more memory of earlier sends.
  [[nodiscard]] bool settle();
  // Returns what a zero-copy way did so far.
  [[nodiscard]] ZeroCopyCount zero_copies() const {
    return outlet_ ? outlet_->count() : ZeroCopyCount{};
  }
  [[nodiscard]] bool receive_all(std::span<std::byte> bytes);
  // Returns the received bytes, 0 when nothing came for kLookNs, negative on failure. The caller
  // keeps `since_ns` and sets it to 0 at a wait's beginning.
  [[nodiscard]] std::ptrdiff_t receive_some(std::span<std::byte> bytes, double& since_ns);
  // Returns the same stream for a second thread: one sends, the other receives.
  [[nodiscard]] Result<Pipe> twin() const;

  // Describes the failure in one line: who, act and cause. Call after a failed call.
  [[nodiscard]] Error failure() const;
  [[nodiscard]] bool failed() const { return failure_ != Failure::kNone; }
  // Reports whether it failed because the other side closed or reset the connection.
  [[nodiscard]] bool closed() const { return failure_ == Failure::kClosed; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  // Ends both directions; the other side notices at once.
  void shut_down() const;

 private:
  enum class Failure { kNone, kClosed, kSend, kReceive, kStalled, kDeadline, kStopped };

  bool fail_with(Failure failure, int error = 0) {
    failure_ = failure;
    error_ = error;
    return false;
  }
  // Checks the limits after a call that moved nothing.
  [[nodiscard]] bool may_continue(double& since_ns);

  template <class Send>
  bool send_by_pieces(std::span<const std::byte> bytes, Send send);

  Fd socket_;
  std::unique_ptr<Outlet> outlet_;  // ends before the socket; nullptr: by copying
  // Beginning of every message.
  std::string who_;
  const Limits* limits_ = nullptr;
  bool spins_ = false;
  Failure failure_ = Failure::kNone;
  int error_ = 0;
};

}  // namespace railgauge::net
