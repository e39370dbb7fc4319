#include "controller/store/outbox/mirror_outbox.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/store/outbox/mirror_tables.h"
#include "controller/store/sqlite/sqlite.h"

namespace railgauge::store {
namespace {

constexpr std::size_t kCellBytes = 16;  // of a number, for the bound

// The table's columns in quotes: some are words of SQL.
std::string names_of(const MirrorTable& table, bool quiet_too) {
  std::vector<std::string> names;
  for (const MirrorColumn& column : table.columns)
    if (quiet_too || !column.is_quiet) names.push_back(fmt::format("\"{}\"", column.name));
  return fmt::format("{}", fmt::join(names, ", "));
}

// `row`: NEW or OLD, whose key is noted.
std::string trigger_of(const MirrorTable& table, std::size_t number, std::string_view event,
                       std::string_view row, std::string_view when = "") {
  return fmt::format(
      "CREATE TEMP TRIGGER mirror_{0}_{1} AFTER {2} ON main.\"{0}\" {6} BEGIN INSERT INTO "
      "mirror_outbox (source, key) VALUES ({3}, {4}.\"{5}\"); END;",
      table.name, event.substr(0, 6), event, number, row, table.key, when);
}

// Points have none: ingest/point_ranges.h notes them.
std::string triggers_of(const MirrorTable& table, std::size_t number) {
  if (table.name == "point") return "";
  std::string sql = trigger_of(table, number, "INSERT", "NEW");
  sql += trigger_of(table, number, fmt::format("UPDATE OF {}", names_of(table, false)), "NEW");
  if (table.deletes == MirrorDeletes::kAlways) sql += trigger_of(table, number, "DELETE", "OLD");
  if (table.deletes == MirrorDeletes::kNotByRetention)
    sql +=
        trigger_of(table, number, "DELETE", "OLD", "WHEN (SELECT is_pruning FROM mirror_state)=0");
  return sql;
}

// In the order of keys, so that rows of one key are together.
std::string select_of(const MirrorTable& table, std::string_view where) {
  return fmt::format("SELECT {} FROM {} WHERE {} ORDER BY \"{}\"", names_of(table, true),
                     source_of(table), where, table.key);
}

// Reads the cells of a row; returns their bytes.
std::size_t take_row(const Rows& rows, const MirrorTable& table, std::vector<MirrorCell>& cells) {
  std::size_t bytes = table.columns.size() * kCellBytes;
  int column = 0;
  for (const MirrorColumn& wanted : table.columns) {
    MirrorCell& cell = cells.emplace_back();
    if (!rows.is_null(column)) {
      switch (wanted.kind) {
        case MirrorKind::kInteger:
        case MirrorKind::kMilliseconds:
          cell = rows.integer(column);
          break;
        case MirrorKind::kReal:
        case MirrorKind::kSeconds:
          cell = rows.real(column);
          break;
        case MirrorKind::kText:
          bytes += cell.emplace<std::string>(rows.text(column)).size();
          break;
        case MirrorKind::kBlob:
          bytes += cell.emplace<std::string>(rows.blob(column)).size();
          break;
      }
    }
    ++column;
  }
  return bytes;
}

// Texts of statements live as long as the process, since a connection keeps them by address.
const std::string& select_by_keys(std::size_t table) {
  static const std::vector<std::string> kTexts = [] {
    std::vector<std::string> texts;
    for (const MirrorTable& one : mirror_tables())
      texts.push_back(select_of(one, fmt::format("\"{}\" BETWEEN ?1 AND ?2", one.key)));
    return texts;
  }();
  return kTexts[table];
}

// A row of the outbox.
struct Entry {
  std::int64_t id = 0;
  std::size_t source = 0;
  std::int64_t key = 0;
  std::int64_t last = 0;
};

Result<std::vector<Entry>> read_entries(Connection& connection, std::int64_t after,
                                        std::size_t limit) {
  return connection.list(
      Columns{&Entry::id, &Entry::source, &Entry::key, &Entry::last},
      "SELECT id, source, key, coalesce(last, key) FROM mirror_outbox WHERE id>?1 ORDER BY id "
      "LIMIT ?2",
      after, limit);
}

// Notes how far the present start came.
Status end_start(Connection& connection) {
  return connection.execute(
      "UPDATE mirror_start SET last_id=(SELECT coalesce(max(id), 0) FROM mirror_outbox) WHERE "
      "last_id IS NULL");
}

// Earlier starts are kept up to a bound: an archive that stopped at an older one is refused.
Status begin_start(Connection& connection) {
  constexpr std::int64_t kKeptStarts = 1'000;
  RG_TRY_OK(end_start(connection));
  RG_TRY_OK(
      connection.execute("INSERT INTO mirror_start (token) VALUES (lower(hex(randomblob(16))))"));
  return connection.execute(
      "DELETE FROM mirror_start WHERE id<=(SELECT max(id) FROM mirror_start) - ?1", kKeptStarts);
}

}  // namespace

std::size_t MirrorRows::count() const {
  return cells.size() / mirror_tables()[table].columns.size();
}

Status arm_mirror(Connection& connection) {
  RG_TRY_OK(begin_start(connection));
  RG_TRY_OK(connection.execute(
      "UPDATE mirror_state SET store_id=CASE store_id WHEN '' THEN lower(hex(randomblob(16))) ELSE "
      "store_id END, arming=arming + 1, is_on=1 WHERE is_on=0"));
  std::string sql;
  std::size_t number = 0;
  for (const MirrorTable& table : mirror_tables()) sql += triggers_of(table, number++);
  return connection.script(sql.c_str());
}

Status arm_mirror_anew(Connection& connection) {
  RG_TRY_OK(connection.execute("UPDATE mirror_state SET is_on=0"));
  return arm_mirror(connection);
}

Status disarm_mirror(Connection& connection) {
  const auto was_on = RG_TRY(connection.integer("SELECT is_on FROM mirror_state"));
  if (was_on.value_or(0) == 0) return {};
  RG_TRY_OK(end_start(connection));
  RG_TRY_OK(connection.execute("DELETE FROM mirror_outbox"));
  return connection.execute("UPDATE mirror_state SET is_on=0");
}

// The newest row stays: without it SQLite would number the next one 1.
Status trim_mirror(Connection& connection, std::int64_t through, std::int64_t limit,
                   double even_at) {
  RG_TRY_OK(connection.execute(
      "DELETE FROM mirror_outbox WHERE id<=min(?1, (SELECT min(id) FROM mirror_outbox) + ?2 - 1) "
      "AND id<(SELECT max(id) FROM mirror_outbox)",
      through, limit));
  if (even_at <= 0) return {};
  return connection.execute("UPDATE mirror_state SET even_at=?1", even_at);
}

// The outbox has no gaps but those of trimming, so its ends give its size.
Status bound_mirror(Connection& connection, std::int64_t most) {
  const auto rows =
      RG_TRY(connection.integer("SELECT coalesce(max(id) - min(id) + 1, 0) FROM mirror_outbox"));
  if (rows.value_or(0) <= most) return {};
  RG_TRY_OK(begin_start(connection));
  RG_TRY_OK(connection.execute("DELETE FROM mirror_outbox"));
  return connection.execute("UPDATE mirror_state SET arming=arming + 1");
}

Result<MirrorState> read_mirror_state(Connection& connection) {
  MirrorState state;
  RG_TRY_OK(connection.row(
      std::tie(state.store_id, state.is_on, state.arming, state.even_at, state.oldest,
               state.newest),
      "SELECT store_id, is_on, arming, even_at, (SELECT coalesce(min(id), 0) FROM mirror_outbox), "
      "(SELECT coalesce(max(id), 0) FROM mirror_outbox) FROM mirror_state"));
  RG_TRY_OK(connection.row(std::tie(state.start),
                           "SELECT token FROM mirror_start WHERE last_id IS NULL"));
  return state;
}

Result<std::vector<MirrorStart>> read_mirror_starts(Connection& connection) {
  return connection.list(Columns{&MirrorStart::token, &MirrorStart::last_id},
                         "SELECT token, last_id FROM mirror_start WHERE last_id IS NOT NULL");
}

Result<MirrorBatch> read_mirror_batch(Connection& connection, std::int64_t after,
                                      MirrorBounds bounds) {
  const std::vector<Entry> entries = RG_TRY(read_entries(connection, after, bounds.entries));
  const std::size_t tables = mirror_tables().size();
  std::vector<MirrorRows> by_table(tables);
  std::vector<std::unordered_set<std::int64_t>> seen(tables);
  MirrorBatch batch{.through = after};
  for (const Entry& entry : entries) {
    if (batch.entries > 0 && batch.bytes >= bounds.bytes) break;
    batch.through = entry.id;
    ++batch.entries;
    // A newer program noted it, which was rolled back since.
    if (entry.source >= tables || !seen[entry.source].insert(entry.key).second) continue;
    batch.changes.push_back({.source = entry.source, .key = entry.key, .last = entry.last});
    MirrorRows& rows = by_table[entry.source];
    rows.keys.push_back(entry.key);
    Rows found = RG_TRY(connection.query(select_by_keys(entry.source), entry.key, entry.last));
    while (RG_TRY(found.next()))
      batch.bytes += take_row(found, mirror_tables()[entry.source], rows.cells);
  }
  for (std::size_t table = 0; table < tables; ++table) {
    if (by_table[table].keys.empty()) continue;
    by_table[table].table = table;
    batch.tables.push_back(std::move(by_table[table]));
  }
  // Marks of spools are read in the snapshot of the rows. A batch that is full may have left out
  // records that a mark already covers.
  if (batch.entries == entries.size() && entries.size() < bounds.entries)
    batch.spool_marks = RG_TRY(
        connection.list(Columns{&SpoolMark::node, &SpoolMark::through},
                        "SELECT id, spool_through FROM node WHERE spool_through IS NOT NULL"));
  return batch;
}

Result<MirrorBatch> walk_mirror_table(Connection& connection, std::size_t table, std::int64_t after,
                                      MirrorBounds bounds) {
  const MirrorTable& wanted = mirror_tables()[table];
  MirrorBatch batch{.through = after};
  MirrorRows rows{.table = table};
  // A page of keys first: rows of one key are never parted.
  rows.keys = RG_TRY(connection.column<std::int64_t>(
      fmt::format("SELECT DISTINCT \"{0}\" FROM \"{1}\" WHERE \"{0}\">?1 ORDER BY 1 LIMIT ?2",
                  wanted.key, wanted.name),
      after, bounds.entries));
  for (const std::int64_t key : rows.keys) {
    if (batch.entries > 0 && batch.bytes >= bounds.bytes) break;
    Rows found = RG_TRY(connection.query(select_by_keys(table), key, key));
    while (RG_TRY(found.next())) batch.bytes += take_row(found, wanted, rows.cells);
    batch.through = key;
    ++batch.entries;
  }
  rows.keys.resize(batch.entries);
  if (batch.entries > 0) batch.tables.push_back(std::move(rows));
  return batch;
}

}  // namespace railgauge::store
