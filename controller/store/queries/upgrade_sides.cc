// Reads the two sides of an upgrade: stacks, endpoints, figures and outcomes.
#include <algorithm>

#include <fmt/format.h>

#include "controller/store/ingest/record_sink.h"
#include "controller/store/queries/upgrades.h"
#include "controller/store/rows/text_json.h"
#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

// A task of the named nodes alone; ?2 is their ids as JSON, "[]" any.
constexpr std::string_view kOfTheseNodes =
    " AND (?2='[]' OR NOT EXISTS (SELECT 1 FROM task_rank AS other WHERE other.task=task.id AND "
    "other.node NOT IN (SELECT id FROM node WHERE node_id IN (SELECT value FROM "
    "json_each(?2)))))";

// The present name of a placement's endpoint: an upgrade may rename devices, and the place is the
// same. A port with a GPU has its names where the port and the GPU have them.
constexpr std::string_view kPresentNames =
    "LEFT JOIN endpoint AS used ON used.id=task_rank.endpoint LEFT JOIN endpoint AS plain ON "
    "plain.node=used.node AND plain.slot=used.slot AND plain.port=used.port AND plain.gpu_slot='' "
    "LEFT JOIN endpoint_attribute AS named ON named.endpoint=plain.id AND named.valid_to IS NULL "
    "LEFT JOIN endpoint AS gpu ON used.gpu_slot<>'' AND gpu.node=used.node AND "
    "gpu.slot=used.gpu_slot AND gpu.port=0 AND gpu.gpu_slot='' LEFT JOIN endpoint_attribute AS "
    "gpu_named ON gpu_named.endpoint=gpu.id AND gpu_named.valid_to IS NULL";

// The path of one rank from its facts: its own path, that of the other end where it differs, how
// MPI reads the GPU's memory, and the transport.
constexpr std::string_view kPathOfFacts =
    "coalesce(json_extract(body, '$.path'), '') || coalesce(' to ' || "
    "nullif(json_extract(body, '$.peer_path'), json_extract(body, '$.path')), '') || "
    "coalesce('gpu ' || json_extract(body, '$.gpu_path'), '') || "
    "coalesce(' ' || json_extract(body, '$.transport'), '')";

// "rxe0:1", "gpu0", "mlx5_0:1+gpu0"; the planned name where no report has one.
std::string present_name(const std::string& planned, const std::string& device, std::int64_t port,
                         const std::string& gpu) {
  if (device.empty()) return planned;
  return device + (port > 0 ? fmt::format(":{}", port) : "") + (gpu.empty() ? "" : "+" + gpu);
}

}  // namespace

Result<StackParts> read_stack_parts(Connection& connection, std::int64_t stack) {
  std::string versions;
  std::string settings;
  {
    Rows rows =
        RG_TRY(connection.query("SELECT v.body, s.body FROM stack JOIN fact_set AS v ON "
                                "v.id=versions JOIN fact_set AS s ON "
                                "s.id=settings WHERE stack.id=?1",
                                stack));
    if (!RG_TRY(rows.next()))
      return fail(Code::kNotFound, fmt::format("stack {}: there is none", stack));
    versions = rows.text(0);
    settings = rows.text(1);
  }
  StackParts parts;
  parts.versions = RG_TRY(read_map(connection, versions));
  parts.settings = RG_TRY(read_map(connection, settings));
  return parts;
}

Result<std::string> read_suite_text(Connection& connection, std::string_view run_id) {
  Rows rows = RG_TRY(connection.query("SELECT suite_text FROM run WHERE run_id=?1", run_id));
  if (!RG_TRY(rows.next()))
    return fail(Code::kNotFound, fmt::format("run {}: there is none", run_id));
  return rows.text(0);
}

