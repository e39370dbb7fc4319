#include "controller/console/views/series_changes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/detect/changes.h"

namespace railgauge::console {
namespace {

using analysis::Change;
using analysis::ChangeKind;

constexpr double kLeastNoise = 1e-6;

void fill_change(const Change& change, bool relative, bool larger_is_better,
                 api::SeriesChange& out) {
  out.set_index(static_cast<std::uint32_t>(change.index));
  out.set_index_first(static_cast<std::uint32_t>(change.first));
  out.set_index_last(static_cast<std::uint32_t>(change.last));
  out.set_kind(std::string(analysis::word(change.kind)));
  out.set_before(change.before);
  out.set_after(change.after);
  if (relative || change.kind == ChangeKind::kVariance) {
    out.set_effect_percent(100 * change.effect);
    out.set_effect_low_percent(100 * std::min(change.effect_low, change.effect_high));
    out.set_effect_high_percent(100 * std::max(change.effect_low, change.effect_high));
  }
  if (change.kind != ChangeKind::kVariance) out.set_worse((change.effect < 0) == larger_is_better);
}

}  // namespace

Result<api::SeriesChanges> changes_of(const api::History& history,
                                      const api::SeriesChangesRequest& request) {
  if (history.points_size() > kMostSearched)
    return fail(Code::kInvalidArgument,
                fmt::format("limit {}: changes are searched in at most {} points",
                            history.points_size(), kMostSearched));
  if (!(request.delta() >= 0 && request.delta() < 1))
    return fail(Code::kInvalidArgument,
                fmt::format("delta {}: a fraction below 1 is needed", request.delta()));
  analysis::DetectorSettings settings{.delta = request.delta()};
  if (request.has_least_noise()) settings.least_noise = request.least_noise();
  if (!(settings.least_noise >= kLeastNoise && settings.least_noise < 1))
    return fail(Code::kInvalidArgument,
                fmt::format("least_noise {}: a fraction from {} up and below 1 is needed",
                            request.least_noise(), kLeastNoise));
  std::vector<double> values;
  for (const api::HistoryPoint& point : history.points()) values.push_back(point.headline());
  if (request.first() > 0 && request.first() < values.size()) values.resize(request.first());
  const analysis::Findings found = analysis::detect_changes(values, settings);
  api::SeriesChanges out;
  out.set_schema_version(kSchemaVersion);
  out.set_series_id(history.series().series_id());
  if (history.points_size() > 0) out.set_first_at(history.points(0).measured_at());
  out.set_too_few(found.too_few);
  if (!found.too_few && found.relative) out.set_noise_percent(100 * found.noise.marginal());
  for (const Change& change : found.changes)
    fill_change(change, found.relative, history.series().larger_is_better(), *out.add_changes());
  for (const analysis::Spike& spike : found.spikes) {
    api::SeriesSpike& row = *out.add_spikes();
    row.set_index(static_cast<std::uint32_t>(spike.index));
    row.set_value(spike.value);
    row.set_expected(spike.expected);
  }
  return out;
}

}  // namespace railgauge::console
