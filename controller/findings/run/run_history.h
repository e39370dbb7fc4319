// A series' points as one figure a run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "controller/findings/run/run_changes.h"
#include "controller/store/store.h"

namespace railgauge {

// Newest ones of a series that are read: 90 runs of three launches.
inline constexpr std::uint32_t kPointsOfSeries = 270;

// The mean of the middle two for an even count, so that a pair that was measured twice is not
// favoured. 0 for no values.
double median_of(std::vector<double> values);

// The practical bound of the series' median.
double delta_of(const store::SeriesRow& series);

// When runs were made, by the controller's clock; each is asked once.
class RunTimes {
 public:
  explicit RunTimes(const store::Store& store) : store_(store) {}
  // Unix seconds. kNotFound: no such run.
  Result<double> of(const std::string& run_id);

 private:
  const store::Store& store_;
  std::map<std::string, double> times_{};
};

// One figure a run, in the order in which the runs were made: a node's clock may be years ahead.
// Returns when each run's last one was measured, by that clock.
Result<std::vector<double>> take_runs(const std::vector<store::HistoryPointRow>& points,
                                      RunTimes& made, SeriesRuns& out);

}  // namespace railgauge
