// Baselines: levels with which people compare series.
#include <fmt/format.h>

#include "controller/store/queries/queries.h"
#include "controller/store/queries/upgrades.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge::store {
namespace {

// Headlines of the newest points of attempts that count and passed.
Result<std::vector<double>> newest_headlines(Connection& connection, std::int64_t series,
                                             std::uint32_t limit) {
  return connection.column<double>(
      "SELECT point.headline FROM point INDEXED BY point_by_series CROSS JOIN rank ON "
      "rank.id=point.rank CROSS JOIN attempt ON attempt.id=rank.attempt AND "
      "attempt.outcome='passed' CROSS JOIN task ON task.id=attempt.task AND "
      "task.counted_attempt=attempt.attempt WHERE series=?1 ORDER BY measured_ms / 86400000 DESC, "
      "measured_ms DESC LIMIT ?2",
      series, limit);
}

}  // namespace

Status write_baseline(Connection& connection, const BaselineRow& baseline) {
  double level = baseline.level;
  std::uint32_t points = baseline.points;
  if (level == 0) {
    const std::vector<double> headlines =
        RG_TRY(newest_headlines(connection, baseline.series_id, kBaselinePoints));
    points = static_cast<std::uint32_t>(headlines.size());
    if (headlines.empty())
      return fail(Code::kNotFound,
                  fmt::format("baseline of series {}: it has no points", baseline.series_id));
    level = median(headlines);
  }
  return connection.execute(
      "INSERT OR REPLACE INTO baseline (series, kind, level, points, set_at, who, note, finding) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT id FROM finding WHERE finding_id=?8))",
      baseline.series_id, baseline.kind, level, points, baseline.set_at, baseline.who,
      baseline.note, baseline.finding_id);
}

Status write_baselines(Connection& connection, const std::vector<BaselineRow>& baselines) {
  for (const BaselineRow& row : baselines) {
    Status written = write_baseline(connection, row);
    const bool left_out =
        baselines.size() > 1 && !written && written.error().code == Code::kNotFound;
    if (!written && !left_out) return written;
  }
  return {};
}

Result<std::vector<BaselineRow>> read_baselines(Connection& connection, std::string_view kind) {
  using Row = BaselineRow;
  std::vector<Row> baselines = RG_TRY(connection.list(
      Columns{&Row::series_id, &Row::kind, &Row::level, &Row::points, &Row::set_at, &Row::who,
              &Row::note, &Row::finding_id},
      "SELECT series, baseline.kind, level, points, set_at, who, note, coalesce(finding_id, '') "
      "FROM baseline LEFT JOIN finding ON finding.id=baseline.finding WHERE ?1='' OR "
      "baseline.kind=?1 ORDER BY series, baseline.kind DESC",
      kind));
  for (BaselineRow& row : baselines) {
    row.series = RG_TRY(read_one_series(connection, row.series_id));
    const auto newest = RG_TRY(newest_headlines(connection, row.series_id, kBaselinePoints));
    if (!newest.empty()) row.now = median(newest);
  }
  return baselines;
}

}  // namespace railgauge::store
