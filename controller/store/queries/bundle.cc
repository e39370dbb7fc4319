#include "controller/store/queries/bundle.h"

#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/queries/pair_matrix.h"
#include "controller/store/queries/queries.h"
#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

constexpr std::uint32_t kMaxRows = 100'000;  // of a part
constexpr int kRunsOfNode = 20;

// ?1 JSON list of runs, ?2 of nodes, ?3 finding or 0, ?4 whether only these nodes' tasks belong.
struct Part {
  std::string_view name;
  std::string_view about;
  std::string_view sql;
};

// The sets of the scope, for the statements below.
constexpr std::string_view kRuns = "(SELECT value FROM json_each(?1))";
constexpr std::string_view kNodes = "(SELECT value FROM json_each(?2))";
constexpr std::string_view kTasks =
    "task JOIN run ON run.id=task.run AND run.id IN {runs} AND (?4=0 OR EXISTS (SELECT 1 FROM "
    "task_rank WHERE task_rank.task=task.id AND task_rank.node IN {nodes})) ";
constexpr std::string_view kFindings =
    "iif(?3>0, finding.id=?3, finding.node IN {nodes} OR finding.run IN {runs})";

constexpr std::array kParts{
    Part{"runs", "the runs; times are UTC",
         "SELECT run_id, suite, trigger, requested_by, state, outcome, reason, nodes, "
         "datetime(created_at, 'unixepoch') AS created_at, datetime(started_at, 'unixepoch') AS "
         "started_at, datetime(ended_at, 'unixepoch') AS ended_at FROM run WHERE id IN {runs} "
         "ORDER BY id"},
    Part{"suites", "what was run, to the letter",
         "SELECT run_id, suite, suite_text FROM run WHERE id IN {runs} ORDER BY id"},
    Part{"tasks", "what was planned, and how it ended",
         "SELECT run_id, task_id, stage, round, kernel, body AS parameters, task.state, "
         "task.outcome, task.reason, attempts, counted_attempt FROM {tasks} JOIN parameter_set ON "
         "parameter_set.id=parameter_set ORDER BY task.id"},
    Part{"ranks",
         "each rank of each attempt: facts (path, clocks, counters before and after), "
         "phases, the tail of the runner's log",
         "SELECT run_id, task_id, attempt.attempt, rank.rank, node_name AS node, "
         "coalesce(nullif(rank.endpoint_text, ''), task_rank.endpoint_text) AS endpoint, "
         "rank.revision, datetime(rank.started_at, 'unixepoch') AS started_at, "
         "datetime(rank.ended_at, 'unixepoch') AS ended_at, rank.outcome, rank.reason, start_ns, "
         "open_ns, wait_ns, exchange_ns, measure_ns, stop_ns, cpu_seconds, max_resident_bytes, "
         "exit_signal, parameters.body AS parameters, facts.body AS facts, stderr_tail FROM "
         "{tasks} JOIN attempt ON attempt.task=task.id JOIN rank ON rank.attempt=attempt.id LEFT "
         "JOIN task_rank ON task_rank.task=task.id AND task_rank.rank=rank.rank LEFT JOIN "
         "parameter_set AS parameters ON parameters.id=rank.parameter_set LEFT JOIN fact_set AS "
         "facts ON facts.id=rank.fact_set ORDER BY rank.id"},
    Part{"rank_notes", "what the ranks found worth telling",
         "SELECT run_id, task_id, attempt.attempt, rank.rank, note.sequence, severity, text FROM "
         "{tasks} JOIN attempt ON attempt.task=task.id JOIN rank ON rank.attempt=attempt.id JOIN "
         "note ON note.rank=rank.id ORDER BY rank.id, note.sequence"},
    Part{"pair_outliers", "pairs of all-pairs matrices that fell out",
         "SELECT run_id, rail, kernel, metric, meaning, message_bytes, unit, "
         "matrix_endpoint(pair_matrix.id, endpoints, from_index) AS from_endpoint, "
         "matrix_endpoint(pair_matrix.id, endpoints, to_index) AS to_endpoint, value, expected "
         "FROM pair_matrix JOIN run ON run.id=pair_matrix.run JOIN pair_outlier ON "
         "matrix=pair_matrix.id WHERE pair_outlier.value IS NOT NULL AND run.id IN {runs} ORDER "
         "BY matrix, from_index, to_index"},
    Part{"nodes", "the nodes as they are now",
         "SELECT node_id, name, version, address, datetime(first_seen_at, 'unixepoch') AS "
         "first_seen_at, datetime(last_seen_at, 'unixepoch') AS last_seen_at, body AS facts FROM "
         "node LEFT JOIN fact_set ON fact_set.id=fact_set WHERE node.id IN {nodes} ORDER BY name"},
    Part{"node_names", "the names that they had",
         "SELECT node.name AS node, node_name.name AS name, datetime(valid_from, 'unixepoch') AS "
         "valid_from FROM node_name JOIN node ON node.id=node_name.node WHERE node.id IN {nodes} "
         "ORDER BY node.name, valid_from"},
    Part{"endpoints", "their ports and GPUs, with the times in which an attribute held",
         "SELECT name AS node, device, endpoint.port, kind, slot, gpu_slot, rail, state, netdev, "
         "guid, model, link_layer, driver, firmware, rate_bits_per_second, active_mtu_bytes, "
         "numa_node_plus_one, datetime(valid_from, 'unixepoch') AS valid_from, datetime(valid_to, "
         "'unixepoch') AS valid_to FROM endpoint JOIN node ON node.id=node JOIN "
         "endpoint_attribute ON endpoint_attribute.endpoint=endpoint.id WHERE node.id IN {nodes} "
         "ORDER BY name, slot, port, valid_from"},
    Part{"stacks", "versions and settings of each node, one row a stretch in which they held",
         "SELECT name AS node, datetime(valid_from, 'unixepoch') AS valid_from, "
         "datetime(valid_to, 'unixepoch') AS valid_to, cause, versions.body AS versions, "
         "settings.body AS settings FROM epoch JOIN node ON node.id=epoch.node JOIN stack ON "
         "stack.id=epoch.stack JOIN fact_set AS versions ON versions.id=stack.versions JOIN "
         "fact_set AS settings ON settings.id=stack.settings WHERE node.id IN {nodes} ORDER BY "
         "name, epoch.valid_from"},
    Part{"stack_changes", "what differs between two stretches that follow each other, key by key",
         "WITH pair AS (SELECT node, valid_from, cause, stack AS present, lag(stack) OVER "
         "(PARTITION BY node ORDER BY valid_from) AS past FROM epoch WHERE node IN {nodes}), fact "
         "AS (SELECT stack.id AS stack, 'version' AS part, key, value FROM stack JOIN fact_set ON "
         "fact_set.id=versions, json_each(body) UNION ALL SELECT stack.id, 'setting', key, value "
         "FROM stack JOIN fact_set ON fact_set.id=settings, json_each(body)) SELECT node.name AS "
         "node, datetime(valid_from, 'unixepoch') AS changed_at, cause, part, key, "
         "max(iif(fact.stack=past, value, NULL)) AS before, max(iif(fact.stack=present, value, "
         "NULL)) AS after FROM pair JOIN node ON node.id=pair.node JOIN fact ON fact.stack IN "
         "(past, present) WHERE past IS NOT NULL GROUP BY pair.node, valid_from, part, key HAVING "
         "before IS NOT after ORDER BY node.name, valid_from, part, key"},
    Part{"events", "what happened to them; stack_changed shows what an upgrade changed",
         "SELECT datetime(at, 'unixepoch') AS at, event.kind, name AS node, run_id, text FROM "
         "event LEFT JOIN node ON node.node_id=event.node_id WHERE (event.node_id<>'' AND "
         "event.node_id IN (SELECT node_id FROM node WHERE id IN {nodes})) OR (event.run_id<>'' "
         "AND event.run_id IN (SELECT run_id FROM run WHERE id IN {runs})) ORDER BY event.id"},
    Part{"preflight", "checks of the nodes, the last ten passes of each",
         "SELECT name AS node, datetime(at, 'unixepoch') AS at, run_id, check_id, subject, "
         "preflight_check.state, observed, why, remedy FROM (SELECT id, row_number() OVER "
         "(PARTITION BY node ORDER BY at DESC) AS age FROM preflight WHERE node IN {nodes}) AS "
         "newest JOIN preflight ON preflight.id=newest.id AND age<=10 JOIN node ON "
         "node.id=preflight.node LEFT JOIN run ON run.id=preflight.run JOIN preflight_check ON "
         "preflight=preflight.id ORDER BY name, preflight.at, number"},
    Part{"findings", "what the analysis reported",
         "SELECT finding_id, finding.kind, finding.state, severity, run_id, name AS node, "
         "suspect, summary, evidence, datetime(opened_at, 'unixepoch') AS opened_at, "
         "datetime(changed_at, 'unixepoch') AS changed_at FROM finding LEFT JOIN run ON "
         "run.id=finding.run LEFT JOIN node ON node.id=finding.node WHERE {findings} ORDER BY "
         "finding.id"},
    Part{"finding_series", "the series that moved, in their own units",
         "SELECT finding_id, series, kernel, metric, meaning, message_bytes, unit, before, after "
         "FROM finding JOIN finding_series ON finding=finding.id JOIN series ON series.id=series "
         "WHERE {findings} ORDER BY finding.id, series"},
    Part{"finding_steps", "acknowledgements and all else that was done about findings",
         "SELECT finding_id, number, datetime(at, 'unixepoch') AS at, who, action, text FROM "
         "finding JOIN finding_step ON finding=finding.id WHERE {findings} ORDER BY finding.id, "
         "number"},
    Part{"operator_notes", "what people wrote down",
         "SELECT datetime(at, 'unixepoch') AS at, who, subject_kind, subject, text FROM "
         "operator_note WHERE subject_kind='fabric' OR (subject_kind='node' AND subject IN "
         "(SELECT name FROM node WHERE id IN {nodes} UNION ALL SELECT node_id FROM node WHERE id "
         "IN {nodes})) OR (subject_kind='run' AND subject IN (SELECT run_id FROM run WHERE id IN "
         "{runs})) ORDER BY id"},
    Part{kKnownNames, "names of all nodes and people; not written, to be recognized in texts",
         "SELECT name, NULL AS person FROM node_name UNION SELECT NULL, requested_by FROM run "
         "UNION SELECT NULL, cancelled_by FROM run WHERE cancelled_by <> '' UNION SELECT NULL, "
         "requested_by FROM upgrade UNION SELECT NULL, who FROM finding_step UNION SELECT NULL, "
         "who FROM operator_note UNION SELECT NULL, who FROM baseline UNION SELECT NULL, "
         "created_by FROM schedule ORDER BY 1, 2"},
};

