#include "controller/store/outbox/warm_copy.h"

#include <algorithm>
#include <span>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/outbox/mirror_tables.h"
#include "controller/store/sqlite/application_id.h"
#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

// A row that conflicts with an older one takes its place: the older one's change is still to come.
// Values are numbered as the columns of the list are, also where a table has a part of them.
std::string insert_of(const MirrorTable& table) {
  std::vector<std::string> names;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].is_tail) continue;
    names.push_back(fmt::format("\"{}\"", table.columns[i].name));
    places.push_back(fmt::format("?{}", i + 1));
  }
  // A stretch of changed points may hold those of runs that retention took, whose ranks are gone.
  const std::string_view wanted =
      table.name == "point" ? " WHERE EXISTS (SELECT 1 FROM rank WHERE id=?1 >> 20)" : "";
  return fmt::format("INSERT OR REPLACE INTO \"{}\" ({}) SELECT {}{}", table.name,
                     fmt::join(names, ", "), fmt::join(places, ", "), wanted);
}

// Figures of the distribution go beside the point, where it has any.
std::string insert_of_tails(const MirrorTable& table) {
  std::vector<std::string> names{"point"};
  std::vector<std::string> places{"?1"};
  std::vector<std::string> some;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.columns[i].is_tail) continue;
    names.emplace_back(table.columns[i].name);
    places.push_back(fmt::format("?{}", i + 1));
    some.push_back(fmt::format("?{} IS NOT NULL", i + 1));
  }
  if (some.empty()) return "";
  return fmt::format(
      "INSERT OR REPLACE INTO point_tail ({}) SELECT {} WHERE ({}) AND EXISTS (SELECT 1 FROM point "
      "WHERE id=?1)",
      fmt::join(names, ", "), fmt::join(places, ", "), fmt::join(some, " OR "));
}

int bind_cell(sqlite3_stmt* statement, int index, MirrorKind kind, const MirrorCell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell))
    return sqlite3_bind_int64(statement, index, *integer);
  if (const auto* real = std::get_if<double>(&cell))
    return sqlite3_bind_double(statement, index, *real);
  if (const auto* text = std::get_if<std::string>(&cell)) {
    const auto size = static_cast<sqlite3_uint64>(text->size());
    if (kind == MirrorKind::kBlob)
      return sqlite3_bind_blob64(statement, index, text->data(), size, SQLITE_STATIC);
    return sqlite3_bind_text64(statement, index, text->data(), size, SQLITE_STATIC, SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, index);
}

// `sql` takes the cells of a row by their numbers.
Status run_for_rows(Connection& connection, const MirrorTable& table, const std::string& sql,
                    std::span<const MirrorCell> cells) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(connection.raw(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK)
    return tl::unexpected(connection.error("prepare"));
  const StatementHandle statement(raw);
  const std::size_t columns = table.columns.size();
  const auto most = static_cast<std::size_t>(sqlite3_bind_parameter_count(raw));
  for (std::size_t row = 0; row + columns <= cells.size(); row += columns) {
    for (std::size_t column = 0; column < most; ++column)
      if (bind_cell(raw, static_cast<int>(column) + 1, table.columns[column].kind,
                    cells[row + column]) != SQLITE_OK)
        return tl::unexpected(connection.error("bind"));
    if (sqlite3_step(raw) != SQLITE_DONE)
      return tl::unexpected(connection.error(fmt::format("copy {}", table.name)));
    sqlite3_reset(raw);
  }
  return {};
}

Status insert_rows(Connection& connection, const MirrorTable& table,
                   std::span<const MirrorCell> cells) {
  RG_TRY_OK(run_for_rows(connection, table, insert_of(table), cells));
  const std::string tails = insert_of_tails(table);
  return tails.empty() ? Status() : run_for_rows(connection, table, tails, cells);
}

