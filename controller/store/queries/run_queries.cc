// Queries about runs, nodes and events.
#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "controller/store/queries/events.h"
#include "controller/store/queries/queries.h"
#include "controller/store/queries/upgrades.h"
#include "controller/store/rows/text_json.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/base/severity.h"

namespace railgauge::store {
namespace {

constexpr std::string_view kRunColumns =
    "SELECT run.id, run_id, suite, trigger, requested_by, state, outcome, reason, nodes, "
    "created_at, started_at, ended_at, parent_run_id, coalesce(judged_at, 0), findings_new, "
    "findings_confirmed FROM run ";

tl::unexpected<Error> no_run(std::string_view run_id) {
  return fail(Code::kNotFound, fmt::format("run {}: there is no such run", run_id));
}

Status count_tasks(Connection& connection, std::int64_t run, RunSummaryRow& summary) {
  const auto total =
      RG_TRY(connection.integer("SELECT count(*) FROM task WHERE run=?1", run)).value_or(0);
  summary.tasks_total = static_cast<std::uint32_t>(total);
  // Passed tasks have no index of their own: they are the remainder.
  std::uint32_t rest = summary.tasks_total;
  Rows rows = RG_TRY(connection.query(
      "SELECT state='ended', outcome, count(*) FROM task WHERE run=?1 AND NOT (state='ended' AND "
      "outcome='passed') GROUP BY 1, 2",
      run));
  while (RG_TRY(rows.next())) {
    rest -= rows.small(2);
    if (rows.integer(0) == 0) continue;
    summary.tasks_ended += rows.small(2);
    summary.outcomes[rows.text(1)] += rows.small(2);
  }
  if (rest > 0) {
    summary.tasks_ended += rest;
    summary.outcomes[std::string(kPassed)] += rest;
  }
  Rows unmade = RG_TRY(connection.query(
      "SELECT outcome, sum(tasks) FROM task_rest WHERE run=?1 GROUP BY outcome", run));
  while (RG_TRY(unmade.next())) {
    const std::uint32_t tasks = unmade.small(1);
    summary.tasks_total += tasks;
    if (unmade.text(0).empty()) continue;
    summary.tasks_ended += tasks;
    summary.outcomes[unmade.text(0)] += tasks;
  }
  return {};
}

// The present row, with the fields that other statements read.
Result<RunSummaryRow> run_of(Connection& connection, const Rows& rows) {
  std::int64_t id = 0;
  std::string nodes;
  RunSummaryRow summary;
  RunRow& run = summary.run;
  rows.read(id, run.run_id, run.suite, run.trigger, run.requested_by, run.state, run.outcome,
            run.reason, nodes, run.created_at, run.started_at, run.ended_at, run.parent_run_id,
            run.judged_at, run.findings_new, run.findings_confirmed);
  RG_TRY_OK(rows.check_states());
  run.nodes = RG_TRY(read_list(connection, nodes));
  RG_TRY_OK(count_tasks(connection, id, summary));
  return summary;
}

struct Task {
  std::int64_t id = 0;
  TaskDetailRow detail{};
  std::int64_t parameters = 0;
  std::string identity{};
};

// Keys of tasks.
struct TaskRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t limit = -1;  // -1: none
};

// In the order of the plan. A round's tasks are written in one transaction; few others lie between
// those of a run.
Result<std::vector<Task>> read_tasks(Connection& connection, std::int64_t run,
                                     const TaskRange& range) {
  std::vector<Task> tasks;
  Rows rows = RG_TRY(connection.query(
      "SELECT task.id, task_id, stage, round, kernel, parameter_set, identity_parameters, "
      "deadline_seconds, expected_seconds, expected_bytes, state, outcome, reason, attempts, "
      "coalesce(nullif(counted_attempt, 0), "
      "(SELECT max(attempt) FROM attempt WHERE attempt.task=task.id), 0) "
      "FROM task NOT INDEXED WHERE run=?1 AND task.id BETWEEN ?2 AND ?3 ORDER BY task.id LIMIT ?4",
      run, range.first, range.last, range.limit));
  while (RG_TRY(rows.next())) {
    Task& task = tasks.emplace_back();
    TaskRow& row = task.detail.task;
    rows.read(task.id, row.task_id, row.stage, row.round, row.kernel, task.parameters,
              task.identity, row.deadline_seconds, row.expected_seconds, row.expected_bytes,
              row.state, row.outcome, row.reason, row.attempts, task.detail.counted_attempt);
  }
  return tasks;
}

void set(Phases& phases, void (Phases::*setter)(double), std::optional<double> value) {
  if (value) (phases.*setter)(*value);
}

// Columns as read_ranks selects them.
Final final_of(const Rows& rows) {
  Final end;
  end.set_outcome(rows.text(6));
  end.set_reason(rows.text(7));
  Phases& phases = *end.mutable_phases();
  set(phases, &Phases::set_start_ns, rows.optional_real(8));
  set(phases, &Phases::set_open_ns, rows.optional_real(9));
  set(phases, &Phases::set_wait_ns, rows.optional_real(10));
  set(phases, &Phases::set_exchange_ns, rows.optional_real(11));
  set(phases, &Phases::set_measure_ns, rows.optional_real(12));
  set(phases, &Phases::set_stop_ns, rows.optional_real(13));
  if (const auto seconds = rows.optional_real(14)) end.set_cpu_seconds(*seconds);
  if (const auto bytes = rows.optional_real(15)) end.set_max_resident_bytes(*bytes);
  if (!rows.is_null(16)) end.set_exit_signal(static_cast<std::int32_t>(rows.integer(16)));
  end.set_stderr_tail(rows.text(17));
  return end;
}

Result<std::vector<Note>> read_notes(Connection& connection, std::int64_t rank) {
  std::vector<Note> notes;
  Rows rows = RG_TRY(
      connection.query("SELECT severity, text FROM note WHERE rank=?1 ORDER BY sequence", rank));
  while (RG_TRY(rows.next())) {
    Note& note = notes.emplace_back();
    note.set_severity(std::string(severity::present(rows.text(0))));
    note.set_text(rows.text(1));
  }
  return notes;
}

// The placement, with what the ranks of the counted attempt reported.
Status read_ranks(Connection& connection, TextSets& sets, Task& task) {
  Rows rows = RG_TRY(connection.query(
      "SELECT task_rank.rank, task_rank.node_name, node.node_id, task_rank.endpoint_text, rank.id, "
      "rank.endpoint_text, rank.outcome, rank.reason, start_ns, open_ns, wait_ns, exchange_ns, "
      "measure_ns, stop_ns, cpu_seconds, max_resident_bytes, exit_signal, stderr_tail, "
      "rank.fact_set "
      "FROM task_rank JOIN node ON node.id=task_rank.node "
      "LEFT JOIN attempt ON attempt.task=task_rank.task AND attempt.attempt=?2 "
      "LEFT JOIN rank ON rank.attempt=attempt.id AND rank.rank=task_rank.rank "
      "WHERE task_rank.task=?1 ORDER BY task_rank.rank",
      task.id, task.detail.counted_attempt));
  while (RG_TRY(rows.next())) {
    RankDetailRow& detail = task.detail.ranks.emplace_back();
    detail.rank = rows.small(0);
    detail.node = rows.text(1);
    const std::string opened = rows.text(5);
    detail.endpoint = opened.empty() ? rows.text(3) : opened;
    if (!rows.is_null(6)) detail.final_record = final_of(rows);
    task.detail.task.ranks.push_back(
        {.node_id = rows.text(2), .node = detail.node, .endpoint = rows.text(3)});
    detail.facts = *RG_TRY(sets.facts(rows.integer(18)));
    if (!rows.is_null(4)) detail.notes = RG_TRY(read_notes(connection, rows.integer(4)));
  }
  return {};
}

}  // namespace

