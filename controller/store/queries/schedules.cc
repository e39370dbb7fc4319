#include "controller/store/queries/schedules.h"

#include <fmt/format.h>

#include "controller/store/rows/rows.h"
#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

tl::unexpected<Error> no_schedule(std::string_view name) {
  return fail(Code::kNotFound, fmt::format("schedule {}: there is no such schedule", name));
}

Result<std::int64_t> id_of(Connection& connection, std::string_view name) {
  const auto id = RG_TRY(connection.integer("SELECT id FROM schedule WHERE name=?1", name));
  if (!id) return no_schedule(name);
  return *id;
}

// Deletes old rows, so that a schedule for every minute does not fill the file.
Status forget_old(Connection& connection, std::int64_t id) {
  return connection.execute(
      "DELETE FROM schedule_due WHERE schedule=?1 AND due_at < (SELECT due_at FROM schedule_due "
      "WHERE schedule=?1 ORDER BY due_at DESC LIMIT 1 OFFSET ?2)",
      id, kMaxDueRows - 1);
}

Status insert_due(Connection& connection, std::int64_t id, std::string_view name,
                  const DueRow& due) {
  Status inserted = connection.execute(
      "INSERT INTO schedule_due (schedule, due_at, decided_at, result, run_id, reason, note) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
      id, due.due_at, due.decided_at, due.result, due.run_id, due.reason);
  if (!inserted && inserted.error().code == Code::kAlreadyExists)
    return fail(Code::kAlreadyExists,
                fmt::format("schedule {}: the due time {:.0f} has been decided", name, due.due_at));
  RG_TRY_OK(inserted);
  return forget_old(connection, id);
}

// Claims the due time for this caller alone.
Status decide_due(Connection& connection, std::int64_t id, std::string_view name, double due_at) {
  RG_TRY_OK(connection.execute(
      "UPDATE schedule SET decided_until=?2 WHERE id=?1 AND paused=0 AND decided_until < ?2", id,
      due_at));
  if (connection.changes() == 1) return {};
  const auto paused = RG_TRY(connection.integer("SELECT paused FROM schedule WHERE id=?1", id));
  if (paused == 1)
    return fail(Code::kFailedPrecondition, fmt::format("schedule {}: it is paused", name));
  return fail(Code::kAlreadyExists,
              fmt::format("schedule {}: the due time {:.0f} has been decided", name, due_at));
}

// Counts a start. If two runs took the same number, one by hand, the second is not counted, so that
// no number is left out.
Status count_start(Connection& connection, std::int64_t id, std::uint64_t number) {
  return connection.execute("UPDATE schedule SET started=?2 + 1 WHERE id=?1 AND started <= ?2", id,
                            number);
}

// Assigns a started due time, or a start by hand, to the run that continues it. Only one of two
// can.
Status pass_on_due(Connection& connection, std::int64_t id, const ScheduleClaim& claim,
                   std::string_view run_id) {
  const auto paused = RG_TRY(connection.integer("SELECT paused FROM schedule WHERE id=?1", id));
  if (paused == 1 && !claim.by_hand)
    return fail(Code::kFailedPrecondition,
                fmt::format("schedule {}: it is paused", claim.schedule));
  RG_TRY_OK(connection.execute(
      "UPDATE schedule_due SET run_id=?4, reason=?5 WHERE schedule=?1 AND due_at=?2 AND "
      "run_id=?3 AND result IN ('started', 'by_hand')",
      id, claim.due_at, claim.resumes_run_id, run_id, claim.reason));
  if (connection.changes() == 1) return {};
  return fail(Code::kAlreadyExists,
              fmt::format("schedule {}: the due time {:.0f} is not run {}'s any more",
                          claim.schedule, claim.due_at, claim.resumes_run_id));
}

}  // namespace

Status write_schedule(Connection& connection, const ScheduleRow& row) {
  Status inserted = connection.execute(
      "INSERT INTO schedule (name, suite, node_set, exclusive, cron, zone, jitter_seconds, "
      "windows, "
      "blackouts, concurrency, catch_up_seconds, paused, created_at, created_by, decided_until) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
      row.name, row.suite, row.node_set, row.exclusive ? 1 : 0, row.cron, row.zone,
      row.jitter_seconds, row.windows, row.blackouts, row.concurrency, row.catch_up_seconds,
      row.paused ? 1 : 0, row.created_at, row.created_by, row.decided_until);
  if (!inserted && inserted.error().code == Code::kAlreadyExists)
    return fail(
        Code::kAlreadyExists,
        fmt::format("schedule {}: this name is taken; railgauge schedules set {} removed frees it",
                    row.name, row.name));
  return inserted;
}

Status write_schedule_paused(Connection& connection, std::string_view name, bool paused,
                             double now) {
  const std::int64_t id = RG_TRY(id_of(connection, name));
  if (paused) return connection.execute("UPDATE schedule SET paused=1 WHERE id=?1", id);
  return connection.execute(
      "UPDATE schedule SET paused=0, decided_until=max(decided_until, ?2) WHERE id=?1 AND paused=1",
      id, now);
}

Status remove_schedule(Connection& connection, std::string_view name) {
  const std::int64_t id = RG_TRY(id_of(connection, name));
  return connection.execute("DELETE FROM schedule WHERE id=?1", id);
}

