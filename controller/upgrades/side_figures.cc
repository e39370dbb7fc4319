#include "controller/upgrades/side_figures.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/upgrades/series_measure.h"
#include "controller/verdict/cohort.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {
namespace {

constexpr std::string_view kMedian = "median";
// The shape beside the median: a slow tenth of all operations moves no median.
constexpr std::array<std::string_view, 3> kTails{"p90", "p99", "p99.9"};
// The shape beside a rate: where it was low, and the pauses in it.
constexpr std::array<std::string_view, 3> kLows{"p10", "p1", analysis::kFlowStatistic};

constexpr double kInPercent = 100;
// One launch of so many may lack a shape.
constexpr std::size_t kOneLacksOf = 5;

// At least kLeastShare of the level; absent stays absent.
std::optional<double> floored(std::optional<double> figure, double level) {
  if (figure) figure = std::max(*figure, kLeastShare * level);
  return figure;
}

}  // namespace

BySeries by_series(const std::vector<store::SidePointRow>& points) {
  BySeries out;
  for (const store::SidePointRow& point : points) out[point.series].push_back(&point);
  return out;
}

std::optional<double> figure_of(const store::SidePointRow& point, std::string_view statistic) {
  if (point.brief) return std::nullopt;
  if (statistic == kMedian || statistic == analysis::kRateStatistic) return point.headline;
  if (statistic == analysis::kFlowStatistic)
    return point.pause_share ? floored(1 - *point.pause_share, 1) : std::nullopt;
  if (statistic == "p10") return floored(point.slot_p10, point.headline);
  if (statistic == "p1") return floored(point.slot_p1, point.headline);
  if (statistic == "p90") return point.p90;
  return statistic == "p99" ? point.p99 : point.p999;
}

std::vector<std::string_view> statistics_of(const store::SeriesRow& series) {
  const bool is_rate = analysis::is_rate(series.unit);
  std::vector<std::string_view> out{is_rate ? analysis::kRateStatistic : kMedian};
  if (is_rate)
    out.insert(out.end(), kLows.begin(), kLows.end());
  else if (series.unit == "ns")
    out.insert(out.end(), kTails.begin(), kTails.end());
  return out;
}

// --- what is compared ---

// The number of endpoints separates a collective of one node from one of two.
std::string kind_of(const store::SeriesRow& series) {
  std::string kind =
      fmt::format("{} of {} {}", metric_text(series, ""), series.endpoints.size(), series.meaning);
  for (const auto& [name, value] : series.parameters) kind += fmt::format(" {}={}", name, value);
  return kind;
}