Result<std::vector<RunSummaryRow>> read_runs(Connection& connection, std::uint32_t limit) {
  std::vector<RunSummaryRow> runs;
  Rows rows =
      RG_TRY(connection.query(std::string(kRunColumns) + "ORDER BY run.id DESC LIMIT ?1", limit));
  while (RG_TRY(rows.next())) runs.push_back(RG_TRY(run_of(connection, rows)));
  return runs;
}

Result<std::int64_t> id_of_run(Connection& connection, std::string_view run_id) {
  const auto id = RG_TRY(connection.integer("SELECT id FROM run WHERE run_id=?1", run_id));
  if (!id) return no_run(run_id);
  return *id;
}

Result<bool> is_cut_short(Connection& connection, std::string_view run_id) {
  return RG_TRY(connection.integer(
             "SELECT EXISTS (SELECT 1 FROM task JOIN attempt ON attempt.task=task.id WHERE "
             "task.run=(SELECT id FROM run WHERE run_id=?1) AND attempt.reason=?2)",
             run_id, kControllerRestarted)) != 0;
}

Result<RunSummaryRow> read_run(Connection& connection, std::string_view run_id) {
  Rows rows = RG_TRY(connection.query(std::string(kRunColumns) + "WHERE run_id=?1", run_id));
  if (!RG_TRY(rows.next())) return no_run(run_id);
  return run_of(connection, rows);
}

