#include "controller/findings/run/run_knees.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "controller/detect/changes.h"
#include "controller/detect/knee.h"
#include "controller/upgrades/upgrade_knees.h"

namespace railgauge {
namespace {

using Curve = std::vector<const SeriesRuns*>;  // a series a size

analysis::MetricTraits traits_of(const store::SeriesRow& series) {
  return analysis::traits_of(series.unit, series.larger_is_better, "median");
}

std::optional<double> value_at(const SeriesRuns& one, const std::string& run) {
  const auto at = std::ranges::find(one.runs, run);
  if (at == one.runs.end()) return std::nullopt;
  return one.values[static_cast<std::size_t>(at - one.runs.begin())];
}

// The knee of each run that measured all sizes, oldest first.
void take_knees(const Curve& curve, std::vector<std::string>& runs, std::vector<double>& knees) {
  const analysis::Better better = traits_of(curve.front()->series).better;
  for (const std::string& run : curve.front()->runs) {
    std::vector<analysis::CurvePoint> points;
    for (const SeriesRuns* one : curve)
      if (const auto value = value_at(*one, run))
        points.push_back({.bytes = one->series.message_bytes, .value = *value});
    if (points.size() < curve.size()) continue;
    if (const auto knee = analysis::knee_of(points, better)) {
      runs.push_back(run);
      knees.push_back(*knee);
    }
  }
}

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// The size that lost most, with its levels on both sides of `from`.
void choose_series(const Curve& curve, const std::vector<std::string>& runs, std::size_t from,
                   Knee& knee) {
  const analysis::Better better = traits_of(curve.front()->series).better;
  double most = 0;
  for (const SeriesRuns* one : curve) {
    std::vector<double> before;
    std::vector<double> after;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (const auto value = value_at(*one, runs[i])) (i < from ? before : after).push_back(*value);
    const double was = median_of(before);
    const double is = median_of(after);
    const double lost = analysis::oriented(better, std::log(is / was));
    if (knee.runs != nullptr && !(lost > most)) continue;
    most = lost;
    knee.runs = one;
    knee.level_before = was;
    knee.level_after = is;
  }
}

std::optional<Knee> knee_of(const Curve& curve) {
  std::vector<std::string> runs;
  std::vector<double> knees;
  take_knees(curve, runs, knees);
  if (knees.size() < analysis::kMinRuns) return std::nullopt;
  const store::SeriesRow& whole = curve.front()->series;
  Knee out{.metric = knee_text(whole), .runs = curve.front()};
  analysis::DetectorSettings settings;
  settings.delta = analysis::kKneeDelta;
  const analysis::Findings found = analysis::detect_changes(knees, settings);
  if (found.changes.empty() || found.changes.back().kind != analysis::ChangeKind::kStep) return out;
  const analysis::Change& change = found.changes.back();
  if (change.index + kFreshRuns < knees.size()) return out;
  const analysis::Better way = analysis::better_knee(traits_of(whole).better);
  const double moved = analysis::oriented(way, std::log(change.after / change.before));
  const double now = median_of({knees.end() - static_cast<std::ptrdiff_t>(kBackRuns), knees.end()});
  const bool holds = analysis::oriented(way, std::log(now / change.before)) > moved / 2;
  out.p = change.p;
  out.bytes_before = change.before;
  out.bytes_after = change.after;
  if (!(moved > std::log1p(analysis::kKneeDelta)) || !holds) return out;
  out.worse = analysis::worse_fraction(way, moved);
  out.runs = nullptr;
  choose_series(curve, runs, change.index, out);
  return out;
}

}  // namespace

std::vector<Knee> moved_knees(std::span<const SeriesRuns> all) {
  std::map<std::string, Curve> curves;
  for (const SeriesRuns& one : all)
    if (one.series.message_bytes > 0 && one.runs.size() == one.values.size() && !one.runs.empty())
      curves[curve_text(one.series)].push_back(&one);
  std::vector<Knee> out;
  for (const auto& [word, curve] : curves)
    if (curve.size() >= analysis::kLeastKneeSizes)
      if (auto knee = knee_of(curve)) out.push_back(std::move(*knee));
  return out;
}

}  // namespace railgauge