Status claim_due(Connection& connection, const ScheduleClaim& claim, std::string_view run_id,
                 double now) {
  const std::int64_t id = RG_TRY(id_of(connection, claim.schedule));
  if (!claim.resumes_run_id.empty()) return pass_on_due(connection, id, claim, run_id);
  if (!claim.by_hand) RG_TRY_OK(decide_due(connection, id, claim.schedule, claim.due_at));
  RG_TRY_OK(count_start(connection, id, claim.number));
  return insert_due(connection, id, claim.schedule,
                    {.due_at = claim.due_at,
                     .decided_at = now,
                     .result = claim.by_hand ? DueResult::kByHand : DueResult::kStarted,
                     .run_id = std::string(run_id),
                     .reason = claim.reason});
}

Status write_due(Connection& connection, std::string_view name, const DueRow& due, double now) {
  const std::int64_t id = RG_TRY(id_of(connection, name));
  RG_TRY_OK(decide_due(connection, id, name, due.due_at));
  if (due.spent) RG_TRY_OK(count_start(connection, id, *due.spent));
  DueRow row = due;
  row.decided_at = now;
  return insert_due(connection, id, name, row);
}

Status write_started_due(Connection& connection, std::string_view name, const DueRow& due) {
  const std::int64_t id = RG_TRY(id_of(connection, name));
  RG_TRY_OK(connection.execute(
      "UPDATE schedule_due SET result=?4, reason=?5 WHERE schedule=?1 AND due_at=?2 AND "
      "run_id=?3 AND result IN ('started', 'by_hand')",
      id, due.due_at, due.run_id, due.result, due.reason));
  if (connection.changes() == 1) return {};
  return fail(Code::kNotFound, fmt::format("schedule {}: the due time {:.0f} is not run {}'s", name,
                                           due.due_at, due.run_id));
}

Result<std::vector<DueRow>> read_dues(Connection& connection, std::string_view name,
                                      std::uint32_t limit) {
  const std::int64_t id = RG_TRY(id_of(connection, name));
  return connection.list(
      Columns{&DueRow::due_at, &DueRow::decided_at, &DueRow::result, &DueRow::run_id,
              &DueRow::reason, &DueRow::note},
      "SELECT due_at, decided_at, result, run_id, reason, note FROM schedule_due WHERE schedule=?1 "
      "ORDER BY due_at DESC LIMIT ?2",
      id, limit);
}

Result<std::vector<ScheduleRow>> read_schedules(Connection& connection, double now) {
  using Row = ScheduleRow;
  constexpr Columns kColumns{
      &Row::name,       &Row::suite,       &Row::node_set,         &Row::exclusive,
      &Row::cron,       &Row::zone,        &Row::jitter_seconds,   &Row::windows,
      &Row::blackouts,  &Row::concurrency, &Row::catch_up_seconds, &Row::paused,
      &Row::created_at, &Row::created_by,  &Row::decided_until,    &Row::started,
      &Row::missed};
  std::vector<Row> schedules = RG_TRY(connection.list(
      kColumns,
      "SELECT name, suite, node_set, exclusive, cron, zone, jitter_seconds, windows, blackouts, "
      "concurrency, catch_up_seconds, paused, created_at, created_by, decided_until, "
      "started, (SELECT count(*) FROM schedule_due WHERE schedule=schedule.id AND "
      "result='missed' AND "
      "due_at > ?1) FROM schedule ORDER BY name",
      now - kMissedDays * 24 * 3600));
  for (ScheduleRow& schedule : schedules) {
    for (DueRow& due : RG_TRY(read_dues(connection, schedule.name, kMaxDueRows))) {
      if (!schedule.last && !due.run_id.empty()) schedule.last = due;
      if (!schedule.newest) schedule.newest = std::move(due);
    }
  }
  return schedules;
}

Result<std::vector<BrokenOffRow>> read_broken_off(Connection& connection, double since) {
  std::vector<BrokenOffRow> broken_off;
  Rows rows = RG_TRY(connection.query(
      "SELECT due_at, decided_at, result, schedule_due.run_id, schedule_due.reason, note, "
      "schedule.name, cancelled_by FROM schedule_due JOIN schedule ON "
      "schedule.id=schedule_due.schedule "
      "JOIN run ON run.run_id=schedule_due.run_id WHERE result IN ('started', 'by_hand') AND "
      "due_at > ?1 AND run.state='ended' AND (EXISTS (SELECT 1 FROM task WHERE task.run=run.id AND "
      "task.outcome IN ('crashed', 'cancelled') AND task.reason IN (?2, ?3)) OR EXISTS (SELECT 1 "
      "FROM task_rest WHERE task_rest.run=run.id AND task_rest.outcome='cancelled' AND "
      "task_rest.reason IN (?2, ?3))) ORDER BY due_at",
      since, kControllerRestarted, kControllerStopping));
  while (RG_TRY(rows.next())) {
    BrokenOffRow& row = broken_off.emplace_back();
    DueRow& due = row.due;
    rows.read(due.due_at, due.decided_at, due.result, due.run_id, due.reason, due.note,
              row.schedule, row.cancelled_by);
  }
  return broken_off;
}

}  // namespace railgauge::store
