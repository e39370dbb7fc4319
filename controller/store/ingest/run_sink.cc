#include "controller/store/ingest/run_sink.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/ingest/record_sink.h"
#include "controller/store/rows/text_json.h"

namespace railgauge::store {
namespace {

std::optional<double> known_time(double seconds) {
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

// SQLite's JSON ends a text at a NUL: such a part would read back as another one, and each attach
// of its node would begin an epoch.
TextMap without_nul(const TextMap& parts) {
  TextMap clean;
  for (const auto& part : parts) {
    std::pair<std::string, std::string> copy = part;
    std::ranges::replace(copy.first, '\0', '?');
    std::ranges::replace(copy.second, '\0', '?');
    clean.insert(std::move(copy));
  }
  return clean;
}

// A hash of the devices and the stack that a node reports under its id.
std::int64_t hash_of_parts(std::int64_t id, const NodeRow& node) {
  std::string text = fmt::format("{} {}{}", id, json_of(node.facts), json_of(node.settings));
  for (const EndpointRow& port : node.endpoints)
    text += fmt::format("\n{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", port.kind,
                        port.device, port.port, port.pci_address, port.netdev, port.guid,
                        port.state, port.link_layer, port.driver, port.firmware, port.model,
                        port.rate_bits_per_second, port.active_mtu_bytes, port.numa_node_plus_one);
  return hash_of(text);
}

}  // namespace

// Who was seen last has the name: also where the clock stepped back since another one had it.
Result<double> RunSink::seen_at(const NodeRow& node, double now) {
  double after_others = 0;
  RG_TRY_OK(
      connection_.row(std::tie(after_others),
                      "SELECT max(last_seen_at) + 1e-6 FROM node WHERE name=?1 AND node_id<>?2",
                      node.name, node.node_id));
  return std::max(now, after_others);
}

// The endpoints of its last attach are present still: they have the node's own time.
Status RunSink::note_seen(const std::string& node_id, double at) {
  NodeRow node{.node_id = node_id};
  std::int64_t id = 0;
  double before = 0;
  if (!RG_TRY(connection_.row(std::tie(id, node.name, before),
                              "SELECT id, name, last_seen_at FROM node WHERE node_id=?1", node_id)))
    return {};
  const double now = RG_TRY(seen_at(node, at));
  if (now <= before) return {};  // the clock stepped back
  RG_TRY_OK(connection_.execute(
      "UPDATE endpoint SET last_seen_at=?3 WHERE node=?1 AND last_seen_at=?2", id, before, now));
  return connection_.execute("UPDATE node SET last_seen_at=?2 WHERE id=?1", id, now);
}

Status RunSink::put_node(const NodeRow& node, double at) {
  const double now = RG_TRY(seen_at(node, at));
  const std::int64_t id = RG_TRY(interner_.node(node.node_id, node.name, now));
  double before = 0;
  RG_TRY_OK(connection_.row(std::tie(before), "SELECT last_seen_at FROM node WHERE id=?1", id));
  RG_TRY_OK(
      connection_.execute("UPDATE node SET name=?2, version=?3, address=?4, last_seen_at=?5, "
                          "certificate=CASE ?6 WHEN '' THEN certificate ELSE ?6 END WHERE id=?1",
                          id, node.name, node.version, node.address, now, node.certificate));
  RG_TRY_OK(put_described(id, node, at));
  RG_TRY_OK(connection_.execute(
      "INSERT INTO node_name (node, name, valid_from) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
      id, node.name, now));
  RG_TRY_OK(connection_.execute("DELETE FROM node_label WHERE node=?1", id));
  for (const auto& [key, value] : node.labels)
    RG_TRY_OK(connection_.execute("INSERT INTO node_label (node, key, value) VALUES (?1, ?2, ?3)",
                                  id, key, value));
  if (RG_TRY(may_change(parts_, "stack or devices", hash_of_parts(id, node), node, at)))
    return put_parts(id, node, at, now);
  // The devices of its last report are present still.
  return connection_.execute(
      "UPDATE endpoint SET last_seen_at=?3 WHERE node=?1 AND last_seen_at=?2", id, before, now);
}

Result<bool> RunSink::may_change(NodeChanges& changes, std::string_view subject,
                                 std::int64_t content, const NodeRow& node, double now) {
  const NodeChanges::Answer answer = changes.take(node.name, content, now);
  const auto tell = [&](std::string text) {
    return insert_event(connection_, {.at = now,
                                      .kind = "node_changes_left_out",
                                      .node_id = node.node_id,
                                      .text = std::move(text)});
  };
  if (answer.is_first_left_out)
    RG_TRY_OK(tell(fmt::format(
        "{}: its {} changed more than {} times within an hour or {} within a day; further changes "
        "are not stored until its agent attaches after that",
        node.name, subject, NodeChanges::kMostAnHour, NodeChanges::kMostADay)));
  if (answer.left_out_before > 0)
    RG_TRY_OK(tell(fmt::format("{}: {} changes of its {} were not stored", node.name,
                               answer.left_out_before, subject)));
  return answer.may_store;
}

// The row of facts is the node's own and is written over: who changes them often leaves no rows
// behind. Its hash has the node in it, so that no other set of facts is taken for it.
Status RunSink::put_described(std::int64_t id, const NodeRow& node, double now) {
  const std::string body = json_of(node.described.empty() ? node.facts : node.described);
  const auto own_hash = [id](std::string_view text) {
    return hash_of(fmt::format("node {} {}", id, text));
  };
  const std::int64_t hash = own_hash(body);
  if (!RG_TRY(may_change(described_, "facts", hash, node, now))) return {};
  std::int64_t old = 0;
  std::int64_t old_hash = 0;
  std::string old_body;
  if (RG_TRY(connection_.row(std::tie(old, old_hash, old_body),
                             "SELECT fact_set.id, hash, body FROM node JOIN fact_set ON "
                             "fact_set.id=fact_set WHERE node.id=?1",
                             id)) &&
      own_hash(old_body) == old_hash) {
    if (old_body == body) return {};
    return connection_.execute("UPDATE fact_set SET hash=?2, body=?3 WHERE id=?1", old, hash, body);
  }
  RG_TRY_OK(connection_.execute("INSERT INTO fact_set (hash, body) VALUES (?1, ?2)", hash, body));
  return connection_.execute("UPDATE node SET fact_set=?2 WHERE id=?1", id, connection_.last_id());
}

Status RunSink::put_parts(std::int64_t id, const NodeRow& node, double at, double now) {
  std::string replaced;
  for (const EndpointRow& endpoint : node.endpoints) {
    const std::string change = RG_TRY(interner_.put_endpoint(id, endpoint, now));
    if (!change.empty())
      replaced += fmt::format("{}{}:{} {}", replaced.empty() ? "" : "; ", endpoint.device,
                              endpoint.port, change);
  }
  RG_TRY_OK(connection_.execute(
      "UPDATE endpoint SET rail=place FROM (SELECT id AS port_id, row_number() OVER (ORDER BY "
      "slot, port) - 1 AS place FROM endpoint WHERE node=?1 AND kind='nic' AND last_seen_at=?2) "
      "WHERE id=port_id AND rail IS NOT place",
      id, now));
  return put_epoch(id, node, replaced, at);
}

Result<std::int64_t> RunSink::stack(const StackParts& parts) {
  const std::int64_t versions = RG_TRY(interner_.fact_set(parts.versions));
  const std::int64_t settings = RG_TRY(interner_.fact_set(parts.settings));
  RG_TRY_OK(connection_.execute(
      "INSERT INTO stack (versions, settings) VALUES (?1, ?2) ON CONFLICT DO NOTHING", versions,
      settings));
  const auto id = RG_TRY(connection_.integer(
      "SELECT id FROM stack WHERE versions=?1 AND settings=?2", versions, settings));
  RG_CHECK(id.has_value());
  return *id;
}

// Absent for a node that has none yet.
Result<std::optional<std::int64_t>> RunSink::present_stack(std::int64_t node, StackParts& parts) {
  StackBodies bodies;
  std::int64_t id = 0;
  if (!RG_TRY(connection_.row(
          std::tie(id, bodies.versions, bodies.settings),
          "SELECT stack.id, old.body, was.body FROM epoch JOIN stack ON stack.id=epoch.stack JOIN "
          "fact_set AS old ON old.id=versions JOIN fact_set AS was ON was.id=settings WHERE "
          "node=?1 AND valid_to IS NULL",
          node)))
    return std::nullopt;
  parts = RG_TRY(read_parts(connection_, bodies));
  return id;
}

// "as until 2026-11-20T12:00:00Z" where the node had this very stack before: a rollback; else "".
Result<std::string> RunSink::seen_before(std::int64_t node, std::int64_t stack) {
  std::string until;
  RG_TRY_OK(connection_.row(
      std::tie(until),
      "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', max(valid_to), 'unixepoch') FROM epoch WHERE node=?1 "
      "AND stack=?2 AND valid_to IS NOT NULL",
      node, stack));
  return until.empty() ? "" : fmt::format("rolled back: the same stack as until {}", until);
}

// Begins an epoch where the stack changed or hardware was replaced, with an event for each. A part
// that was unknown before and is known now begins none: the present epoch learns it.
Status RunSink::put_epoch(std::int64_t id, const NodeRow& node, const std::string& replaced,
                          double now) {
  StackParts old;
  const auto before = RG_TRY(present_stack(id, old));
  StackParts fresh{.versions = without_nul(node.facts), .settings = without_nul(node.settings)};
  if (before) fresh = fill_unknown(old, std::move(fresh), node.stack_incomplete);
  const std::int64_t present = RG_TRY(stack(fresh));
  const std::vector<std::string> changes =
      before ? texts_of(stack_changes(old, fresh)) : std::vector<std::string>{};
  if (before && changes.empty() && replaced.empty()) {
    if (*before == present) return {};
    return connection_.execute("UPDATE epoch SET stack=?2 WHERE node=?1 AND valid_to IS NULL", id,
                               present);
  }
  const std::string rollback = RG_TRY(seen_before(id, present));
  RG_TRY_OK(connection_.execute(
      "UPDATE epoch SET valid_to=max(?2, valid_from) WHERE node=?1 AND valid_to IS NULL", id, now));
  const std::string_view cause = !before            ? "first_seen"
                                 : replaced.empty() ? "stack_changed"
                                                    : "hardware_replaced";
  // Two at one instant, or a clock that stepped back: the later one counts.
  RG_TRY_OK(connection_.execute(
      "INSERT INTO epoch (node, stack, valid_from, cause) VALUES (?1, ?2, max(?3, coalesce((SELECT "
      "max(valid_from) + 1e-6 FROM epoch WHERE node=?1), ?3)), ?4)",
      id, present, now, cause));
  const auto tell = [&](const char* kind, const std::string& text) {
    return insert_event(connection_, {.at = now,
                                      .kind = kind,
                                      .node_id = node.node_id,
                                      .text = fmt::format("{}: {}", node.name, text)});
  };
  if (!replaced.empty()) RG_TRY_OK(tell("hardware_replaced", replaced));
  if (changes.empty()) return {};
  return tell("stack_changed", fmt::format("{}{}{}", fmt::join(told_changes(changes), "; "),
                                           rollback.empty() ? "" : "; ", rollback));
}

Status RunSink::create_run(const RunRow& run, std::span<const TaskRow> tasks,
                           std::span<const TaskRestRow> rest, double now) {
  auto inserted = connection_.execute(
      "INSERT INTO run (run_id, suite, suite_text, trigger, requested_by, state, outcome, reason, "
      "nodes, created_at, started_at, ended_at, parent_run_id) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
      run.run_id, run.suite, run.suite_text, run.trigger, run.requested_by, run.state, run.outcome,
      run.reason, json_of(run.nodes), known_time(run.created_at).value_or(now),
      known_time(run.started_at), known_time(run.ended_at), run.parent_run_id);
  if (!inserted && inserted.error().code == Code::kAlreadyExists)
    return fail(Code::kAlreadyExists, fmt::format("run {}: create: this id is taken", run.run_id));
  RG_TRY_OK(inserted);
  const std::int64_t id = connection_.last_id();
  for (const TaskRow& task : tasks) RG_TRY_OK(insert_task(id, task, now));
  for (const TaskRestRow& stage : rest) RG_TRY_OK(put_rest(id, stage));
  return {};
}

Result<std::int64_t> RunSink::id_of(const std::string& run_id, std::string_view act) {
  const auto id = RG_TRY(connection_.integer("SELECT id FROM run WHERE run_id=?1", run_id));
  if (!id)
    return fail(Code::kNotFound, fmt::format("run {}: {}: there is no such run", run_id, act));
  return *id;
}

Status RunSink::add_tasks(const std::string& run_id, std::span<const TaskRow> tasks, double now) {
  const std::int64_t id = RG_TRY(id_of(run_id, "add tasks"));
  for (const TaskRow& task : tasks) RG_TRY_OK(insert_task(id, task, now));
  return {};
}

Status RunSink::begin_round(const std::string& run_id, std::uint32_t stage, const TaskRows& tasks,
                            double now) {
  const std::int64_t id = RG_TRY(id_of(run_id, "begin a round"));
  for (std::size_t i = 0; i < tasks.count; ++i) RG_TRY_OK(insert_task(id, tasks.row(i), now));
  return take_rest(id, stage, tasks.count);
}

Status RunSink::end_rest(const std::string& run_id, const TaskRestRow& rest) {
  const std::int64_t id = RG_TRY(id_of(run_id, "end tasks"));
  RG_TRY_OK(take_rest(id, rest.stage, rest.tasks));
  return put_rest(id, rest);
}

Status RunSink::take_rest(std::int64_t run, std::uint32_t stage, std::uint64_t tasks) {
  RG_TRY_OK(connection_.execute(
      "UPDATE task_rest SET tasks=tasks-?3 WHERE run=?1 AND stage=?2 AND outcome=''", run, stage,
      tasks));
  return connection_.execute(
      "DELETE FROM task_rest WHERE run=?1 AND stage=?2 AND outcome='' AND tasks<=0", run, stage);
}

Status RunSink::put_rest(std::int64_t run, const TaskRestRow& rest) {
  return connection_.execute(
      "INSERT INTO task_rest (run, stage, kernel, outcome, reason, tasks) VALUES (?1, ?2, ?3, ?4, "
      "?5, ?6) ON CONFLICT DO UPDATE SET tasks=tasks+excluded.tasks",
      run, rest.stage, rest.kernel, rest.outcome, rest.reason, rest.tasks);
}

Result<std::optional<std::int64_t>> RunSink::metric_list(const TaskRow& task) {
  if (!task.metrics) return std::nullopt;
  std::vector<std::string> sorted = *task.metrics;
  std::ranges::sort(sorted);
  const std::string body = json_of(sorted);
  // Few lists exist, as many as kernels: the index is at hand.
  RG_TRY_OK(connection_.execute("INSERT INTO metric_list (body) VALUES (?1) ON CONFLICT DO NOTHING",
                                body));
  return connection_.integer("SELECT id FROM metric_list WHERE body=?1", body);
}

Status RunSink::insert_task(std::int64_t run, const TaskRow& task, double now) {
  auto inserted = connection_.execute(
      "INSERT INTO task (run, task_id, stage, round, kernel, parameter_set, identity_parameters, "
      "deadline_seconds, expected_seconds, expected_bytes, state, outcome, reason, attempts, "
      "metric_list, counted_attempt) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
      "?13, ?14, ?15, 0)",
      run, task.task_id, task.stage, task.round, task.kernel,
      RG_TRY(interner_.parameter_set(task.parameters)), json_of(task.identity_parameters),
      task.deadline_seconds, task.expected_seconds, task.expected_bytes, task.state, task.outcome,
      task.reason, task.attempts, RG_TRY(metric_list(task)));
  if (!inserted && inserted.error().code == Code::kAlreadyExists)
    return fail(Code::kAlreadyExists,
                fmt::format("task {}: create: this id is twice in the run", task.task_id));
  RG_TRY_OK(inserted);
  const std::int64_t id = connection_.last_id();
  for (std::size_t i = 0; i < task.ranks.size(); ++i)
    RG_TRY_OK(insert_rank(id, i, task.ranks[i], now));
  return {};
}

Status RunSink::insert_rank(std::int64_t task, std::size_t number, const RankRow& rank,
                            double now) {
  const std::int64_t node = RG_TRY(interner_.node(rank.node_id, rank.node, now));
  std::optional<std::int64_t> endpoint;
  if (!rank.endpoint.empty()) endpoint = RG_TRY(interner_.endpoint(node, rank.endpoint, now));
  return connection_.execute(
      "INSERT INTO task_rank (task, rank, node, node_name, endpoint, endpoint_text) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      task, number, node, rank.node, endpoint, rank.endpoint);
}

Status RunSink::update_run(const RunUpdate& update) {
  RG_TRY_OK(connection_.execute(
      "UPDATE run SET state=coalesce(?2, state), outcome=coalesce(?3, outcome), "
      "reason=coalesce(?4, reason), started_at=coalesce(?5, started_at), "
      "ended_at=coalesce(?6, ended_at), cancelled_by=coalesce(?7, cancelled_by) WHERE run_id=?1",
      update.run_id, update.state, update.outcome, update.reason, update.started_at,
      update.ended_at, update.cancelled_by));
  if (connection_.changes() != 1)
    return fail(Code::kNotFound,
                fmt::format("run {}: update: there is no such run", update.run_id));
  for (const StageTimeRow& time : update.stage_times)
    RG_TRY_OK(put_stage_time(update.run_id, time));
  return {};
}

// Stages of one key in one run count as one.
Status RunSink::put_stage_time(const std::string& run_id, const StageTimeRow& time) {
  RG_TRY_OK(connection_.execute(
      "INSERT INTO stage_time (key, run, rounds, longest_seconds, seconds) "
      "SELECT ?2, id, ?3, ?4, ?5 FROM run WHERE run_id=?1 ON CONFLICT DO UPDATE SET "
      "rounds=rounds+excluded.rounds, seconds=seconds+excluded.seconds, "
      "longest_seconds=longest_seconds+excluded.longest_seconds",
      run_id, time.key, time.rounds, time.longest_seconds, time.seconds));
  return connection_.execute(
      "DELETE FROM stage_time WHERE key=?1 AND run NOT IN (SELECT run FROM stage_time WHERE key=?1 "
      "ORDER BY run DESC LIMIT ?2)",
      time.key, kKeptStageTimes);
}

Result<bool> RunSink::update_task(const TaskUpdate& update, double now) {
  const auto id = RG_TRY(connection_.integer(
      "SELECT task.id FROM run JOIN task ON task.run=run.id WHERE run_id=?1 AND task_id=?2",
      update.run_id, update.task_id));
  if (!id)
    return fail(Code::kNotFound, fmt::format("task {} of run {}: update: there is no such task",
                                             update.task_id, update.run_id));
  RG_TRY_OK(connection_.execute(
      "UPDATE task SET state=coalesce(?2, state), outcome=coalesce(?3, outcome), "
      "reason=coalesce(?4, reason), attempts=coalesce(?5, attempts) WHERE id=?1",
      *id, update.state, update.outcome, update.reason, update.attempts));
  if (!update.attempts || *update.attempts == 0) return false;
  RG_TRY_OK(connection_.execute(
      "INSERT INTO attempt (task, attempt, outcome, reason, dispatched_at) "
      "VALUES (?1, ?2, coalesce(?3, ''), coalesce(?4, ''), ?5) ON CONFLICT DO NOTHING",
      *id, *update.attempts, update.outcome, update.reason, now));
  if (connection_.changes() == 1) return true;
  if (!update.outcome && !update.reason) return false;
  RG_TRY_OK(connection_.execute(
      "UPDATE attempt SET outcome=coalesce(?3, outcome), reason=coalesce(?4, reason) "
      "WHERE task=?1 AND attempt=?2",
      *id, *update.attempts, update.outcome, update.reason));
  return false;
}

Status RunSink::rename_node(const NodeBond& node, const std::string& name, double now) {
  std::string holder;
  if (RG_TRY(connection_.row(std::tie(holder),
                             "SELECT node_id FROM node WHERE name=?1 AND node_id<>?2 LIMIT 1", name,
                             node.node_id)))
    return fail(Code::kAlreadyExists, fmt::format("node {}: rename: the name {} is that of node id "
                                                  "{}; choose another name",
                                                  node.name, name, holder));
  RG_TRY_OK(connection_.execute(
      "UPDATE node SET name=?3, certificate=CASE certificate WHEN '' THEN '' ELSE ?3 END WHERE "
      "node_id=?1 AND name=?2",
      node.node_id, node.name, name));
  if (connection_.changes() != 1)
    return fail(Code::kNotFound,
                fmt::format("node {}: rename: the database has no such node with id {}", node.name,
                            node.node_id));
  return connection_.execute(
      "INSERT INTO node_name (node, name, valid_from) SELECT id, name, ?2 FROM node WHERE "
      "node_id=?1 ON CONFLICT DO NOTHING",
      node.node_id, now);
}

Status RunSink::end_interrupted(double now, std::vector<std::string>& ended) {
  ended = RG_TRY(
      connection_.column<std::string>("SELECT run_id FROM run WHERE state <> 'ended' ORDER BY id"));
  for (const std::string& run_id : ended) {
    RG_TRY_OK(connection_.execute(
        "UPDATE attempt SET outcome='crashed', reason=?2 WHERE outcome='' AND task IN "
        "(SELECT id FROM task WHERE run=(SELECT id FROM run WHERE run_id=?1) "
        "AND state IN ('preparing', 'running'))",
        run_id, kControllerRestarted));
    RG_TRY_OK(connection_.execute(
        "UPDATE task SET outcome=CASE state WHEN 'waiting' THEN 'cancelled' ELSE 'crashed' END, "
        "state='ended', reason=?2 WHERE run=(SELECT id FROM run WHERE run_id=?1) "
        "AND state <> 'ended'",
        run_id, kControllerRestarted));
    RG_TRY_OK(connection_.execute(
        "UPDATE task_rest SET outcome='cancelled', reason=?2 WHERE run=(SELECT id FROM run WHERE "
        "run_id=?1) AND outcome=''",
        run_id, kControllerRestarted));
    // Keeps the earlier reason in front: the run of which it is the rest, or who cancelled it.
    RG_TRY_OK(connection_.execute(
        "UPDATE run SET state='ended', outcome='crashed', ended_at=?3, "
        "reason=reason || CASE reason WHEN '' THEN '' ELSE '; ' END || ?2 WHERE run_id=?1",
        run_id, kControllerRestarted, now));
    RG_TRY_OK(insert_event(connection_, {.at = now,
                                         .kind = "run_interrupted",
                                         .run_id = run_id,
                                         .text = std::string(kControllerRestarted)}));
  }
  return {};
}

}  // namespace railgauge::store
