// How long a run will still take, from what the plan expected and how long the rounds so far took.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace railgauge::run {

struct ForecastTask {
  std::uint32_t round = 0;
  double expected_seconds = 0;
};

class RunForecast {
 public:
  // How far off the plan may be, either way: one round that hung says little about the others.
  static constexpr double kMaxRatio = 10;

  explicit RunForecast(std::span<const ForecastTask> tasks);

  void start(double now) { started_at_ = now; }
  // `rounds_begun` of those rounds that have tasks have begun; all but the last of them are
  // through.
  [[nodiscard]] double seconds_left(std::uint32_t rounds_begun, double now) const;

 private:
  std::vector<double> until_;  // expected seconds of the first n rounds
  double started_at_ = 0;
};

}  // namespace railgauge::run