// Rows that are sent as a set are replaced as a set. The other tables lose the rows that came no
// more.
std::vector<std::int64_t> keys_to_delete(const MirrorTable& table, const MirrorRows& rows) {
  std::vector<std::int64_t> keys = rows.keys;
  if (table.is_set) return keys;
  if (table.deletes == MirrorDeletes::kNever) return {};
  const auto place = static_cast<std::size_t>(
      std::ranges::find(table.columns, table.key, &MirrorColumn::name) - table.columns.begin());
  std::vector<std::int64_t> there;
  for (std::size_t row = 0; row < rows.count(); ++row)
    there.push_back(std::get<std::int64_t>(rows.cells[row * table.columns.size() + place]));
  std::ranges::sort(there);
  std::erase_if(keys, [&](std::int64_t key) { return std::ranges::binary_search(there, key); });
  return keys;
}

}  // namespace

Status begin_copying(Connection& connection) {
  return connection.script("PRAGMA foreign_keys=OFF; PRAGMA synchronous=NORMAL");
}

Status end_copying(Connection& connection) {
  return connection.script("PRAGMA synchronous=FULL; PRAGMA wal_checkpoint(TRUNCATE)");
}

Status in_transaction(Connection& connection, const std::function<Status(Connection&)>& work) {
  RG_TRY_OK(connection.script("BEGIN IMMEDIATE"));
  Status done = work(connection);
  if (done) done = connection.script("COMMIT");
  if (!done && connection.in_transaction()) static_cast<void>(connection.script("ROLLBACK"));
  return done;
}

Result<CopyState> read_copy_state(Connection& connection) {
  CopyState state;
  RG_TRY_OK(
      connection.row(std::tie(state.generation, state.copy_epoch, state.position, state.is_whole),
                     "SELECT generation, copy_epoch, position, is_whole FROM standby_state"));
  return state;
}

// In the transaction of the rows, so that a crash leaves position and rows in step.
Status write_copy_state(Connection& connection, const CopyState& state) {
  return connection.execute(
      "UPDATE standby_state SET generation=max(generation, ?1), copy_epoch=?2, position=?3, "
      "is_whole=?4",
      state.generation, state.copy_epoch, state.position, state.is_whole ? 1 : 0);
}

// It never falls, also where an older backup of the archive would give lower ones again.
Status raise_generation(Connection& connection, std::int64_t generation) {
  return connection.execute("UPDATE standby_state SET generation=max(generation, ?1)", generation);
}

// A new file has the shipped schedules alone. The trail is empty in it, and only pruning may delete
// rows of one.
Status begin_copy(Connection& connection) {
  for (const MirrorTable& table : mirror_tables())
    if (table.name != "audit")
      RG_TRY_OK(connection.script(fmt::format("DELETE FROM \"{}\"", table.name).c_str()));
  return connection.script(
      "DELETE FROM distribution; DELETE FROM raw_sample; DELETE FROM point_tail");
}

Status mark_copy_synthetic(Connection& connection) {
  return connection.script(
      fmt::format("PRAGMA application_id={}", kSyntheticApplicationId).c_str());
}

Status put_mirror_rows(Connection& connection, const MirrorRows& rows) {
  const MirrorTable& table = mirror_tables()[rows.table];
  const std::vector<std::int64_t> keys = keys_to_delete(table, rows);
  const std::string sql = fmt::format("DELETE FROM \"{}\" WHERE \"{}\"=?1", table.name, table.key);
  for (const std::int64_t key : keys) {
    Rows deleted = RG_TRY(connection.query(sql, key));
    while (RG_TRY(deleted.next())) {
    }
  }
  return insert_rows(connection, table, rows.cells);
}

