#include "controller/findings/changes/series_runs.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "controller/findings/changes/run_places.h"
#include "controller/store/rows/point_flags.h"
#include "controller/upgrades/series_measure.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/text.h"

namespace railgauge {

// Many series share a run, so that times are kept.
Result<const RunTimes::Times*> RunTimes::times_of(const std::string& run_id) {
  if (const auto known = times_.find(run_id); known != times_.end()) return &known->second;
  if (!pauses_) pauses_ = RG_TRY(PauseTimes::of(store_, 0));
  const store::RunRow run = RG_TRY(store_.run_summary(run_id)).run;
  const auto [from, until] = span_of(run);
  Times& times = times_[run_id];
  times = {.made_at = run.created_at, .paused = pauses_->nodes_during(from, until)};
  return &times;
}

Result<double> RunTimes::of(const std::string& run_id) { return RG_TRY(times_of(run_id))->made_at; }

// Asked for each point of hundreds of thousands of series; nearly no run had a pause.
Result<bool> RunTimes::had_pause(const std::string& run_id, const store::SeriesRow& series) {
  const std::set<std::string>& paused = RG_TRY(times_of(run_id))->paused;
  if (paused.empty()) return false;
  return std::ranges::any_of(nodes_of(series),
                             [&](const std::string& node) { return paused.contains(node); });
}

// Points that did not pass, have no positive headline or are rates of a short time carry no level.
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
    if (point.outcome != kPassed || !(point.headline > 0)) continue;
    if ((point.flags & store::kFlagBrief) != 0) continue;
    if (RG_TRY(made.had_pause(point.run_id, out.series))) continue;
    Run& run = runs[point.run_id];
    if (run.values.empty()) order.push_back(point.run_id);
    run.values.push_back(point.headline);
    run.measured_at = point.measured_at;
  }
  for (auto& [id, run] : runs) run.made_at = RG_TRY(made.of(id));
  std::ranges::stable_sort(order, {}, [&](const std::string& id) { return runs[id].made_at; });
  std::vector<double> times;
  for (const std::string& id : order) {
    out.runs.push_back(id);
    out.values.push_back(median(runs[id].values));
    times.push_back(runs[id].measured_at);
  }
  return times;
}

// The series are those that the run measured itself; each is then read with its whole recent past.
Result<std::vector<SeriesRuns>> series_of_run(const store::Store& store, const std::string& run_id,
                                              const LeafSource& leaves,
                                              const std::atomic<bool>* ends) {
  RunPlaces places = RG_TRY(RunPlaces::of(store, leaves));
  RunTimes made(store);
  std::set<std::int64_t> ids;
  for (const store::SidePointRow& point : RG_TRY(store.read(store::read_side_points, {run_id}, {})))
    ids.insert(point.series);
  std::vector<SeriesRuns> all;
  for (const std::int64_t id : ids) {
    if (ends != nullptr && *ends)
      return fail(Code::kCancelled,
                  fmt::format("run {}: read its series: the controller stops", in_quotes(run_id)));
    store::HistoryRow history = RG_TRY(store.history(id, std::nullopt, kPointsOfSeries));
    if (RG_TRY(made.had_pause(run_id, history.series))) continue;
    SeriesRuns& one = all.emplace_back();
    one.series = std::move(history.series);
    one.peers = places.class_of(one.series);
    const std::vector<double> times = RG_TRY(take_runs(history.points, made, one));
    one.present_stack = RG_TRY(places.present_stack(one.series, times));
  }
  return all;
}

SeriesById by_id_of(const std::vector<SeriesRuns>& all) {
  SeriesById by_id;
  for (const SeriesRuns& one : all) by_id[one.series.series_id] = &one;
  return by_id;
}

}  // namespace railgauge
