#include "controller/store/queries/data_kind.h"

#include <tuple>

#include <fmt/format.h>

#include "controller/store/sqlite/application_id.h"

namespace railgauge::store {

Result<DataKind> read_data_kind(Connection& connection) {
  const auto application = RG_TRY(connection.integer("PRAGMA application_id"));
  if (application == kSyntheticApplicationId) return DataKind::kSynthetic;
  const auto has_rows =
      RG_TRY(connection.integer("SELECT EXISTS(SELECT 1 FROM node) OR EXISTS(SELECT 1 FROM run)"));
  return has_rows.value_or(0) != 0 ? DataKind::kReal : DataKind::kNone;
}

Status mark_synthetic(Connection& connection) {
  const DataKind kind = RG_TRY(read_data_kind(connection));
  if (kind == DataKind::kSynthetic) return {};
  if (kind == DataKind::kReal)
    return fail(Code::kFailedPrecondition,
                fmt::format("store {}: it has data of real nodes, and modelled data needs a "
                            "database of its own; name another file",
                            connection.path()));
  return connection.script(
      fmt::format("PRAGMA application_id={}", kSyntheticApplicationId).c_str());
}

// Runs end in another order than they begin: the newest ones are enough.
Result<double> read_last_time(Connection& connection) {
  double last = 0;
  RG_TRY_OK(connection.row(
      std::tie(last),
      "SELECT max(coalesce((SELECT max(last_seen_at) FROM node), 0), "
      "coalesce((SELECT max(at) FROM audit), 0), "
      "coalesce((SELECT max(decided_until) FROM schedule), 0), "
      "coalesce((SELECT max(created_at) FROM run), 0), coalesce((SELECT max(ended_at) FROM (SELECT "
      "ended_at FROM run ORDER BY created_at DESC LIMIT 1000)), 0))"));
  return last;
}

}  // namespace railgauge::store
