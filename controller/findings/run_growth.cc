#include "controller/findings/run_growth.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "controller/upgrades/series_measure.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {
namespace {

// The bound of a spread's growth, a fraction: deviations are not known to a few percent.
constexpr double kSpreadGrowth = 0.25;

// The loss from `before` to `after` as a fraction of `before`; of a spread both are deviations.
double lost(const RunEvent& event, const SeriesById& series, std::int64_t id, double before,
            double after) {
  if (event.kind == MovedKind::kVariance) return before > 0 ? after / before - 1 : 0;
  const auto found = series.find(id);
  return found == series.end() ? 0 : worse_by(found->second->series, before, after);
}

// The levels that the finding stored for the series; null where it has none.
const store::FindingSeriesRow* known_of(const store::FindingRow& known, std::int64_t series) {
  const auto found = std::ranges::find(known.series, series, &store::FindingSeriesRow::series);
  return found == known.series.end() ? nullptr : &*found;
}

// Whether a person decided that the level is right, or that the finding is none.
bool is_settled(store::FindingState state) {
  return state == store::FindingState::kAccepted || state == store::FindingState::kFalse;
}

}  // namespace

// A finding that moved to other series is compared by its loss. A person settled the old series
// only, so that a settled finding then counts from zero.
bool has_grown(const store::FindingRow& known, const RunEvent& event, const SeriesById& series,
               double delta) {
  std::vector<double> since;
  for (const store::FindingSeriesRow& now : event.series) {
    const store::FindingSeriesRow* then = known_of(known, now.series);
    if (then == nullptr || !then->after || !now.after) continue;
    since.push_back(lost(event, series, now.series, *then->after, *now.after));
  }
  const double bound = event.kind == MovedKind::kVariance ? kSpreadGrowth : delta;
  if (!since.empty()) return upper_median(std::move(since)) > bound;
  // Other series than those that were settled: nobody has settled these.
  return event.worse > bound + (is_settled(known.state) ? 0 : known.worse.value_or(0));
}

void set_reference_levels(const store::FindingRow& known, const SeriesById& series,
                          RunEvent& event) {
  if (known.state == store::FindingState::kFixed) return;  // it was as before in between
  std::vector<double> worse;
  for (store::FindingSeriesRow& now : event.series) {
    const store::FindingSeriesRow* then = known_of(known, now.series);
    const auto level = then == nullptr           ? std::nullopt
                       : is_settled(known.state) ? then->after
                                                 : then->before;
    if (level) now.before = level;
    if (now.before && now.after)
      worse.push_back(lost(event, series, now.series, *now.before, *now.after));
  }
  // The loss of a knee is a share of sizes, which levels do not contain.
  if (event.kind != MovedKind::kKnee && !worse.empty())
    event.worse = upper_median(std::move(worse));
}

}  // namespace railgauge
