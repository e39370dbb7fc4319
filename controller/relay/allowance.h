// The work that the connections of one peer may make: a bucket that fills at a constant rate.
// Thread safe; times are seconds of one clock that never falls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace railgauge::relay {

class Allowance {
 public:
  // Units of FrameGuard a second, and at once: some 900 new calls a second, after 1,800 at once. A
  // tenth of one core is what a peer can take of gRPC's time.
  static constexpr double kRate = 100'000;
  static constexpr double kMost = 200'000;

  explicit Allowance(double now) : at_(now) {}

  // Takes work that was made already. Returns the seconds until the debt that it leaves is paid; 0:
  // there is none.
  double take(std::uint32_t work, double now) {
    const std::lock_guard lock(mutex_);
    fill(now);
    left_ -= work;
    return wait();
  }
  // Seconds until the present debt is paid.
  double wait(double now) {
    const std::lock_guard lock(mutex_);
    fill(now);
    return wait();
  }

 private:
  void fill(double now) {
    left_ = std::min(kMost, left_ + std::max(0.0, now - at_) * kRate);
    at_ = std::max(at_, now);
  }
  [[nodiscard]] double wait() const { return left_ >= 0 ? 0 : -left_ / kRate; }

  std::mutex mutex_;
  double left_ = kMost;
  double at_;
};

}  // namespace railgauge::relay
