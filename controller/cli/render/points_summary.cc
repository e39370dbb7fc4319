#include "controller/cli/render/points_summary.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "controller/cli/render/results_table.h"
#include "controller/cli/render/table.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using api::ResultPoint;
using Points = google::protobuf::RepeatedPtrField<ResultPoint>;

constexpr double kLeastWorse = 0.05;  // of the median: nearer figures are no place to look at
constexpr std::size_t kMostPlaces = 10;
constexpr std::size_t kLinesOfKinds = 20;
constexpr std::size_t kBriefBytes = 34;  // of folded names in a cell

// The points of one kernel and size that may be compared.
struct PointsOfKind {
  PointKind kind{};
  double bytes = 0;
  std::vector<const ResultPoint*> points{};
  double median = 0;
};

// In the order in which they appear.
std::vector<PointsOfKind> kinds_in(const Points& points) {
  std::vector<PointsOfKind> kinds;
  std::map<std::tuple<std::string, std::string, double>, std::size_t> places;
  const std::vector<PointKind> told = kinds_of_points(points);
  for (int i = 0; i < points.size(); ++i) {
    // Sizes are apart from the kind, since each has its own median.
    const PointKind& kind = told[static_cast<std::size_t>(i)];
    const double bytes = points[i].point().message_bytes();
    const auto [place, is_new] = places.try_emplace({kind.kernel, kind.what, bytes}, kinds.size());
    if (is_new) kinds.push_back({.kind = kind, .bytes = bytes});
    kinds[place->second].points.push_back(&points[i]);
  }
  for (PointsOfKind& kind : kinds) {
    std::vector<double> values;
    for (const ResultPoint* point : kind.points) values.push_back(headline_of(point->point()));
    kind.median = upper_median(values);
  }
  return kinds;
}

// How much worse than the median of its kind, as a share of it; negative: better.
double worse_share(const ResultPoint& point, double median) {
  if (median <= 0) return 0;
  const double share = headline_of(point.point()) / median;
  return point.point().larger_is_better() ? 1 - share : share - 1;
}