struct Scope {
  std::string kind{};
  std::vector<std::int64_t> runs{};
  std::vector<std::int64_t> nodes{};
  std::int64_t finding = 0;
  std::string run_id{};
  std::string node{};
};

Result<std::vector<std::int64_t>> nodes_of_run(Connection& connection, std::int64_t run) {
  return connection.column<std::int64_t>(
      "SELECT DISTINCT node FROM task CROSS JOIN task_rank ON task_rank.task=task.id WHERE "
      "run=?1 ORDER BY node",
      run);
}

// The newest ones.
Result<std::vector<std::int64_t>> runs_of_node(Connection& connection, std::int64_t node) {
  return connection.column<std::int64_t>(
      fmt::format("SELECT id FROM run WHERE EXISTS (SELECT 1 FROM json_each(nodes) WHERE "
                  "value IN (SELECT name FROM node_name WHERE node=?1)) ORDER BY id DESC "
                  "LIMIT {}",
                  kRunsOfNode),
      node);
}

Result<std::string> text_of(Connection& connection, std::string_view sql, std::int64_t id) {
  std::string text;
  RG_TRY_OK(connection.row(std::tie(text), sql, id));
  return text;
}

Result<std::optional<Scope>> scope_of_run(Connection& connection, std::string_view subject) {
  const auto run = RG_TRY(connection.integer("SELECT id FROM run WHERE run_id=?1", subject));
  if (!run) return std::nullopt;
  return Scope{.kind = "run",
               .runs = {*run},
               .nodes = RG_TRY(nodes_of_run(connection, *run)),
               .run_id = std::string(subject)};
}

