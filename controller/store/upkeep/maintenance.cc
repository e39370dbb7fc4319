#include "controller/store/upkeep/maintenance.h"

#include <algorithm>

#include <fmt/format.h>

namespace railgauge::store {
namespace {

constexpr std::size_t kMaxProblems = 100;

}  // namespace

Result<std::vector<std::string>> find_problems(Connection& connection) {
  std::vector<std::string> problems;
  {
    Rows rows = RG_TRY(connection.query("SELECT integrity_check FROM pragma_integrity_check(100)"));
    while (RG_TRY(rows.next()) && problems.size() < kMaxProblems) {
      std::string line = rows.text(0);
      std::ranges::replace(line, '\n', ' ');
      if (line != "ok") problems.push_back(std::move(line));
    }
  }
  {
    Rows rows = RG_TRY(
        connection.query("SELECT \"table\", count(*) FROM pragma_foreign_key_check GROUP BY 1"));
    while (RG_TRY(rows.next()))
      problems.push_back(
          fmt::format("{} rows of {} refer to rows that are gone", rows.integer(1), rows.text(0)));
  }
  const auto strays =
      RG_TRY(connection.integer("SELECT count(*) FROM point WHERE NOT EXISTS (SELECT 1 FROM rank "
                                "WHERE rank.id=point.id >> 20)"));
  if (strays.value_or(0) > 0)
    problems.push_back(fmt::format("{} points belong to no rank", *strays));
  return problems;
}

Result<SpaceRow> read_space(Connection& connection) {
  SpaceRow space;
  space.page_bytes =
      static_cast<double>(RG_TRY(connection.integer("PRAGMA page_size")).value_or(0));
  space.free_bytes =
      space.page_bytes *
      static_cast<double>(RG_TRY(connection.integer("PRAGMA freelist_count")).value_or(0));
  using Part = SpacePart;
  space.parts = RG_TRY(connection.list(
      Columns{&Part::name, &Part::kind, &Part::bytes, &Part::payload_bytes, &Part::entries,
              &Part::table},
      "SELECT page.name, coalesce(object.type, 'table'), pgsize, payload, ncell, "
      "coalesce(tbl_name, page.name) FROM dbstat('main', 1) AS page LEFT JOIN sqlite_schema AS "
      "object ON object.name=page.name ORDER BY pgsize DESC"));
  RG_TRY_OK(connection.row(
      std::tie(space.first_run_at, space.last_run_at, space.runs, space.points, space.nodes),
      "SELECT (SELECT min(created_at) FROM run), (SELECT max(created_at) FROM run), "
      "(SELECT count(*) FROM run), (SELECT count(*) FROM point), (SELECT count(*) FROM node)"));
  return space;
}

// --- retention ---------------------------------------------------------------------------------

namespace {

// `pruned` of a run whose points are taken piece by piece: this and the last rank whose points are
// in the days' figures. It goes to the archive before them, so that a controller that takes over
// in the middle adds none of them twice.
constexpr std::int64_t kRankAfterLevels = 4;

// A mirror that has not had everything yet, or has so much left, has the rows of no run for sure.
constexpr std::int64_t kMostWaitingRows = 1'000'000;

Result<bool> is_archive_far_behind(Connection& connection) {
  const auto behind = RG_TRY(connection.integer(
      "SELECT is_on=1 AND (even_at=0 OR (SELECT coalesce(max(id) - min(id), 0) FROM "
      "mirror_outbox)>?1) FROM mirror_state",
      kMostWaitingRows));
  return behind.value_or(0) == 1;
}

// While a mirror is on: the archive has had everything since the run ended, and none of the run's
// points waits.
constexpr std::string_view kIsArchived =
    "AND (SELECT is_on=0 OR coalesce(run.ended_at, run.created_at)<=even_at FROM mirror_state) AND "
    "id NOT IN (SELECT task.run FROM (SELECT DISTINCT key >> 20 AS rank FROM mirror_outbox WHERE "
    "source=21) AS waiting JOIN rank ON rank.id=waiting.rank JOIN attempt ON "
    "attempt.id=rank.attempt JOIN task ON task.id=attempt.task) ";

}  // namespace

// The clock may have been slow when the run was made: then its end, an earlier run or a node's
// clock has a later time. Times in the future prove nothing.
Result<std::vector<std::int64_t>> runs_to_prune(Connection& connection, PruneLevel level,
                                                double before, double now) {
  std::string_view archived;
  if (level == PruneLevel::kPoints) {
    if (RG_TRY(is_archive_far_behind(connection))) return std::vector<std::int64_t>();
    archived = kIsArchived;
  }
  return connection.column<std::int64_t>(
      fmt::format(
          "SELECT id FROM run WHERE (pruned<?1 OR (?1={} AND pruned>={})) AND created_at<?2 AND "
          "state='ended' {}"
          "AND (ended_at IS NULL OR ended_at NOT BETWEEN ?2 AND ?3) "
          "AND NOT EXISTS (SELECT 1 FROM run AS earlier WHERE earlier.created_at BETWEEN ?2 AND ?3 "
          "AND earlier.id<run.id) "
          "AND NOT EXISTS (SELECT 1 FROM task CROSS JOIN attempt ON attempt.task=task.id CROSS "
          "JOIN rank ON rank.attempt=attempt.id WHERE task.run=run.id AND rank.ended_at BETWEEN ?2 "
          "AND ?3) ORDER BY id",
          static_cast<int>(PruneLevel::kPoints), kRankAfterLevels, archived),
      static_cast<int>(level), before, now);
}

Result<double> count_prunable_runs(Connection& connection, PruneLevel level) {
  const auto count = RG_TRY(connection.integer(
      "SELECT count(*) FROM run WHERE (pruned<?1 OR (?1=?2 AND pruned>=?3)) AND state='ended'",
      static_cast<int>(level), static_cast<int>(PruneLevel::kPoints), kRankAfterLevels));
  return static_cast<double>(count.value_or(0));
}

Result<std::vector<std::int64_t>> ranks_of_run(Connection& connection, std::int64_t run) {
  return connection.column<std::int64_t>(
      "SELECT rank.id FROM task CROSS JOIN attempt ON attempt.task=task.id CROSS JOIN rank ON "
      "rank.attempt=attempt.id WHERE task.run=?1 ORDER BY rank.id",
      run);
}

namespace {

// 0: nothing of the run yet.
Result<std::int64_t> rolled_up_through(Connection& connection, std::int64_t run) {
  const auto pruned = RG_TRY(connection.integer("SELECT pruned FROM run WHERE id=?1", run));
  return std::max<std::int64_t>(0, pruned.value_or(0) - kRankAfterLevels);
}

// Points of attempts that count go into the day's figures.
constexpr std::string_view kRollUp =
    "INSERT INTO series_day (series, day, point_count, median, lowest, highest) "
    "SELECT series, CAST(floor(measured_at / 86400) AS INTEGER) AS day, count(*), "
    "avg(headline), min(headline), max(headline) FROM point WHERE id BETWEEN ?1 << 20 AND (?1 << "
    "20) + 1048575 "
    "AND EXISTS (SELECT 1 FROM rank JOIN attempt ON attempt.id=rank.attempt JOIN task ON "
    "task.id=attempt.task WHERE rank.id=?1 AND attempt.attempt=task.counted_attempt AND "
    "attempt.outcome='passed') GROUP BY series, day "
    "ON CONFLICT DO UPDATE SET median=(median * point_count + excluded.median * "
    "excluded.point_count) / (point_count + excluded.point_count), "
    "point_count=point_count + excluded.point_count, lowest=min(lowest, excluded.lowest), "
    "highest=max(highest, excluded.highest)";

std::string_view sql_of(PruneLevel level) {
  switch (level) {
    case PruneLevel::kRawSamples:
      return "DELETE FROM raw_sample WHERE point BETWEEN ?1 << 20 AND (?1 << 20) + 1048575";
    case PruneLevel::kDistributions:
      return "DELETE FROM distribution WHERE point BETWEEN ?1 << 20 AND (?1 << 20) + 1048575";
    case PruneLevel::kPoints:
      return "DELETE FROM point WHERE id BETWEEN ?1 << 20 AND (?1 << 20) + 1048575";
  }
  return "";
}

}  // namespace

// Ranks of which a controller before a takeover made the days' figures have points here still.
Result<std::int64_t> prune_ranks(Connection& connection, PruneLevel level, std::int64_t run,
                                 std::span<const std::int64_t> ranks) {
  std::int64_t taken = 0;
  const std::int64_t rolled_up = RG_TRY(rolled_up_through(connection, run));
  if (level == PruneLevel::kPoints && !ranks.empty() && ranks.back() > rolled_up)
    RG_TRY_OK(connection.execute("UPDATE run SET pruned=?2 WHERE id=?1", run,
                                 kRankAfterLevels + ranks.back()));
  for (const std::int64_t rank : ranks) {
    if (level == PruneLevel::kPoints && rank > rolled_up)
      RG_TRY_OK(connection.execute(kRollUp, rank));
    RG_TRY_OK(connection.execute(sql_of(level), rank));
    taken += connection.changes();
  }
  return taken;
}

namespace {

// While a mirror is on, the tasks that hold the highest ids stay: SQLite would give their ids to
// later rows, which would overwrite earlier ones in the archive.
constexpr std::string_view kDeleteTasks =
    "DELETE FROM task WHERE run=?1 AND ((SELECT is_on FROM mirror_state)=0 OR id NOT IN (SELECT "
    "max(id) FROM task UNION ALL SELECT task FROM attempt WHERE id=(SELECT max(id) FROM attempt) "
    "UNION ALL SELECT task FROM attempt WHERE id=(SELECT attempt FROM rank WHERE id=(SELECT "
    "max(id) "
    "FROM rank))))";

Status delete_of_run(Connection& connection, PruneLevel level, std::int64_t run) {
  if (level == PruneLevel::kPoints) {
    RG_TRY_OK(connection.execute(kDeleteTasks, run));
    RG_TRY_OK(connection.execute("DELETE FROM task_rest WHERE run=?1", run));
  }
  if (level >= PruneLevel::kDistributions)
    RG_TRY_OK(
        connection.execute("DELETE FROM part_levels WHERE run=?1 AND ((SELECT is_on FROM "
                           "mirror_state)=0 OR id<(SELECT max(id) FROM part_levels))",
                           run));
  return {};
}

}  // namespace

Status mark_pruned(Connection& connection, PruneLevel level, std::int64_t run) {
  RG_TRY_OK(connection.execute("UPDATE mirror_state SET is_pruning=1"));
  RG_TRY_OK(delete_of_run(connection, level, run));
  RG_TRY_OK(connection.execute("UPDATE mirror_state SET is_pruning=0"));
  return connection.execute(
      "UPDATE run SET pruned=CASE WHEN pruned>=?3 THEN ?2 ELSE max(pruned, ?2) END WHERE id=?1",
      run, static_cast<int>(level), kRankAfterLevels);
}

}  // namespace railgauge::store