namespace {

Result<TaskRange> tasks_of(Connection& connection, std::int64_t run) {
  TaskRange range;  // without tasks the first is behind the last
  RG_TRY_OK(connection.row(std::tie(range.first, range.last),
                           "SELECT coalesce(min(id), 1), max(id) FROM task WHERE run=?1", run));
  return range;
}

std::size_t size_of(const TextMap& map) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : map) bytes += name.size() + value.size() + 64;
  return bytes;
}

// Returns the approximate size of a task in memory.
std::size_t size_of(const TaskDetailRow& task) {
  std::size_t bytes = 512 + size_of(task.task.parameters);
  for (const RankDetailRow& rank : task.ranks) {
    bytes += 512 + size_of(rank.facts);
    if (rank.final_record) bytes += rank.final_record->ByteSizeLong();
    for (const Note& note : rank.notes) bytes += note.ByteSizeLong();
  }
  return bytes;
}

}  // namespace

Result<TaskPageRow> read_task_page(Connection& connection, std::string_view run_id,
                                   std::int64_t from, std::uint32_t max_tasks,
                                   std::size_t max_bytes) {
  TaskPageRow page{.summary = RG_TRY(read_run(connection, run_id))};
  const std::int64_t id = RG_TRY(id_of_run(connection, run_id));
  TaskRange range = RG_TRY(tasks_of(connection, id));
  range.first = std::max(range.first, from);
  range.limit = max_tasks;
  TextSets sets(connection);
  std::size_t bytes = 0;
  for (Task& task : RG_TRY(read_tasks(connection, id, range))) {
    task.detail.task.parameters = *RG_TRY(sets.parameters(task.parameters));
    task.detail.task.identity_parameters = RG_TRY(read_list(connection, task.identity));
    RG_TRY_OK(read_ranks(connection, sets, task));
    bytes += size_of(task.detail);
    page.tasks.push_back(std::move(task.detail));
    page.next = task.id < range.last ? task.id + 1 : 0;
    if (bytes > max_bytes) break;
  }
  return page;
}

// One pass over the run's tasks and ranks, without what the ranks reported.
Result<TaskHeadsRow> read_task_heads(Connection& connection, std::string_view run_id,
                                     std::int64_t from, std::uint32_t max_tasks) {
  const std::int64_t run = RG_TRY(id_of_run(connection, run_id));
  const TaskRange range = RG_TRY(tasks_of(connection, run));
  TaskHeadsRow page;
  TextSets sets(connection);
  Rows rows = RG_TRY(connection.query(
      "SELECT id, task_id, kernel, parameter_set, state, outcome, reason FROM task NOT INDEXED "
      "WHERE run=?1 AND id BETWEEN ?2 AND ?3 ORDER BY id LIMIT ?4",
      run, std::max(from, range.first), range.last, max_tasks));
  while (RG_TRY(rows.next())) {
    TaskRow& task = page.tasks.emplace_back();
    std::int64_t id = 0;
    std::int64_t parameters = 0;
    rows.read(id, task.task_id, task.kernel, parameters, task.state, task.outcome, task.reason);
    RG_TRY_OK(rows.check_states());
    task.parameters = *RG_TRY(sets.parameters(parameters));
    Rows ranks = RG_TRY(connection.query(
        "SELECT node_name, endpoint_text FROM task_rank WHERE task=?1 ORDER BY rank", id));
    while (RG_TRY(ranks.next()))
      task.ranks.push_back({.node = ranks.text(0), .endpoint = ranks.text(1)});
    page.next = id + 1;
  }
  if (page.tasks.size() < max_tasks) page.next = 0;
  return page;
}