namespace {

// The revisions of each kernel on the after side.
using KernelRevisions = std::map<std::string, std::set<std::uint32_t>>;

KernelRevisions revisions_of(const BySeries& points, const UpgradeData& sides) {
  KernelRevisions out;
  for (const auto& [id, launches] : points) {
    const store::SeriesRow& series = sides.series.at(id);
    out[series.kernel].insert(series.revision);
  }
  return out;
}

std::size_t launches_in(const BySeries& side, std::int64_t series) {
  const auto found = side.find(series);
  return found == side.end() ? 0 : found->second.size();
}

// The series of revisions that the after side does not have, though it has the kernel.
std::set<std::int64_t> left_behind(const UpgradeData& sides, const KernelRevisions& now) {
  std::set<std::int64_t> out;
  for (const auto& [id, series] : sides.series)
    if (const auto kernel = now.find(series.kernel);
        kernel != now.end() && !kernel->second.contains(series.revision))
      out.insert(id);
  return out;
}

// As many launches as the best measured pair of each measurement has, within bounds.
std::map<std::string, Launches> needed_launches(const UpgradeData& sides, const BySeries& before,
                                                const BySeries& after,
                                                const std::set<std::int64_t>& left_out) {
  std::map<std::string, Launches> out;
  for (const auto& [id, series] : sides.series) {
    if (left_out.contains(id)) continue;
    Launches& most = out[kind_of(series)];
    most.before = std::max(most.before, launches_in(before, id));
    most.after = std::max(most.after, launches_in(after, id));
  }
  for (auto& [name, most] : out) {
    most.before = sides.upgrade.before_is_history
                      ? kHistoryRunsBefore
                      : std::clamp(most.before, kLeastRunsASide, kRunsASide);
    most.after = std::clamp(most.after, kLeastRunsASide, kRunsASide);
  }
  return out;
}

// Kernels of which the before side has another revision than the newest of the after side, and too
// few launches by that one to show each changed place that it was measured at.
std::map<std::string, Revisions> revised_in(const UpgradeData& sides, const Comparison& comparison,
                                            const KernelRevisions& now) {
  std::map<std::string, Revisions> out;
  for (const auto& [id, launches] : comparison.before) {
    const store::SeriesRow& series = sides.series.at(id);
    const auto kernel = now.find(series.kernel);
    if (kernel == now.end() || *kernel->second.rbegin() == series.revision) continue;
    Revisions& revisions = out[series.kernel];
    revisions.before = std::max(revisions.before, series.revision);
    revisions.after = *kernel->second.rbegin();
  }
  if (out.empty()) return out;
  const std::set<std::string> changed = changed_names(sides.upgrade);
  // Whether the before side shows the place, by kernel, measurement and place.
  std::map<std::string, std::map<std::pair<std::string, std::string>, bool>> shown;
  for (const auto& [id, launches] : comparison.after) {
    const store::SeriesRow& series = sides.series.at(id);
    const auto revised = out.find(series.kernel);
    if (revised == out.end() || series.revision != revised->second.after) continue;
    const std::string name = kind_of(series);
    const bool is_enough = launches_in(comparison.before, id) >= comparison.needed.at(name).before;
    for (const std::string& endpoint : series.endpoints)
      if (changed.contains(node_of(endpoint))) {
        bool& is_shown = shown[series.kernel][{name, endpoint}];
        is_shown = is_shown || is_enough;
      }
  }
  std::erase_if(out, [&](const auto& entry) {
    return std::ranges::all_of(shown[entry.first], [](const auto& place) { return place.second; });
  });
  return out;
}

}  // namespace

// Where the before side has enough by the revision of now, the older figures are just left out.
Comparison comparison_of(const UpgradeData& sides) {
  Comparison out{.before = by_series(sides.before), .after = by_series(sides.after)};
  const KernelRevisions now = revisions_of(out.after, sides);
  out.left_out = left_behind(sides, now);
  out.needed = needed_launches(sides, out.before, out.after, out.left_out);
  out.revised = revised_in(sides, out, now);
  for (const auto& [id, series] : sides.series)
    if (out.revised.contains(series.kernel)) out.left_out.insert(id);
  return out;
}

// --- figures of a series ---

namespace {

std::vector<double> figures_of(const BySeries& side, std::int64_t series,
                               std::string_view statistic) {
  std::vector<double> out;
  const auto found = side.find(series);
  if (found == side.end()) return out;
  for (const store::SidePointRow* point : found->second)
    out.push_back(figure_of(*point, statistic).value_or(std::numeric_limits<double>::quiet_NaN()));
  return out;
}

// The launches of a shape that a side needs where its level needs `level`: one may lack it.
std::size_t least_of_shape(std::size_t level) {
  return level > kLeastRunsASide ? level - 1 : level;
}

// Reports whether enough of a side's launches have the shape. The launches after that lack it are
// few, because those that have it may be the good ones.
bool has_shape_after(const std::vector<double>& figures, std::size_t needed) {
  const std::size_t with = analysis::measured(figures);
  return with >= needed && (figures.size() - with) * kOneLacksOf <= figures.size();
}

// By how much the mean operation of the after side is slower, a fraction; 0 where it is not known.
double slower_by(const BySeries& before, const BySeries& after, std::int64_t series) {
  const auto mean_of = [series](const BySeries& side) {
    std::vector<double> means;
    for (const store::SidePointRow* point : side.at(series))
      if (point->mean > 0) means.push_back(point->mean);
    return upper_median(means);
  };
  const double was = mean_of(before);
  return was > 0 ? std::max(0.0, mean_of(after) / was - 1) : 0;
}

}  // namespace

