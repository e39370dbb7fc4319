#include "controller/store/queries/upgrades.h"

#include <utility>

#include <fmt/format.h>

#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

Result<std::int64_t> id_of(Connection& connection, std::string_view what, std::string_view sql,
                           std::string_view name) {
  const auto id = RG_TRY(connection.integer(sql, name));
  if (!id) return fail(Code::kNotFound, fmt::format("{} {}: not found", what, name));
  return *id;
}
Result<std::int64_t> id_of_upgrade(Connection& connection, std::string_view upgrade_id) {
  return id_of(connection, "upgrade", "SELECT id FROM upgrade WHERE upgrade_id=?1", upgrade_id);
}

Status insert_run(Connection& connection, std::int64_t upgrade, std::string_view run_id,
                  bool after) {
  const std::int64_t run =
      RG_TRY(id_of(connection, "run", "SELECT id FROM run WHERE run_id=?1", run_id));
  return connection.execute(
      "INSERT OR REPLACE INTO upgrade_run (upgrade, run, side) VALUES (?1, ?2, ?3)", upgrade, run,
      after ? "after" : "before");
}

std::optional<std::int64_t> or_null(std::int64_t id) {
  return id == 0 ? std::nullopt : std::optional(id);
}

constexpr std::string_view kColumns =
    "SELECT upgrade_id, suite, state, requested_by, created_at, before_is_history, verdict, kind, "
    "reason, coalesce(judged_at, 0), {} FROM upgrade ";

UpgradeRow upgrade_of(const Rows& rows) {
  return {.upgrade_id = rows.text(0),
          .suite = rows.text(1),
          .state = state_of<UpgradeState>(kUpgradeStateTexts, rows.text(2))
                       .value_or(UpgradeState::kPrepared),
          .requested_by = rows.text(3),
          .created_at = rows.real(4),
          .before_is_history = rows.integer(5) != 0,
          .verdict = rows.text(6),
          .kind = rows.text(7),
          .reason = rows.text(8),
          .judged_at = rows.real(9),
          .report = rows.text(10)};
}

// Nodes and runs.
Status complete(Connection& connection, UpgradeRow& upgrade) {
  {
    Rows rows = RG_TRY(connection.query(
        "SELECT node_id, name, role='changed', coalesce(stack_before, 0), coalesce(stack_after, 0) "
        "FROM upgrade_node JOIN upgrade ON upgrade.id=upgrade_node.upgrade JOIN node ON "
        "node.id=upgrade_node.node WHERE upgrade_id=?1 ORDER BY role, name",
        upgrade.upgrade_id));
    while (RG_TRY(rows.next()))
      upgrade.nodes.push_back({.node_id = rows.text(0),
                               .node = rows.text(1),
                               .changed = rows.integer(2) != 0,
                               .stack_before = rows.integer(3),
                               .stack_after = rows.integer(4)});
  }
  Rows rows = RG_TRY(connection.query(
      "SELECT run_id, side='after' FROM upgrade_run JOIN upgrade ON upgrade.id=upgrade_run.upgrade "
      "JOIN run ON run.id=upgrade_run.run WHERE upgrade_id=?1 ORDER BY run.id",
      upgrade.upgrade_id));
  while (RG_TRY(rows.next()))
    upgrade.runs.push_back({.run_id = rows.text(0), .after = rows.integer(1) != 0});
  return {};
}

}  // namespace

Status write_upgrade(Connection& connection, const UpgradeRow& upgrade) {
  if (upgrade.upgrade_id.empty() ||
      RG_TRY(connection.integer("SELECT id FROM upgrade WHERE upgrade_id=?1", upgrade.upgrade_id)))
    return fail(Code::kAlreadyExists,
                fmt::format("upgrade {}: its id is empty or taken", upgrade.upgrade_id));
  RG_TRY_OK(connection.execute(
      "INSERT INTO upgrade (upgrade_id, suite, state, requested_by, created_at, before_is_history, "
      "verdict, kind, reason, report) VALUES (?1, ?2, ?3, ?4, ?5, ?6, '', '', '', '')",
      upgrade.upgrade_id, upgrade.suite, text_of(upgrade.state), upgrade.requested_by,
      upgrade.created_at, upgrade.before_is_history ? 1 : 0));
  const std::int64_t id = connection.last_id();
  for (const UpgradeNodeRow& node : upgrade.nodes) {
    const std::int64_t node_key =
        RG_TRY(id_of(connection, "node", "SELECT id FROM node WHERE node_id=?1", node.node_id));
    RG_TRY_OK(connection.execute(
        "INSERT INTO upgrade_node (upgrade, node, role, stack_before) VALUES (?1, ?2, ?3, ?4)", id,
        node_key, node.changed ? "changed" : "control", or_null(node.stack_before)));
  }
  for (const UpgradeRunRow& run : upgrade.runs)
    RG_TRY_OK(insert_run(connection, id, run.run_id, run.after));
  return {};
}

Status write_upgrade_after(Connection& connection, std::string_view upgrade_id,
                           std::string_view run_id, bool anew) {
  const std::int64_t id = RG_TRY(id_of_upgrade(connection, upgrade_id));
  if (anew)
    RG_TRY_OK(connection.execute("DELETE FROM upgrade_run WHERE upgrade=?1 AND side='after'", id));
  if (!run_id.empty()) RG_TRY_OK(insert_run(connection, id, run_id, true));
  RG_TRY_OK(
      connection.execute("UPDATE upgrade_node SET stack_after=(SELECT stack FROM epoch WHERE "
                         "epoch.node=upgrade_node.node AND valid_to IS NULL) WHERE upgrade=?1",
                         id));
  // The verdict on an earlier after side does not apply to this one.
  return connection.execute(
      "UPDATE upgrade SET state='measuring', verdict='', kind='', reason='', judged_at=NULL, "
      "report='' WHERE id=?1",
      id);
}

Status write_upgrade_verdict(Connection& connection, const UpgradeRow& upgrade) {
  const std::int64_t id = RG_TRY(id_of_upgrade(connection, upgrade.upgrade_id));
  return connection.execute(
      "UPDATE upgrade SET state='judged', verdict=?2, kind=?3, reason=?4, judged_at=?5, report=?6 "
      "WHERE id=?1",
      id, upgrade.verdict, upgrade.kind, upgrade.reason, upgrade.judged_at, upgrade.report);
}

Result<std::vector<UpgradeRow>> read_upgrades(Connection& connection, std::uint32_t limit) {
  std::vector<UpgradeRow> upgrades;
  {
    Rows rows = RG_TRY(connection.query(
        fmt::format(fmt::runtime(kColumns), "''") + "ORDER BY id DESC LIMIT ?1", limit));
    while (RG_TRY(rows.next())) upgrades.push_back(upgrade_of(rows));
  }
  for (UpgradeRow& upgrade : upgrades) RG_TRY_OK(complete(connection, upgrade));
  return upgrades;
}

Result<UpgradeRow> read_upgrade(Connection& connection, std::string_view upgrade_id) {
  UpgradeRow upgrade;
  {
    Rows rows = RG_TRY(connection.query(
        fmt::format(fmt::runtime(kColumns), "report") + "WHERE upgrade_id=?1", upgrade_id));
    if (!RG_TRY(rows.next()))
      return fail(
          Code::kNotFound,
          fmt::format("upgrade {}: there is none; railgauge upgrades lists them", upgrade_id));
    upgrade = upgrade_of(rows);
  }
  RG_TRY_OK(complete(connection, upgrade));
  return upgrade;
}

}  // namespace railgauge::store
