#include "controller/store/queries/upgrades.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/store/queries/queries.h"
#include "controller/store/rows/point_flags.h"
#include "controller/store/rows/text_json.h"
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

// The present row, with its nodes and runs.
Result<UpgradeRow> upgrade_of(Connection& connection, const Rows& rows) {
  UpgradeRow upgrade;
  rows.read(upgrade.upgrade_id, upgrade.suite, upgrade.state, upgrade.requested_by,
            upgrade.created_at, upgrade.before_is_history, upgrade.verdict, upgrade.kind,
            upgrade.reason, upgrade.judged_at, upgrade.report);
  RG_TRY_OK(rows.check_states());
  using Node = UpgradeNodeRow;
  upgrade.nodes = RG_TRY(connection.list(
      Columns{&Node::node_id, &Node::node, &Node::changed, &Node::stack_before, &Node::stack_after},
      "SELECT node_id, name, role='changed', coalesce(stack_before, 0), coalesce(stack_after, 0) "
      "FROM upgrade_node JOIN upgrade ON upgrade.id=upgrade_node.upgrade JOIN node ON "
      "node.id=upgrade_node.node WHERE upgrade_id=?1 ORDER BY role, name",
      upgrade.upgrade_id));
  upgrade.runs = RG_TRY(connection.list(
      Columns{&UpgradeRunRow::run_id, &UpgradeRunRow::after},
      "SELECT run_id, side='after' FROM upgrade_run JOIN upgrade ON upgrade.id=upgrade_run.upgrade "
      "JOIN run ON run.id=upgrade_run.run WHERE upgrade_id=?1 ORDER BY run.id",
      upgrade.upgrade_id));
  return upgrade;
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
      upgrade.upgrade_id, upgrade.suite, upgrade.state, upgrade.requested_by, upgrade.created_at,
      upgrade.before_is_history ? 1 : 0));
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

Status write_upgrade_after_on(Connection& connection, std::string_view upgrade_id,
                              std::string_view run_id, bool anew, const std::string& terms) {
  RG_TRY_OK(write_upgrade_after(connection, upgrade_id, run_id, anew));
  return write_upgrade_terms(connection, upgrade_id, terms);
}

Status write_upgrade_terms(Connection& connection, std::string_view upgrade_id,
                           const std::string& terms) {
  const std::int64_t id = RG_TRY(id_of_upgrade(connection, upgrade_id));
  return connection.execute("UPDATE upgrade SET report=?2 WHERE id=?1 AND state='measuring'", id,
                            terms);
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
  Rows rows = RG_TRY(connection.query(
      fmt::format(fmt::runtime(kColumns), "''") + "ORDER BY id DESC LIMIT ?1", limit));
  while (RG_TRY(rows.next())) upgrades.push_back(RG_TRY(upgrade_of(connection, rows)));
  return upgrades;
}

Result<UpgradeRow> read_upgrade(Connection& connection, std::string_view upgrade_id) {
  Rows rows = RG_TRY(connection.query(
      fmt::format(fmt::runtime(kColumns), "report") + "WHERE upgrade_id=?1", upgrade_id));
  if (RG_TRY(rows.next())) return upgrade_of(connection, rows);
  return fail(Code::kNotFound,
              fmt::format("upgrade {}: not found; railgauge upgrades lists them", upgrade_id));
}

// --- the two sides: stacks, endpoints, figures and outcomes ---

namespace {

// A task of the named nodes alone; ?2 is their ids as JSON, "[]" any.
constexpr std::string_view kOfTheseNodes =
    " AND (?2='[]' OR NOT EXISTS (SELECT 1 FROM task_rank AS other WHERE other.task=task.id AND "
    "other.node NOT IN (SELECT id FROM node WHERE node_id IN (SELECT value FROM "
    "json_each(?2)))))";

// The path of one rank from its facts: its own path, that of the other end where it differs, how
// MPI was asked to read the GPU's memory (gpu_path in older records), and the transport.
constexpr std::string_view kPathOfFacts =
    "coalesce(json_extract(body, '$.path'), '') || coalesce(' to ' || "
    "nullif(json_extract(body, '$.peer_path'), json_extract(body, '$.path')), '') || "
    "coalesce('gpu ' || coalesce(json_extract(body, '$.gpu_path_configured'), json_extract(body, "
    "'$.gpu_path')), '') || "
    "coalesce(' ' || json_extract(body, '$.transport'), '')";

// "rxe0:1", "gpu0", "mlx5_0:1+gpu0"; the planned name where no report has one.
std::string present_name(const std::string& planned, const std::string& device, std::int64_t port,
                         const std::string& gpu) {
  if (device.empty()) return planned;
  return device + (port > 0 ? fmt::format(":{}", port) : "") + (gpu.empty() ? "" : "+" + gpu);
}

}  // namespace

