#include "controller/store/queries/repeats.h"

#include <fmt/format.h>

#include "controller/store/ingest/record_sink.h"
#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {

Status write_repeat_counts(Connection& connection, const RepeatCountRow& row) {
  RG_TRY_OK(connection.execute(
      "INSERT INTO repeat_count (run_id, at, figures, apart) VALUES (?1, ?2, ?3, ?4) ON CONFLICT "
      "DO NOTHING",
      row.run_id, row.at, row.counts.figures, row.counts.apart));
  if (connection.changes() == 0) return {};
  return insert_event(
      connection,
      {.at = row.at,
       .kind = std::string(kMeasuredTwiceKind),
       .run_id = row.run_id,
       .text = fmt::format(
           "{} of {} figures that were measured twice differ by more than the bound and their "
           "noise",
           row.counts.apart, row.counts.figures)});
}

Result<std::optional<RepeatCounts>> sum_repeat_counts(Connection& connection, double since) {
  RepeatCounts sum;
  std::int64_t runs = 0;
  RG_TRY_OK(connection.row(
      std::tie(runs, sum.figures, sum.apart),
      "SELECT count(*), total(figures), total(apart) FROM repeat_count WHERE at>=?1", since));
  return runs > 0 ? std::optional(sum) : std::nullopt;
}

}  // namespace railgauge::store
