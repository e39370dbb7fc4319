#include "controller/console/views/series_columns.h"

#include <cmath>
#include <limits>
#include <utility>

#include "controller/api/contract.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::console {
namespace {

constexpr float kNoBound = std::numeric_limits<float>::quiet_NaN();

float low_of(const api::HistoryPoint& point) {
  if (point.has_rate_low()) return static_cast<float>(point.rate_low());
  return point.has_median_low() ? static_cast<float>(point.median_low()) : kNoBound;
}

float high_of(const api::HistoryPoint& point) {
  if (point.has_rate_high()) return static_cast<float>(point.rate_high());
  return point.has_median_high() ? static_cast<float>(point.median_high()) : kNoBound;
}

// Counts a point to the last stretch, or to a new one that `begin` adds.
template <class Begin>
void count_point(bool is_same, google::protobuf::RepeatedField<std::uint32_t>& points,
                 Begin begin) {
  if (!is_same) {
    begin();
    points.Add(0);
  }
  *points.rbegin() += 1;
}

}  // namespace

api::SeriesColumns columns_of(api::History history) {
  api::SeriesColumns columns;
  columns.set_schema_version(kSchemaVersion);
  *columns.mutable_series() = std::move(*history.mutable_series());
  double before = 0;
  for (const api::HistoryPoint& point : history.points()) {
    const double at = std::round(parse_calendar(point.measured_at()).value_or(0) * 1e3);
    const bool is_first = columns.steps_ms().empty();
    if (is_first) columns.set_first_unix_ms(at);
    columns.add_steps_ms(is_first ? 0 : at - before);
    before = at;
    columns.add_headlines(static_cast<float>(point.headline()));
    columns.add_lows(low_of(point));
    columns.add_highs(high_of(point));
    count_point(!is_first && *columns.run_ids().rbegin() == point.run_id(),
                *columns.mutable_points_of_run(), [&] { columns.add_run_ids(point.run_id()); });
    count_point(!is_first && *columns.epochs().rbegin() == point.epoch(),
                *columns.mutable_points_of_epoch(), [&] { columns.add_epochs(point.epoch()); });
    if (point.synthetic()) columns.set_synthetic(true);
  }
  return columns;
}

}  // namespace railgauge::console