Result<std::vector<SuiteRun>> read_runs_of_suite(Connection& connection, const std::string& run_id,
                                                 std::uint32_t limit) {
  const std::int64_t run = RG_TRY(id_of_run(connection, run_id));
  return connection.list(
      Columns{&SuiteRun::run_id, &SuiteRun::ended_at},
      "SELECT run_id, coalesce(ended_at, started_at, created_at) FROM run WHERE id=?1 OR (id<?1 "
      "AND "
      "state='ended' AND suite=(SELECT suite FROM run WHERE id=?1)) ORDER BY id DESC LIMIT ?2",
      run, limit);
}

Result<std::vector<TaskRestRow>> read_task_rest(Connection& connection, std::string_view run_id) {
  using Row = TaskRestRow;
  return connection.list(
      Columns{&Row::stage, &Row::kernel, &Row::outcome, &Row::reason, &Row::tasks},
      "SELECT stage, kernel, outcome, reason, tasks FROM task_rest WHERE run=(SELECT id FROM run "
      "WHERE run_id=?1) ORDER BY stage, outcome, reason",
      run_id);
}

Result<std::vector<StageTimeRow>> read_stage_times(Connection& connection) {
  using Row = StageTimeRow;
  return connection.list(
      Columns{&Row::key, &Row::rounds, &Row::longest_seconds, &Row::seconds},
      "SELECT key, rounds, longest_seconds, seconds FROM stage_time ORDER BY key, run");
}

Result<RunDetailRow> read_run_detail(Connection& connection, std::string_view run_id) {
  TaskPageRow all = RG_TRY(read_task_page(connection, run_id, 0, UINT32_MAX, SIZE_MAX));
  RunDetailRow detail{.summary = std::move(all.summary), .tasks = std::move(all.tasks)};
  detail.summary.run.suite_text = RG_TRY(read_suite_text(connection, run_id));
  return detail;
}

namespace {

// The endpoints of a node, or of all nodes where it is 0, by node: a query a node takes seconds for
// thousands of them, and a scan of all endpoints too long for one.
Result<std::map<std::int64_t, std::vector<EndpointRow>>> read_endpoints(Connection& connection,
                                                                        std::int64_t node) {
  std::map<std::int64_t, std::vector<EndpointRow>> all;
  Rows rows = RG_TRY(connection.query(
      fmt::format(
          "SELECT endpoint.node, kind, device, port, iif(slot GLOB 'netdev:*' OR slot GLOB "
          "'device:*', "
          "'', slot), "
          "netdev, guid, state, link_layer, driver, firmware, rate_bits_per_second, "
          "active_mtu_bytes, numa_node_plus_one, model FROM endpoint JOIN endpoint_attribute ON "
          "endpoint=endpoint.id AND valid_to IS NULL "
          "JOIN node ON node.id=endpoint.node WHERE {} "
          "AND endpoint.last_seen_at=node.last_seen_at ORDER BY endpoint.node, slot, port",
          node == 0 ? "?1=0" : "endpoint.node=?1"),
      node));
  while (RG_TRY(rows.next())) {
    std::int64_t of = 0;
    EndpointRow row;
    rows.read(of, row.kind, row.device, row.port, row.pci_address, row.netdev, row.guid, row.state,
              row.link_layer, row.driver, row.firmware, row.rate_bits_per_second,
              row.active_mtu_bytes, row.numa_node_plus_one, row.model);
    all[of].push_back(std::move(row));
  }
  return all;
}

}  // namespace

