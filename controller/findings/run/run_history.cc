#include "controller/findings/run/run_history.h"

#include <algorithm>
#include <utility>

#include "controller/stats/metric_traits.h"
#include "kernels/core/base/outcome.h"

namespace railgauge {

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double delta_of(const store::SeriesRow& series) {
  return analysis::traits_of(series.unit, series.larger_is_better, "median").delta;
}

Result<double> RunTimes::of(const std::string& run_id) {
  if (const auto known = times_.find(run_id); known != times_.end()) return known->second;
  return times_[run_id] = RG_TRY(store_.run_summary(run_id)).run.created_at;
}

Result<std::vector<double>> take_runs(const std::vector<store::HistoryPointRow>& points,
                                      RunTimes& made, SeriesRuns& out) {
  struct Run {
    std::vector<double> values{};
    double made_at = 0;
    double measured_at = 0;
  };
  std::map<std::string, Run> runs;
  std::vector<std::string> order;
  for (const store::HistoryPointRow& point : points) {
    if (point.outcome != kPassed || !(point.median > 0)) continue;
    Run& run = runs[point.run_id];
    if (run.values.empty()) order.push_back(point.run_id);
    run.values.push_back(point.median);
    run.measured_at = point.measured_at;
  }
  for (auto& [id, run] : runs) run.made_at = RG_TRY(made.of(id));
  std::ranges::stable_sort(order, {}, [&](const std::string& id) { return runs[id].made_at; });
  std::vector<double> times;
  for (const std::string& id : order) {
    out.runs.push_back(id);
    out.values.push_back(median_of(std::move(runs[id].values)));
    times.push_back(runs[id].measured_at);
  }
  return times;
}

}  // namespace railgauge
