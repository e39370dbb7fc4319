#include "controller/findings/changes/measured_twice.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "controller/detect/changes.h"
#include "controller/upgrades/series_measure.h"

namespace railgauge {
namespace {

// Standard deviations to each side that chance exceeds once in 20 times.
constexpr double kOneIn20 = 1.96;

// The arithmetic mean of values, which are not empty.
double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

// Two figures of equal noise differ with the square root of two times that noise. A difference
// counts as apart only where it also exceeds the practical bound of the metric, so that a quiet
// series raises no false alarm.
store::RepeatCounts count_apart(std::span<const MeasuredTwice> figures) {
  std::map<std::string, std::vector<analysis::Noise>> noises;
  for (const MeasuredTwice& one : figures)
    if (const auto found = analysis::detect_changes(one.runs->values, {}); !found.too_few)
      noises[metric_text(one.runs->series, "")].push_back(found.noise);
  store::RepeatCounts out;
  for (const MeasuredTwice& one : figures) {
    const store::SeriesRow& series = one.runs->series;
    const analysis::Findings past = analysis::detect_changes(
        one.runs->values, {.prior = analysis::pool(noises[metric_text(series, "")])});
    if (past.too_few || !past.relative || !(one.first > 0) || !(one.again > 0)) continue;
    ++out.figures;
    const analysis::MetricTraits traits = traits_of(series);
    const double moved = std::abs(std::log(one.again / one.first));
    const double chance = kOneIn20 * std::numbers::sqrt2 * past.noise.scale;
    const double bound = analysis::log_worsening(traits.better, traits.delta);
    if (moved > std::max(chance, bound)) ++out.apart;
  }
  return out;
}

// A series may have several launches in each round; their mean represents the round.
Status keep_repeats(store::Store& store, const std::string& run_id, std::span<const SeriesRuns> all,
                    double now) {
  std::map<std::int64_t, std::pair<std::vector<double>, std::vector<double>>> twice;
  for (const store::SidePointRow& point :
       RG_TRY(store.read(store::read_side_points, {run_id}, {}))) {
    if (point.brief) continue;
    auto& [first, again] = twice[point.series];
    (point.again ? again : first).push_back(point.headline);
  }
  std::vector<MeasuredTwice> figures;
  for (const SeriesRuns& one : all) {
    const auto& [first, again] = twice[one.series.series_id];
    if (!first.empty() && !again.empty())
      figures.push_back({.runs = &one, .first = mean_of(first), .again = mean_of(again)});
  }
  const store::RepeatCounts counted = count_apart(figures);
  if (counted.figures == 0) return {};
  return store.write(store::write_repeat_counts,
                     store::RepeatCountRow{.run_id = run_id, .at = now, .counts = counted});
}

}  // namespace railgauge