Result<StackParts> read_stack_parts(Connection& connection, std::int64_t stack) {
  StackBodies bodies;
  if (!RG_TRY(connection.row(
          std::tie(bodies.versions, bodies.settings),
          "SELECT v.body, s.body FROM stack JOIN fact_set AS v ON v.id=versions JOIN fact_set AS s "
          "ON s.id=settings WHERE stack.id=?1",
          stack)))
    return fail(Code::kNotFound, fmt::format("stack {}: not found", stack));
  return read_parts(connection, bodies);
}

Result<std::string> read_suite_text(Connection& connection, std::string_view run_id) {
  std::string text;
  if (!RG_TRY(connection.row(std::tie(text), "SELECT suite_text FROM run WHERE run_id=?1", run_id)))
    return fail(Code::kNotFound, fmt::format("run {}: not found", run_id));
  return text;
}

// By the nodes, whose index is small; the first epoch of a node is no change.
Result<std::set<std::string>> read_changed_nodes(Connection& connection, double since) {
  std::set<std::string> ids;
  Rows rows = RG_TRY(connection.query(
      "SELECT node_id FROM node WHERE (SELECT valid_from FROM epoch WHERE epoch.node=node.id ORDER "
      "BY valid_from DESC LIMIT 1)>=?1 AND (SELECT count(*) FROM epoch WHERE "
      "epoch.node=node.id)>1",
      since));
  while (RG_TRY(rows.next())) {
    std::string id;
    rows.read(id);
    ids.insert(std::move(id));
  }
  return ids;
}

Result<std::vector<EpochRow>> read_epochs(Connection& connection, std::string_view node_id,
                                          std::uint32_t limit) {
  const auto node = RG_TRY(connection.integer("SELECT id FROM node WHERE node_id=?1", node_id));
  if (!node) return fail(Code::kNotFound, fmt::format("node {}: not found", node_id));
  std::vector<EpochRow> epochs;
  Rows rows = RG_TRY(connection.query(
      "SELECT stack.id, valid_from, valid_to, cause, v.body, s.body FROM epoch JOIN stack ON "
      "stack.id=epoch.stack JOIN fact_set AS v ON v.id=versions JOIN fact_set AS s ON "
      "s.id=settings WHERE node=?1 ORDER BY valid_from DESC LIMIT ?2",
      *node, limit));
  while (RG_TRY(rows.next())) {
    EpochRow& epoch = epochs.emplace_back();
    StackBodies bodies;
    rows.read(epoch.stack, epoch.valid_from, epoch.valid_to, epoch.cause, bodies.versions,
              bodies.settings);
    epoch.parts = RG_TRY(read_parts(connection, bodies));
  }
  return epochs;
}

Result<std::vector<EndpointStateRow>> read_endpoint_states(
    Connection& connection, const std::vector<std::string>& node_ids) {
  std::vector<EndpointStateRow> states;
  Rows rows = RG_TRY(connection.query(
      "SELECT node.name, device, port, state, endpoint.last_seen_at < node.last_seen_at FROM node "
      "JOIN endpoint ON endpoint.node=node.id AND gpu_slot='' AND kind<>'host' JOIN "
      "endpoint_attribute ON endpoint_attribute.endpoint=endpoint.id AND valid_to IS NULL WHERE "
      "node_id IN (SELECT value FROM json_each(?1)) ORDER BY node.name, device, port",
      json_of(node_ids)));
  while (RG_TRY(rows.next())) {
    EndpointStateRow& row = states.emplace_back();
    std::int64_t port = 0;
    rows.read(row.node, row.endpoint, port, row.state, row.gone);
    if (port > 0) row.endpoint += fmt::format(":{}", port);
  }
  return states;
}

Result<std::vector<std::string>> read_runs_of_nodes(Connection& connection,
                                                    const std::vector<std::string>& node_ids,
                                                    double from, double until,
                                                    std::uint32_t limit) {
  std::vector<std::string> ids = RG_TRY(connection.column<std::string>(
      "SELECT run_id FROM run WHERE created_at>=?2 AND coalesce(ended_at, created_at)<?3 AND "
      "state='ended' AND EXISTS "
      "(SELECT 1 FROM task JOIN task_rank ON task_rank.task=task.id JOIN node ON "
      "node.id=task_rank.node WHERE task.run=run.id AND node_id IN (SELECT value FROM "
      "json_each(?1))) ORDER BY created_at DESC, id DESC LIMIT ?4",
      json_of(node_ids), from, until, limit));
  std::ranges::reverse(ids);
  return ids;
}

