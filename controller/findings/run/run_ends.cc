#include "controller/findings/run/run_ends.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "controller/findings/run/run_history.h"
#include "controller/findings/run/run_judge.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kFindings = 1'000;
constexpr std::size_t kBackSpreadRuns = 12;  // what fewer scatter by says little
constexpr std::size_t kBackModeRuns = 8;  // of two modes, three runs of the better one are chance
constexpr double kSpreadSlack = 1.25;

// Whether the last runs scatter as they did before the spread grew.
bool is_calm(const SeriesRuns& runs, double deviation_before) {
  if (runs.values.size() < kBackSpreadRuns) return false;
  const std::span newest = std::span(runs.values).last(kBackSpreadRuns);
  double mean = 0;
  for (const double value : newest) mean += value / kBackSpreadRuns;
  double sum = 0;
  for (const double value : newest) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / (kBackSpreadRuns - 1)) <= kSpreadSlack * deviation_before;
}

// Whether the last runs are within the bound of what was there before.
bool is_back(const SeriesRuns& runs, const std::string& kind, double before) {
  if (kind == "variance") return is_calm(runs, before);
  const std::size_t asked = kind == "mode_mix" ? kBackModeRuns : kBackRuns;
  if (runs.values.size() < asked) return false;
  for (std::size_t i = runs.values.size() - asked; i < runs.values.size(); ++i) {
    const double change = runs.values[i] / before - 1;
    if ((runs.series.larger_is_better ? -change : change) > delta_of(runs.series)) return false;
  }
  return true;
}

// What stands of a finding's series.
struct Standing {
  std::size_t all = 0;        // with a level of before
  std::size_t measured = 0;   // by the run
  std::size_t back = 0;       // of these
  std::size_t elsewhere = 0;  // back, by the runs that measured them last
  bool is_bad = false;        // one that the run did not measure is as it was found
};

// By the newest runs that measured the series, which are others.
Status look_elsewhere(const store::Store& store, const store::FindingRow& finding,
                      const store::FindingSeriesRow& series, RunTimes& made, Standing& out) {
  store::HistoryRow history = RG_TRY(store.history(series.series, std::nullopt, kPointsOfSeries));
  SeriesRuns runs;
  runs.series = std::move(history.series);
  RG_TRY(take_runs(history.points, made, runs));
  if (runs.values.empty()) return {};
  if (is_back(runs, finding.kind, *series.before)) {
    ++out.elsewhere;
    return {};
  }
  const auto found_at = made.of(finding.run_id);  // its run may be gone
  const bool is_since = RG_TRY(made.of(runs.runs.back())) > found_at.value_or(0);
  const bool is_of_level = finding.kind != "variance" && finding.kind != "mode_mix";
  out.is_bad = out.is_bad ||
               (is_since && is_of_level &&
                worse_by(runs.series, *series.before, runs.values.back()) > delta_of(runs.series));
  return {};
}

Result<bool> is_over(const store::Store& store, const store::FindingRow& finding,
                     const SeriesById& by_id, RunTimes& made, std::size_t& back) {
  Standing standing;
  for (const store::FindingSeriesRow& series : finding.series) {
    if (!series.before) continue;
    ++standing.all;
    const auto found = by_id.find(series.series);
    if (found == by_id.end()) continue;
    ++standing.measured;
    standing.back += is_back(*found->second, finding.kind, *series.before) ? 1 : 0;
  }
  back = standing.back;
  if (standing.measured == 0 || standing.back < standing.measured) return false;
  for (const store::FindingSeriesRow& series : finding.series)
    if (series.before && !by_id.contains(series.series))
      RG_TRY_OK(look_elsewhere(store, finding, series, made, standing));
  return !standing.is_bad && 2 * (standing.back + standing.elsewhere) >= standing.all;
}

}  // namespace

SeriesById by_id_of(const std::vector<SeriesRuns>& all) {
  SeriesById by_id;
  for (const SeriesRuns& one : all) by_id[one.series.series_id] = &one;
  return by_id;
}

Status end_what_is_back(store::Store& store, const std::vector<SeriesRuns>& all,
                        const std::string& run_id, double now) {
  const SeriesById by_id = by_id_of(all);
  RunTimes made(store);
  for (const store::FindingRow& row : RG_TRY(store.list_findings("", kFindings))) {
    const bool is_open = row.state == "new" || row.state == "confirmed" ||
                         row.state == "reopened" || row.state == "acknowledged";
    constexpr std::array<std::string_view, 6> kOurs{"step",     "drift",    "peer",
                                                    "variance", "mode_mix", "knee"};
    const bool is_ours =
        row.upgrade_id.empty() && std::ranges::find(kOurs, row.kind) != kOurs.end();
    if (!is_open || !is_ours) continue;
    const store::FindingRow whole = RG_TRY(store.finding(row.finding_id));
    std::size_t back = 0;
    if (!RG_TRY(is_over(store, whole, by_id, made, back))) continue;
    RG_TRY_OK(store.step_finding(
        row.finding_id,
        {.at = now,
         .who = std::string(kRunJudgeWho),
         .action = "resolve",
         .text = fmt::format("run {}: as before again, in {} series", run_id, back)}));
  }
  return {};
}

}  // namespace railgauge
