// Estimates a run's remaining time from the plan and from the duration of the rounds so far. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railgauge::run {

// One task of the plan; a waived task is expected to take 0 s.
struct ForecastTask {
  std::uint32_t round = 0;
  double expected_seconds = 0;
};

// The forecast of one run. Not thread safe. Times are seconds of a monotonic clock.
class RunForecast {
 public:
  // Bound of the plan's correction, up and down: one hung round does not predict the others.
  static constexpr double kMaxRatio = 10;

  explicit RunForecast(std::span<const ForecastTask> tasks);

  void start(double now) { started_at_ = now; }
  // Returns the expected remaining seconds. `rounds_begun` counts the rounds that have begun; all
  // but the last of them are over.
  [[nodiscard]] double seconds_left(std::uint32_t rounds_begun, double now) const;

 private:
  std::vector<double> until_;  // expected seconds of the first n rounds
  double started_at_ = 0;
};

}  // namespace railgauge::run