Result<std::vector<EpochRow>> read_epochs(Connection& connection, std::string_view node_id,
                                          std::uint32_t limit) {
  const auto node = RG_TRY(connection.integer("SELECT id FROM node WHERE node_id=?1", node_id));
  if (!node) return fail(Code::kNotFound, fmt::format("node {}: there is none", node_id));
  std::vector<EpochRow> epochs;
  std::vector<std::pair<std::string, std::string>> bodies;
  {
    Rows rows = RG_TRY(connection.query(
        "SELECT stack.id, valid_from, valid_to, cause, v.body, s.body FROM epoch JOIN stack ON "
        "stack.id=epoch.stack JOIN fact_set AS v ON v.id=versions JOIN fact_set AS s ON "
        "s.id=settings WHERE node=?1 ORDER BY valid_from DESC LIMIT ?2",
        *node, limit));
    while (RG_TRY(rows.next())) {
      epochs.push_back({.stack = rows.integer(0),
                        .valid_from = rows.real(1),
                        .valid_to = rows.optional_real(2),
                        .cause = rows.text(3)});
      bodies.emplace_back(rows.text(4), rows.text(5));
    }
  }
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    epochs[i].parts.versions = RG_TRY(read_map(connection, bodies[i].first));
    epochs[i].parts.settings = RG_TRY(read_map(connection, bodies[i].second));
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
    row.node = rows.text(0);
    row.endpoint = rows.text(1);
    if (rows.integer(2) > 0) row.endpoint += fmt::format(":{}", rows.integer(2));
    row.state = rows.text(3);
    row.gone = rows.integer(4) != 0;
  }
  return states;
}

Result<std::vector<std::string>> read_runs_of_nodes(Connection& connection,
                                                    const std::vector<std::string>& node_ids,
                                                    double from, double until,
                                                    std::uint32_t limit) {
  std::vector<std::string> ids;
  Rows rows = RG_TRY(connection.query(
      "SELECT run_id FROM run WHERE created_at>=?2 AND coalesce(ended_at, created_at)<?3 AND "
      "state='ended' AND EXISTS "
      "(SELECT 1 FROM task JOIN task_rank ON task_rank.task=task.id JOIN node ON "
      "node.id=task_rank.node WHERE task.run=run.id AND node_id IN (SELECT value FROM "
      "json_each(?1))) ORDER BY created_at DESC, id DESC LIMIT ?4",
      json_of(node_ids), from, until, limit));
  while (RG_TRY(rows.next())) ids.push_back(rows.text(0));
  std::ranges::reverse(ids);
  return ids;
}

Result<std::vector<SidePointRow>> read_side_points(Connection& connection,
                                                   const std::vector<std::string>& run_ids,
                                                   const std::vector<std::string>& node_ids) {
  std::vector<SidePointRow> points;
  Rows rows = RG_TRY(connection.query(
      "SELECT run_id, point.series, measured_at, point.median, p99, distribution.p999, flags, "
      "distribution.p90, task.task_id GLOB 'a*', rank.id FROM "
      "run CROSS JOIN task ON task.run=run.id CROSS JOIN attempt ON attempt.task=task.id AND "
      "attempt.attempt=counted_attempt AND attempt.outcome='passed' CROSS JOIN rank ON "
      "rank.attempt=attempt.id CROSS JOIN point ON point.id BETWEEN rank.id << 20 AND (rank.id << "
      "20) + 1048575 LEFT JOIN distribution ON distribution.point=point.id WHERE run_id IN "
      "(SELECT value FROM json_each(?1))" +
          std::string(kOfTheseNodes) + " ORDER BY point.series, measured_at, point.id",
      json_of(run_ids), json_of(node_ids)));
  while (RG_TRY(rows.next()))
    points.push_back({.run_id = rows.text(0),
                      .series = rows.integer(1),
                      .measured_at = rows.real(2),
                      .median = rows.real(3),
                      .p90 = rows.optional_real(7),
                      .p99 = rows.optional_real(4),
                      .p999 = rows.optional_real(5),
                      .synthetic = (rows.integer(6) & kFlagSynthetic) != 0,
                      .launch = rows.integer(9),
                      .again = rows.integer(8) != 0});
  return points;
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
          std::string(kPresentNames) + " WHERE run_id IN (SELECT value FROM json_each(?1))" +
          std::string(kOfTheseNodes) + " ORDER BY task.id, task_rank.rank",
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