namespace {

// Tasks that hold the highest ids.
constexpr std::string_view kLastTasks =
    "(SELECT max(id) FROM task UNION ALL SELECT task FROM attempt WHERE id=(SELECT max(id) FROM "
    "attempt) UNION ALL SELECT task FROM attempt WHERE id=(SELECT attempt FROM rank WHERE "
    "id=(SELECT max(id) FROM rank)))";

// Without foreign keys no delete takes the rows below with it.
Status delete_tasks(Connection& connection, std::int64_t run) {
  const std::string tasks =
      fmt::format("(SELECT id FROM task WHERE run=?1 AND id NOT IN {})", kLastTasks);
  const std::string attempts = fmt::format("(SELECT id FROM attempt WHERE task IN {})", tasks);
  RG_TRY_OK(connection.execute(
      fmt::format("DELETE FROM note WHERE rank IN (SELECT id FROM rank WHERE attempt IN {})",
                  attempts),
      run));
  RG_TRY_OK(connection.execute(fmt::format("DELETE FROM rank WHERE attempt IN {}", attempts), run));
  RG_TRY_OK(connection.execute(fmt::format("DELETE FROM attempt WHERE task IN {}", tasks), run));
  RG_TRY_OK(connection.execute(fmt::format("DELETE FROM task_rank WHERE task IN {}", tasks), run));
  RG_TRY_OK(connection.execute(
      fmt::format("DELETE FROM task WHERE run=?1 AND id NOT IN {}", kLastTasks), run));
  return connection.execute("DELETE FROM task_rest WHERE run=?1", run);
}

}  // namespace

Result<bool> drop_pruned_run(Connection& connection) {
  const auto run = RG_TRY(connection.integer(
      fmt::format(
          "SELECT id FROM run WHERE pruned=?1 AND (EXISTS (SELECT 1 FROM task WHERE "
          "task.run=run.id AND task.id NOT IN {}) OR EXISTS (SELECT 1 FROM task CROSS JOIN "
          "attempt ON attempt.task=task.id CROSS JOIN rank ON rank.attempt=attempt.id CROSS JOIN "
          "point ON point.id BETWEEN rank.id << 20 AND (rank.id << 20) + 1048575 WHERE "
          "task.run=run.id)) LIMIT 1",
          kLastTasks),
      kPrunedPoints));
  if (!run) return false;
  const auto ranks = RG_TRY(connection.column<std::int64_t>(
      "SELECT rank.id FROM task CROSS JOIN attempt ON attempt.task=task.id CROSS JOIN rank ON "
      "rank.attempt=attempt.id WHERE task.run=?1",
      *run));
  for (const std::int64_t rank : ranks)
    for (const char* points : {"point_tail WHERE point", "point WHERE id"})
      RG_TRY_OK(connection.execute(
          fmt::format("DELETE FROM {} BETWEEN ?1 << 20 AND (?1 << 20) + 1048575", points), rank));
  RG_TRY_OK(delete_tasks(connection, *run));
  return true;
}

// The outbox keeps a row with the number of the archive's mark, so that its numbers continue.
Status inherit(Connection& connection, const Inheritance& from) {
  RG_TRY_OK(connection.execute("DELETE FROM mirror_outbox"));
  if (from.outbox_through > 0)
    RG_TRY_OK(connection.execute("INSERT INTO mirror_outbox (id, source, key) VALUES (?1, 0, 0)",
                                 from.outbox_through));
  RG_TRY_OK(connection.execute("DELETE FROM mirror_start"));
  if (!from.start.empty())
    RG_TRY_OK(connection.execute("INSERT INTO mirror_start (token, last_id) VALUES (?1, ?2)",
                                 from.start, std::max(from.reaches, from.outbox_through)));
  RG_TRY_OK(connection.execute(
      "UPDATE mirror_state SET store_id=?1, arming=?2, is_on=1, even_at=0, is_pruning=0",
      from.store_id, from.arming));
  for (const SpoolMark& mark : from.spool_marks)
    RG_TRY_OK(connection.execute("UPDATE node SET spool_through=?2 WHERE id=?1", mark.node,
                                 mark.through));
  return connection.execute(
      "UPDATE standby_state SET generation=max(generation, ?1), copy_epoch=0, position=0, "
      "is_whole=0",
      from.generation);
}

}  // namespace railgauge::store
