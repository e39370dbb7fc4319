// The share of the controller that the connections of one peer may take: work by time, and messages
// without an end. Thread safe; times are seconds of one clock that never falls.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace railgauge::relay {

class Allowance {
 public:
  // Units of FrameGuard a second, and at once: some 900 new calls a second, after 1,800 at once. An
  // agent has one call.
  static constexpr double kRate = 100'000;
  static constexpr double kMost = 200'000;
  // The shortest wait, so that many connections in debt do not wake for little.
  static constexpr double kLeastWaitSeconds = 0.02;
  // Bytes of messages whose end has not come, on all connections of the peer. A message has 8 MiB.
  static constexpr std::size_t kMostUnfinishedBytes = std::size_t{64} << 20U;

  explicit Allowance(double now) : at_(now) {}

  // Takes work that was made already, which may leave a debt.
  void take(std::uint32_t work, double now) {
    const std::lock_guard lock(mutex_);
    fill(now);
    left_ -= work;
  }
  // Seconds until the present debt is paid; 0: there is none, so more may be read.
  double wait(double now) {
    const std::lock_guard lock(mutex_);
    fill(now);
    return left_ >= 0 ? 0 : std::max(kLeastWaitSeconds, -left_ / kRate);
  }
  // Nothing is owed, so that a new one would be the same.
  bool is_full(double now) {
    const std::lock_guard lock(mutex_);
    fill(now);
    return left_ >= kMost;
  }
  // A connection's unfinished bytes were `before` and are `after`. False: the peer has too many.
  bool change_unfinished(std::size_t before, std::size_t after) {
    const std::size_t all = unfinished_ += after - before;  // modulo 2^64
    return after <= before || all <= kMostUnfinishedBytes;
  }

 private:
  void fill(double now) {
    left_ = std::min(kMost, left_ + std::max(0.0, now - at_) * kRate);
    at_ = std::max(at_, now);
  }

  std::atomic<std::size_t> unfinished_ = 0;
  std::mutex mutex_;
  double left_ = kMost;
  double at_;
};

}  // namespace railgauge::relay