Result<std::vector<SidePointRow>> read_side_points(Connection& connection,
                                                   const std::vector<std::string>& run_ids,
                                                   const std::vector<std::string>& node_ids) {
  using Row = SidePointRow;
  return connection.list(
      Columns{&Row::run_id, &Row::series, &Row::measured_at, &Row::headline, &Row::mean, &Row::p90,
              &Row::p99, &Row::p999, &Row::slot_p10, &Row::slot_p1, &Row::pause_share,
              &Row::synthetic, &Row::launch, &Row::again, &Row::brief},
      "SELECT run_id, point.series, measured_at, point.headline, coalesce(distribution.mean, "
      "tail.mean, 0), coalesce(distribution.p90, tail.p90), p99, coalesce(distribution.p999, "
      "tail.p999), slot_p10, coalesce(distribution.slot_p1, tail.slot_p1), pause_share, flags & "
      "?3, "
      "rank.id, task.task_id GLOB "
      "'a*', flags & ?4 FROM "
      "run CROSS JOIN task ON task.run=run.id CROSS JOIN attempt ON attempt.task=task.id AND "
      "attempt.attempt=counted_attempt AND attempt.outcome='passed' CROSS JOIN rank ON "
      "rank.attempt=attempt.id CROSS JOIN point ON point.id BETWEEN rank.id << 20 AND (rank.id << "
      "20) + 1048575 LEFT JOIN distribution ON distribution.point=point.id LEFT JOIN point_tail AS "
      "tail ON tail.point=point.id WHERE run_id IN "
      "(SELECT value FROM json_each(?1))" +
          std::string(kOfTheseNodes) + " ORDER BY point.series, measured_at, point.id",
      json_of(run_ids), json_of(node_ids), kFlagSynthetic, kFlagBrief);
}

Result<std::vector<SideTaskRow>> read_side_tasks(Connection& connection,
                                                 const std::vector<std::string>& run_ids,
                                                 const std::vector<std::string>& node_ids) {
  std::vector<SideTaskRow> tasks;
  std::int64_t present = 0;
  Rows rows = RG_TRY(connection.query(
      "SELECT task.id, run_id, kernel, parameter_set.body, coalesce(nullif(attempt.outcome, ''), "
      "task.outcome), coalesce(nullif(attempt.reason, ''), nullif(task.reason, ''), "
      "(SELECT reason FROM rank WHERE rank.attempt=attempt.id AND reason<>'' ORDER BY rank.rank "
      "LIMIT 1), ''), node.name, task_rank.endpoint_text, "
      "(SELECT " +
          std::string(kPathOfFacts) +
          " FROM rank JOIN fact_set ON fact_set.id=rank.fact_set WHERE "
          "rank.attempt=attempt.id ORDER BY rank.rank LIMIT 1), coalesce(named.device, ''), "
          "coalesce(used.port, 0), coalesce(gpu_named.device, '') FROM run CROSS JOIN task ON "
          "task.run=run.id CROSS JOIN parameter_set ON parameter_set.id=task.parameter_set CROSS "
          "JOIN "
          "task_rank ON task_rank.task=task.id CROSS JOIN node ON node.id=task_rank.node LEFT JOIN "
          "attempt ON attempt.task=task.id AND attempt.attempt=counted_attempt " +
          "LEFT JOIN endpoint AS used ON used.id=task_rank.endpoint " + std::string(kPresentNames) +
          " WHERE run_id IN (SELECT value FROM json_each(?1))" + std::string(kOfTheseNodes) +
          " ORDER BY task.id, task_rank.rank",
      json_of(run_ids), json_of(node_ids)));
  while (RG_TRY(rows.next())) {
    if (tasks.empty() || rows.integer(0) != present) {
      present = rows.integer(0);
      tasks.push_back({.run_id = rows.text(1),
                       .kernel = rows.text(2),
                       .parameters = rows.text(3),
                       .outcome = rows.text(4),
                       .reason = rows.text(5),
                       .path = rows.is_null(8) ? "" : rows.text(8)});
    }
    tasks.back().nodes.push_back(rows.text(6));
    tasks.back().endpoints.push_back(
        present_name(rows.text(7), rows.text(9), rows.integer(10), rows.text(11)));
  }
  return tasks;
}

}  // namespace railgauge::store