// "12 failed, 3 waived"; "" where all passed.
std::string outcomes_text(const std::vector<const ResultPoint*>& points) {
  std::map<std::string, int> counts;
  for (const ResultPoint* point : points)
    if (point->outcome() != kPassed) ++counts[point->outcome()];
  std::string text;
  for (const auto& [word, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, word);
  return text;
}

std::string kinds_table(const std::vector<PointsOfKind>& kinds, Units units, bool colour) {
  Rows rows;
  for (const PointsOfKind& kind : kinds) {
    const auto worse = [&](const ResultPoint* one, const ResultPoint* other) {
      return worse_share(*one, kind.median) < worse_share(*other, kind.median);
    };
    const auto [best, worst] = std::ranges::minmax_element(kind.points, worse);
    const ShownUnit unit = shown_unit(**best, units);
    const auto shown = [&](double value) { return figure(value * unit.factor); };
    const std::string outcomes = outcomes_text(kind.points);
    rows.push_back({kind.kind.kernel, kind.bytes > 0 ? format_bytes(kind.bytes) : "",
                    kind.points.size(), shown(kind.median), shown(headline_of((*worst)->point())),
                    shown(headline_of((*best)->point())), unit.label,
                    Cell(outcomes, outcomes.empty() ? Tone::kPlain : Tone::kBad), kind.kind.what});
  }
  return render_short_table("KERNEL|SIZE>|POINTS>|MEDIAN>|WORST>|BEST>|UNIT|NOT PASSED|OF", rows,
                            colour, {.lines = kLinesOfKinds});
}

// The figures of one kernel that are worst at one node.
struct Place {
  double worst = 0;  // share of the median
  const ResultPoint* point = nullptr;
  double median = 0;  // of that point's kind
  std::size_t count = 0;
  std::vector<std::string> here{};
  std::vector<std::string> partners{};
};

std::string node_of(const std::string& endpoint) { return endpoint.substr(0, endpoint.find('/')); }

// The one of a point's nodes that most bad points of the kernel share: a slow port makes each of
// its partners look slow.
using Shared = std::map<std::pair<std::string, std::string>, std::size_t>;  // by kernel and node
std::string place_of(const ResultPoint& point, const std::string& kernel, const Shared& shared) {
  std::string place;
  std::size_t most = 0;
  for (const std::string& endpoint : point.endpoints())
    if (const std::size_t count = shared.at({kernel, node_of(endpoint)}); count > most) {
      most = count;
      place = node_of(endpoint);
    }
  return place;
}

// By kernel and node.
std::map<std::pair<std::string, std::string>, Place> places_in(
    const std::vector<PointsOfKind>& kinds) {
  const auto visit = [&](auto act) {
    for (const PointsOfKind& kind : kinds)
      for (const ResultPoint* point : kind.points)
        if (const double worse = worse_share(*point, kind.median); worse > kLeastWorse)
          act(kind, *point, worse);
  };
  Shared shared;
  visit([&](const PointsOfKind& kind, const ResultPoint& point, double) {
    for (const std::string& endpoint : point.endpoints())
      ++shared[{kind.kind.kernel, node_of(endpoint)}];
  });
  std::map<std::pair<std::string, std::string>, Place> places;
  visit([&](const PointsOfKind& kind, const ResultPoint& point, double worse) {
    const std::string node = place_of(point, kind.kind.kernel, shared);
    Place& place = places[{kind.kind.kernel, node}];
    ++place.count;
    for (const std::string& endpoint : point.endpoints())
      (node_of(endpoint) == node ? place.here : place.partners).push_back(endpoint);
    if (place.point != nullptr && worse <= place.worst) return;
    place.worst = worse;
    place.point = &point;
    place.median = kind.median;
  });
  return places;
}

// Places of one kernel that are about as far off are a row: one cause has them all.
std::vector<std::pair<std::string, Place>> alike_places(const std::vector<PointsOfKind>& kinds) {
  std::map<std::pair<std::string, int>, Place> alike;
  for (auto& [where, place] : places_in(kinds)) {
    Place& row = alike[{where.first, static_cast<int>(place.worst / kLeastWorse)}];
    row.count += place.count;
    row.here.insert(row.here.end(), place.here.begin(), place.here.end());
    row.partners.insert(row.partners.end(), place.partners.begin(), place.partners.end());
    if (row.point != nullptr && place.worst <= row.worst) continue;
    row.worst = place.worst;
    row.point = place.point;
    row.median = place.median;
  }
  std::vector<std::pair<std::string, Place>> places;
  for (auto& [key, place] : alike) places.emplace_back(key.first, std::move(place));
  std::ranges::stable_sort(places, std::greater<>(),
                           [](const auto& each) { return each.second.worst; });
  return places;
}

// The worst first.
std::string places_table(const std::vector<PointsOfKind>& kinds, Units units, bool colour) {
  const auto places = alike_places(kinds);
  Rows rows;
  for (const auto& [kernel, place] : places) {
    if (rows.size() == kMostPlaces) break;
    const ResultPoint& point = *place.point;
    const ShownUnit unit = shown_unit(point, units);
    const double value = headline_of(point.point());
    const double bytes = point.point().message_bytes();
    rows.push_back({fold_briefly(place.here, kBriefBytes), place.count,
                    fmt::format("{} {}", figure(value * unit.factor), unit.label),
                    Cell(format_share(value / place.median), Tone::kBad), kernel,
                    bytes > 0 ? format_bytes(bytes) : "",
                    fold_briefly(place.partners, kBriefBytes)});
  }
  const std::size_t left = places.size() - rows.size();
  return render_section("AT|POINTS>|WORST>|OF MEDIAN>|KERNEL|SIZE>|WITH", rows, colour,
                        fmt::format("more than {:.0f} % worse than the median of their kind",
                                    100 * kLeastWorse)) +
         (left > 0 ? fmt::format("and {} more\n", left) : "");
}

}  // namespace

std::string points_summary(const Points& points, Units units, bool colour) {
  if (points.empty()) return "";
  const std::vector<PointsOfKind> kinds = kinds_in(points);
  return kinds_table(kinds, units, colour) + places_table(kinds, units, colour);
}

}  // namespace railgauge::cli
