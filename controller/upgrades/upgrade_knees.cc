#include "controller/upgrades/upgrade_knees.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/detect/knee.h"

namespace railgauge {
namespace {

using Launches = std::map<std::int64_t, std::vector<analysis::CurvePoint>>;

struct Curve {
  const store::SeriesRow* series = nullptr;  // any of its
  std::set<double> sizes{};
  Launches before{};
  Launches after{};
};

void take(const std::vector<store::SidePointRow>& points, const UpgradeData& sides,
          const std::map<std::int64_t, Curve*>& curves, Launches Curve::*side) {
  for (const store::SidePointRow& point : points)
    if (const auto curve = curves.find(point.series); curve != curves.end())
      (curve->second->*side)[point.launch].push_back(
          {.bytes = sides.series.at(point.series).message_bytes, .value = point.median});
}

std::vector<double> knees_of(const Launches& launches, const Curve& curve,
                             analysis::Better better) {
  std::vector<double> out;
  for (const auto& [launch, points] : launches)
    if (points.size() == curve.sizes.size())
      if (const auto knee = analysis::knee_of(points, better)) out.push_back(*knee);
  return out;
}

}  // namespace

std::string knee_text(store::SeriesRow series) {
  series.message_bytes = 0;
  return metric_text(series, "") + " knee of the size curve";
}

std::string curve_text(const store::SeriesRow& series) {
  std::string parameters;
  for (const auto& [name, value] : series.parameters)
    if (name != "sizes") parameters += fmt::format(" {}={}", name, value);
  return fmt::format("{} rev {} {}{}", knee_text(series), series.revision,
                     fmt::join(series.endpoints, " "), parameters);
}

void add_knees(const UpgradeData& sides, const NodeRoles& cast, analysis::UpgradeRuns& out) {
  std::map<std::string, Curve> curves;
  std::map<std::int64_t, Curve*> by_series;
  for (const auto& [id, series] : sides.series) {
    if (!(series.message_bytes > 0) || !pair_of(series, cast)) continue;
    Curve& curve = curves[curve_text(series)];
    curve.series = &series;
    curve.sizes.insert(series.message_bytes);
    by_series[id] = &curve;
  }
  take(sides.before, sides, by_series, &Curve::before);
  take(sides.after, sides, by_series, &Curve::after);
  std::map<std::string, analysis::MetricRuns> metrics;
  for (const auto& [text, curve] : curves) {
    if (curve.sizes.size() < analysis::kLeastKneeSizes) continue;
    const store::SeriesRow& series = *curve.series;
    const auto better = analysis::traits_of(series.unit, series.larger_is_better, "median").better;
    analysis::PairRuns pair = *pair_of(series, cast);
    pair.before = knees_of(curve.before, curve, better);
    pair.after = knees_of(curve.after, curve, better);
    if (pair.before.empty() || pair.after.empty()) continue;
    analysis::MetricRuns& metric = metrics[knee_text(series)];
    metric.name = knee_text(series);
    metric.is_shape = true;
    metric.traits = {.unit = "bytes",
                     .better = analysis::better_knee(better),
                     .delta = analysis::kKneeDelta,
                     .ceiling = {}};
    metric.pairs.push_back(std::move(pair));
  }
  for (auto& [name, metric] : metrics) out.metrics.push_back(std::move(metric));
}

}  // namespace railgauge