Result<std::optional<Scope>> scope_of_finding(Connection& connection, std::string_view subject) {
  Scope scope{.kind = "finding"};
  std::optional<std::int64_t> run;
  std::optional<std::int64_t> node;
  if (!RG_TRY(connection.row(std::tie(scope.finding, run, node),
                             "SELECT id, run, node FROM finding WHERE finding_id=?1", subject)))
    return std::nullopt;
  if (run) scope.runs.push_back(*run);
  if (node) scope.nodes.push_back(*node);
  if (!scope.runs.empty())
    scope.run_id = RG_TRY(text_of(connection, "SELECT run_id FROM run WHERE id=?1", scope.runs[0]));
  if (!scope.nodes.empty())
    scope.node = RG_TRY(text_of(connection, "SELECT name FROM node WHERE id=?1", scope.nodes[0]));
  else if (!scope.runs.empty())
    scope.nodes = RG_TRY(nodes_of_run(connection, scope.runs[0]));
  if (scope.runs.empty() && !scope.nodes.empty())
    scope.runs = RG_TRY(runs_of_node(connection, scope.nodes[0]));
  return scope;
}

// With the newest runs that had it.
Result<std::optional<Scope>> scope_of_node(Connection& connection, std::string_view subject) {
  const auto node = RG_TRY(connection.integer(
      "SELECT id FROM node WHERE node_id=?1 OR name=?1 ORDER BY last_seen_at DESC LIMIT 1",
      subject));
  if (!node) return std::nullopt;
  return Scope{.kind = "node",
               .runs = RG_TRY(runs_of_node(connection, *node)),
               .nodes = {*node},
               .node = RG_TRY(text_of(connection, "SELECT name FROM node WHERE id=?1", *node))};
}

