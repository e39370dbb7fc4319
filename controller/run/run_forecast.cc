#include "controller/run/run_forecast.h"

#include <algorithm>
#include <map>

namespace railgauge::run {

RunForecast::RunForecast(std::span<const ForecastTask> tasks) {
  std::map<std::uint32_t, double> rounds;  // each as long as its longest task
  for (const ForecastTask& task : tasks)
    rounds[task.round] = std::max(rounds[task.round], task.expected_seconds);
  until_.push_back(0);
  for (const auto& [round, seconds] : rounds) until_.push_back(until_.back() + seconds);
}

double RunForecast::seconds_left(std::uint32_t rounds_begun, double now) const {
  const std::size_t last = until_.size() - 1;
  const std::size_t begun = std::min<std::size_t>(rounds_begun, last);
  const double through = begun == 0 ? 0 : until_[begun - 1];
  const double elapsed = std::max(now - started_at_, 0.0);
  // Before the first round is over, the plan is the only source.
  const double ratio = through > 0 ? std::clamp(elapsed / through, 1 / kMaxRatio, kMaxRatio) : 1;
  // The time in the open round counts only if no round is over yet; later the ratio contains it.
  const double left = (until_[last] - through) * ratio - (through > 0 ? 0 : elapsed);
  return std::max(left, 0.0);
}

}  // namespace railgauge::run