Result<std::vector<NodeRow>> read_nodes(Connection& connection, std::string_view name) {
  std::vector<NodeRow> nodes;
  // A reinstalled node has a new id under its old name: the one seen last has the name.
  Rows rows = RG_TRY(connection.query(
      fmt::format(
          "SELECT node.id, node_id, name, version, address, first_seen_at, last_seen_at, "
          "fact_set, spool_through, versions, settings FROM node LEFT JOIN epoch ON "
          "epoch.node=node.id AND valid_to IS NULL LEFT JOIN stack ON stack.id=epoch.stack WHERE "
          "{} AND NOT EXISTS (SELECT 1 FROM node other WHERE other.name=node.name AND "
          "(other.last_seen_at, other.id) > (node.last_seen_at, node.id)) ORDER BY name",
          name.empty() ? "?1=''" : "name=?1"),
      name));
  TextSets sets(connection);  // thousands of nodes have one stack
  std::map<std::int64_t, TextMap> labels;
  {
    // By name a page of nodes reads one after the other: each looks its own rows up.
    Rows all = RG_TRY(connection.query(
        fmt::format("SELECT node, key, value FROM node_label WHERE {}",
                    name.empty() ? "?1=''" : "node IN (SELECT id FROM node WHERE name=?1)"),
        name));
    while (RG_TRY(all.next())) labels[all.integer(0)][all.text(1)] = all.text(2);
  }
  std::map<std::int64_t, std::vector<EndpointRow>> endpoints;
  if (name.empty()) endpoints = RG_TRY(read_endpoints(connection, 0));
  while (RG_TRY(rows.next())) {
    NodeRow& node = nodes.emplace_back();
    std::int64_t id = 0;
    std::int64_t described = 0;
    std::int64_t versions = 0;
    std::int64_t settings = 0;
    rows.read(id, node.node_id, node.name, node.version, node.address, node.first_seen_at,
              node.last_seen_at, described, node.spool_through, versions, settings);
    node.described = *RG_TRY(sets.facts(described));
    node.facts = *RG_TRY(sets.facts(versions));
    node.settings = *RG_TRY(sets.facts(settings));
    if (const auto own = labels.find(id); own != labels.end()) node.labels = own->second;
    if (!name.empty()) endpoints = RG_TRY(read_endpoints(connection, id));
    node.endpoints = std::move(endpoints[id]);
  }
  return nodes;
}

Result<std::vector<NodeHeadRow>> read_node_heads(Connection& connection) {
  constexpr Columns kColumns{&NodeHeadRow::name, &NodeHeadRow::stack};
  return connection.list(
      kColumns,
      "SELECT name, stack FROM node LEFT JOIN epoch ON epoch.node=node.id AND valid_to IS NULL "
      "WHERE NOT EXISTS (SELECT 1 FROM node other WHERE other.name=node.name AND "
      "(other.last_seen_at, other.id) > (node.last_seen_at, node.id)) ORDER BY name");
}

Result<StackParts> read_stack(Connection& connection, std::int64_t stack) {
  StackBodies bodies;
  RG_TRY_OK(connection.row(
      std::tie(bodies.versions, bodies.settings),
      "SELECT old.body, was.body FROM stack JOIN fact_set AS old ON old.id=versions JOIN fact_set "
      "AS was ON was.id=settings WHERE stack.id=?1",
      stack));
  return read_parts(connection, bodies);
}

Result<std::vector<NodeBond>> read_bonds(Connection& connection) {
  constexpr Columns kColumns{&NodeBond::node_id, &NodeBond::name, &NodeBond::certificate,
                             &NodeBond::spool_through};
  return connection.list(kColumns,
                         "SELECT node_id, name, certificate, spool_through FROM node ORDER BY "
                         "name, last_seen_at, id");
}

Result<std::vector<std::string>> read_node_names(Connection& connection) {
  return connection.column<std::string>("SELECT DISTINCT name FROM node_name ORDER BY name");
}

Result<std::vector<EventRow>> read_events(Connection& connection, std::uint32_t limit) {
  constexpr Columns kColumns{&EventRow::at, &EventRow::kind, &EventRow::node_id, &EventRow::run_id,
                             &EventRow::text};
  std::vector<EventRow> events = RG_TRY(connection.list(
      kColumns, "SELECT at, kind, node_id, run_id, text FROM event ORDER BY id DESC LIMIT ?1",
      limit));
  for (EventRow& event : events) renew_severity(event);
  return events;
}

}  // namespace railgauge::store
