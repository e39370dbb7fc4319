// Estimates how long a run will take, from the plan and from the duration of the rounds so far.
// Pure.
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

// Not thread safe. Times are seconds of a monotonic clock.
class RunForecast {
 public:
  // The largest correction of the plan, either way: one hung round is no measure of the others.
  static constexpr double kMaxRatio = 10;

  explicit RunForecast(std::span<const ForecastTask> tasks);

  void start(double now) { started_at_ = now; }
  // `rounds_begun` counts the rounds with tasks that have begun. All but the last of them are over.
  [[nodiscard]] double seconds_left(std::uint32_t rounds_begun, double now) const;

 private:
  std::vector<double> until_;  // expected seconds of the first n rounds
  double started_at_ = 0;
};

}  // namespace railgauge::run
