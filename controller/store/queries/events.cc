#include "controller/store/queries/events.h"

#include <tuple>
#include <utility>

#include "controller/store/queries/queries.h"
#include "controller/store/rows/text_json.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/text/text.h"

namespace railgauge::store {
namespace {

// A kind matches its own name and each of its words: "stack" is "stack_changed" too.
constexpr const char* kEvents =
    "SELECT event.id, event.at, event.kind, event.node_id, event.run_id, event.text, "
    "coalesce((SELECT name FROM node WHERE node.node_id=event.node_id), '') FROM event WHERE "
    "(?1 IS NULL OR event.at>=?1) AND (?2='[]' OR EXISTS (SELECT 1 FROM json_each(?2) AS wanted "
    "WHERE instr('_' || event.kind || '_', '_' || wanted.value || '_')>0)) AND (?3='[]' OR "
    "event.node_id IN (SELECT node.node_id FROM json_each(?3) AS wanted JOIN node_name ON "
    "node_name.name=wanted.value JOIN node ON node.id=node_name.node)) AND (?4='' OR "
    "event.run_id=?4)";

}  // namespace

void renew_severity(EventRow& event) {
  if (event.kind.starts_with("watch_")) event.text = severity::with_present(std::move(event.text));
}

// A condition that may be absent would keep SQLite from reading along the ids.
std::string sql_of_events(const EventFilter& filter) {
  return std::string(kEvents) + (filter.after ? " AND event.id>?5 ORDER BY event.id LIMIT ?6"
                                              : " ORDER BY event.id DESC LIMIT ?6");
}

Result<std::vector<StoredEvent>> find_events(Connection& connection, const EventFilter& filter) {
  Rows rows =
      RG_TRY(connection.query(sql_of_events(filter), filter.since, json_of(filter.kinds),
                              json_of(filter.nodes), filter.run_id, filter.after, filter.limit));
  std::vector<StoredEvent> events;
  while (RG_TRY(rows.next())) {
    StoredEvent& found = events.emplace_back();
    rows.read(found.id, found.event.at, found.event.kind, found.event.node_id, found.event.run_id,
              found.event.text, found.node);
    renew_severity(found.event);
  }
  return events;
}

Result<std::vector<std::string>> read_event_kinds(Connection& connection) {
  return connection.column<std::string>("SELECT DISTINCT kind FROM event ORDER BY kind");
}

Result<std::vector<std::string>> read_left_out(Connection& connection, const std::string& run_id) {
  return connection.column<std::string>(
      "SELECT text FROM event WHERE run_id=?1 AND kind IN (?2, ?3, ?4, ?5) ORDER BY id", run_id,
      kAbsentKind, kBusyKind, kPausedNodesKind, kRefusedKind);
}

Result<std::int64_t> newest_event(Connection& connection) {
  return RG_TRY(connection.integer("SELECT max(id) FROM event")).value_or(0);
}

Result<std::string> newest_ended_run(Connection& connection) {
  std::string run_id;
  RG_TRY_OK(connection.row(std::tie(run_id),
                           "SELECT run_id FROM run WHERE state='ended' ORDER BY id DESC LIMIT 1"));
  return run_id;
}

Result<std::int64_t> count_passed_tasks(Connection& connection, const std::string& run_id,
                                        const std::vector<std::string>& nodes) {
  const std::int64_t run = RG_TRY(id_of_run(connection, run_id));
  const auto count = RG_TRY(connection.integer(
      "SELECT count(*) FROM task WHERE run=?1 AND state='ended' AND outcome='passed' AND NOT "
      "EXISTS "
      "(SELECT 1 FROM json_each(?2) WHERE value NOT IN (SELECT node_name FROM task_rank WHERE "
      "task=task.id))",
      run, json_of(nodes)));
  return count.value_or(0);
}

// Passed tasks are counted, for they are most; the others come with their reasons and places.
Result<std::vector<TaskEnd>> read_task_ends(Connection& connection, const std::string& run_id) {
  const std::int64_t run = RG_TRY(id_of_run(connection, run_id));
  std::vector<TaskEnd> ends;
  Rows passed = RG_TRY(connection.query(
      "SELECT stage, kernel, state, outcome, min(task_id), count(*) FROM task WHERE run=?1 AND "
      "state='ended' AND outcome='passed' GROUP BY stage, kernel ORDER BY stage, kernel",
      run));
  while (RG_TRY(passed.next())) {
    TaskEnd& end = ends.emplace_back();
    passed.read(end.stage, end.kernel, end.state, end.outcome, end.task_id, end.tasks);
    RG_TRY_OK(passed.check_states());
  }
  Rows rest = RG_TRY(connection.query(
      "SELECT stage, kernel, iif(outcome='', 'waiting', 'ended'), outcome, iif(outcome='', 'the "
      "round has not begun', iif(reason='', '', reason || '; ') || 'the round did not begin'), "
      "tasks FROM task_rest WHERE run=?1 ORDER BY stage, outcome, reason",
      run));
  while (RG_TRY(rest.next())) {
    TaskEnd& end = ends.emplace_back();
    rest.read(end.stage, end.kernel, end.state, end.outcome, end.reason, end.tasks);
    RG_TRY_OK(rest.check_states());
  }
  Rows rows = RG_TRY(connection.query(
      "SELECT stage, kernel, state, outcome, reason, task_id, (SELECT group_concat(node_name || "
      "iif(endpoint_text='', '', '/' || endpoint_text), char(10)) FROM task_rank WHERE "
      "task=task.id) FROM task WHERE run=?1 AND NOT (state='ended' AND outcome='passed') ORDER BY "
      "task.id",
      run));
  while (RG_TRY(rows.next())) {
    TaskEnd& end = ends.emplace_back();
    std::string endpoints;
    rows.read(end.stage, end.kernel, end.state, end.outcome, end.reason, end.task_id, endpoints);
    RG_TRY_OK(rows.check_states());
    for (const std::string_view endpoint : split(endpoints, '\n'))
      end.endpoints.emplace_back(endpoint);
  }
  return ends;
}

}  // namespace railgauge::store
