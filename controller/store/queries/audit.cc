#include "controller/store/queries/audit.h"

#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::store {
namespace {

// One pruning's rows: those that a step deletes for one reason.
struct Doomed {
  std::int64_t count = 0;
  double oldest = 0;
  double newest = 0;
};

// The condition of a step; ?1 and ?2 are its values.
constexpr std::string_view kOlder = "SELECT id FROM audit WHERE at<?1 ORDER BY at LIMIT ?2";
constexpr std::string_view kManyRefused =
    "SELECT id FROM audit WHERE refused=1 AND id<=(SELECT id FROM audit WHERE refused=1 ORDER BY "
    "id DESC LIMIT 1 OFFSET ?1) ORDER BY id LIMIT ?2";

// Deletes the rows that `choice` selects. Their record is stored first: the table never gets empty,
// so that no id is used twice.
template <class Bound>
Result<std::int64_t> prune_chosen(Connection& connection, std::string_view choice, Bound bound,
                                  const AuditPruning& pruning, std::string_view what) {
  Doomed doomed;
  RG_TRY_OK(connection.row(
      std::tie(doomed.count, doomed.oldest, doomed.newest),
      fmt::format("SELECT count(*), min(at), max(at) FROM audit WHERE id IN ({})", choice), bound,
      pruning.most));
  if (doomed.count == 0) return 0;
  // The record is newer than all that may go, so the choice is the same afterwards.
  RG_TRY_OK(write_audit(
      connection, {.at = pruning.now,
                   .who = "controller",
                   .role = "controller",
                   .rpc = "retention",
                   .subject = fmt::format("audit trail: {} {} from {} to {} deleted", doomed.count,
                                          what, rfc3339(doomed.oldest), rfc3339(doomed.newest)),
                   .outcome = "ok"}));
  RG_TRY_OK(connection.execute(fmt::format("DELETE FROM audit WHERE id IN ({})", choice), bound,
                               pruning.most));
  return doomed.count;
}

void answer(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_int(context, *static_cast<const bool*>(sqlite3_user_data(context)) ? 1 : 0);
}

}  // namespace

Status AuditRetention::join(Connection& connection) {
  // INNOCUOUS: triggers may call nothing else where trusted_schema is off.
  const int code = sqlite3_create_function_v2(connection.raw(), "railgauge_prunes_audit", 0,
                                              SQLITE_UTF8 | SQLITE_INNOCUOUS, &prunes_, answer,
                                              nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : tl::unexpected(connection.error("audit trail"));
}

Status write_audit(Connection& connection, const AuditRow& row) {
  return connection.execute(
      "INSERT INTO audit (at, call, who, role, address, rpc, subject, outcome, reason, refused, "
      "count) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      row.at, row.call, row.who, row.role, row.address, row.rpc, row.subject, row.outcome,
      row.reason, row.refused, row.count);
}

Result<std::vector<AuditRow>> read_audit(Connection& connection, const AuditFilter& filter) {
  return connection.list(
      Columns{&AuditRow::at, &AuditRow::call, &AuditRow::who, &AuditRow::role, &AuditRow::address,
              &AuditRow::rpc, &AuditRow::subject, &AuditRow::outcome, &AuditRow::reason,
              &AuditRow::refused, &AuditRow::count},
      "SELECT at, call, who, role, address, rpc, subject, outcome, reason, refused, count FROM "
      "audit WHERE (?1 IS NULL OR at>=?1) AND (?2='' OR who=?2) AND (?3='' OR rpc=?3 OR "
      "substr(rpc, instr(rpc, '.') + 1)=?3) AND refused>=?4 AND NOT (outcome='begun' AND EXISTS "
      "(SELECT 1 FROM audit AS later WHERE later.call=audit.call AND later.call<>0 AND "
      "later.id>audit.id)) ORDER BY id DESC LIMIT ?5",
      filter.since, filter.who, filter.rpc, filter.refused, filter.limit);
}

Result<std::int64_t> prune_audit(Connection& connection, AuditRetention& retention,
                                 const AuditPruning& pruning) {
  struct Permission {
    bool& flag;
    explicit Permission(bool& given) : flag(given) { flag = true; }
    ~Permission() { flag = false; }
    Permission(const Permission&) = delete;
    Permission& operator=(const Permission&) = delete;
  } const permission(retention.prunes_);
  const std::int64_t older =
      RG_TRY(prune_chosen(connection, kOlder, pruning.before, pruning, "rows"));
  return older + RG_TRY(prune_chosen(connection, kManyRefused, pruning.max_refused, pruning,
                                     "refused calls beyond the newest"));
}

Result<AuditAges> read_audit_ages(Connection& connection, double before) {
  AuditAges ages;
  RG_TRY_OK(connection.row(
      std::tie(ages.older, ages.all),
      "SELECT (SELECT count(*) FROM audit WHERE at<?1), (SELECT count(*) FROM audit)", before));
  return ages;
}

}  // namespace railgauge::store