Result<Scope> scope_of(Connection& connection, std::string_view subject) {
  for (auto* find : {scope_of_run, scope_of_finding, scope_of_node}) {
    auto scope = RG_TRY(find(connection, subject));
    if (scope) return std::move(*scope);
  }
  return fail(Code::kNotFound,
              fmt::format("{}: no run, finding or node has this id or name", subject));
}

std::string statement_of(const Part& part) {
  const auto with_sets = [](std::string_view text, std::string_view tasks,
                            std::string_view findings) {
    return fmt::format(fmt::runtime(text), fmt::arg("runs", kRuns), fmt::arg("nodes", kNodes),
                       fmt::arg("tasks", tasks), fmt::arg("findings", findings));
  };
  const std::string sql =
      with_sets(part.sql, with_sets(kTasks, "", ""), with_sets(kFindings, "", ""));
  // All four values are bound, so all of them have to stand in the text.
  return fmt::format("SELECT * FROM ({}) WHERE ?1 IS ?1 AND ?2 IS ?2 AND ?3 IS ?3 AND ?4 IS ?4",
                     sql);
}

}  // namespace

Result<BundlePartRow> read_bundle_part(Connection& connection, std::string_view subject,
                                       std::size_t part) {
  if (part >= kParts.size())
    return fail(Code::kNotFound, fmt::format("{}: a bundle has {} parts", subject, kParts.size()));
  const Scope scope = RG_TRY(scope_of(connection, subject));
  const Part& wanted = kParts.at(part);
  RG_TRY_OK(add_matrix_endpoint(connection));
  Rows rows =
      RG_TRY(connection.query(statement_of(wanted), fmt::format("[{}]", fmt::join(scope.runs, ",")),
                              fmt::format("[{}]", fmt::join(scope.nodes, ",")), scope.finding,
                              scope.kind == "run" || scope.node.empty() ? 0 : 1));
  return BundlePartRow{.kind = scope.kind,
                       .run_id = scope.run_id,
                       .node = scope.node,
                       .name = std::string(wanted.name),
                       .about = std::string(wanted.about),
                       .table = RG_TRY(read_table(rows, kMaxRows)),
                       .last = part + 1 == kParts.size()};
}

}  // namespace railgauge::store