// The level stays without figures too: a pair that was not measured is missing. A shape does not:
// the level of the same launches says so already.
std::vector<SeriesFigures> FigureTaker::take(std::int64_t id, bool counts) {
  const store::SeriesRow& series = sides_.series.at(id);
  const Launches& needed = comparison_.needed.at(kind_of(series));
  std::vector<SeriesFigures> out;
  for (const std::string_view statistic : statistics_of(series)) {
    SeriesFigures figures{.metric = metric_text(series, std::string(statistic)),
                          .statistic = statistic,
                          .needed = needed,
                          .before = figures_of(comparison_.before, id, statistic),
                          .after = figures_of(comparison_.after, id, statistic)};
    if (out.empty()) {  // the level
      out.push_back(std::move(figures));
      continue;
    }
    figures.needed = {least_of_shape(needed.before), least_of_shape(needed.after)};
    // A side that is not measured yet lacks nothing.
    const bool is_early = sides_.after.empty();
    if (figures.before.empty() || (figures.after.empty() && !is_early)) continue;
    const bool was = analysis::measured(figures.before) >= figures.needed.before;
    const bool is = is_early || has_shape_after(figures.after, figures.needed.after);
    if (counts) {
      Shapes& shapes = shapes_[figures.metric];
      shapes.is_rate = analysis::is_rate(series.unit);
      shapes.is_known = shapes.is_known || analysis::measured(figures.before) > 0 ||
                        analysis::measured(figures.after) > 0;
      ++shapes.all;
      shapes.lacking_before += was ? 0 : 1;
      shapes.lacking_after += was && !is ? 1 : 0;
      const double slower = was && !is ? slower_by(comparison_.before, comparison_.after, id) : 0;
      const double bound =
          analysis::traits_of(series.unit, series.larger_is_better, statistic).delta;
      if (series.unit == "ns" && slower > bound) {
        ++shapes.slower;
        shapes.slower_by = std::max(shapes.slower_by, slower);
      }
    }
    if (was && is) out.push_back(std::move(figures));
  }
  return out;
}

// A shape that no launch has was not asked for by the suite; all such are one note.
void FigureTaker::add_notes(analysis::UpgradeRuns& out) const {
  std::vector<std::string> unknown;
  for (const auto& [name, shapes] : shapes_) {
    if (!shapes.is_known) {
      unknown.push_back(name);
      continue;
    }
    const char* few = shapes.is_rate ? "slots" : "samples";
    if (shapes.lacking_before > 0)
      out.notes.push_back(
          fmt::format("{}: not judged on {} of {} pairs: the before side has too few {} for it",
                      name, shapes.lacking_before, shapes.all, few));
    if (shapes.lacking_after == 0) continue;
    const std::string slower =
        shapes.slower == 0
            ? ""
            : fmt::format(", and its operations take up to {:.0f} % longer in the mean",
                          kInPercent * shapes.slower_by);
    const std::string note =
        fmt::format("{}: not judged on {} of {} pairs: the after side has too few {} for it{}",
                    name, shapes.lacking_after, shapes.all, few, slower);
    const double kept = 1 - static_cast<double>(shapes.slower) / static_cast<double>(shapes.all);
    if (shapes.slower > 0 && kept < sides_.min_coverage && out.unproven.empty())
      out.unproven = note;
    else
      out.notes.push_back(note);
  }
  if (!unknown.empty())
    out.notes.push_back(fmt::format("not judged, since no launch has enough samples for it: {}",
                                    fmt::join(unknown, "; ")));
  const auto brief = std::ranges::count_if(sides_.before, &store::SidePointRow::brief) +
                     std::ranges::count_if(sides_.after, &store::SidePointRow::brief);
  if (brief > 0)
    out.notes.push_back(
        fmt::format("{} rates are not judged: they were measured for less than 2 s, which may "
                    "miss pauses; raise the suite's time_cap above 2.5 s",
                    brief));
}

}  // namespace railgauge
