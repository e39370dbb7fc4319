#include "controller/mirror/archive_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/mirror/copy_rows.h"
#include "controller/store/outbox/mirror_tables.h"
#include "controller/store/outbox/warm_copy.h"

namespace railgauge::mirror {
namespace {

using store::MirrorColumn;
using store::MirrorKind;
using store::MirrorTable;

constexpr int kPageRows = 10'000;
// By which a point may be earlier than its run, at most.
constexpr double kClockSeconds = 86'400;
constexpr double kEndOfTime = 253'402'300'799.0;  // the year 9999
constexpr std::size_t kKeysAtOnce = 4'000;
// Ids of points are rank * 2^20 + sequence; ranks that are so near are read as one stretch.
constexpr std::int64_t kNearIds = std::int64_t{64} << 20;

// Times are whole microseconds or milliseconds since 1970.
std::string expression_of(const MirrorTable& table, const MirrorColumn& column) {
  const std::string name = fmt::format("\"{}\"", column_name(column));
  switch (column.kind) {
    case MirrorKind::kSeconds:
      return fmt::format("(extract(epoch FROM {})*1000000)::bigint", name);
    case MirrorKind::kMilliseconds:
      return fmt::format("(extract(epoch FROM {})*1000)::bigint", name);
    default:
      break;
  }
  static_cast<void>(table);
  return name;
}

std::string select_of(const MirrorTable& table, std::int64_t site, const std::string& where) {
  std::vector<std::string> columns;
  for (const MirrorColumn& column : table.columns) columns.push_back(expression_of(table, column));
  return fmt::format("SELECT {} FROM railgauge.\"{}\" WHERE site={}{}", fmt::join(columns, ", "),
                     table.name, site, where);
}

// Content by its digest, part after part.
Result<std::string> read_blob(pq::Connection& archive, std::string_view digest) {
  const pq::Answer parts = RG_TRY(archive.query(
      fmt::format("SELECT body FROM railgauge.blob WHERE digest='{}' ORDER BY part", digest)));
  if (parts.rows() == 0)
    return fail(Code::kDataLoss, "the archive lacks the content {}", digest.substr(0, 18));
  std::string bytes;
  for (int row = 0; row < parts.rows(); ++row) bytes += parts.bytes(row, 0);
  return bytes;
}

Result<store::MirrorCell> cell_of(pq::Connection& archive, const pq::Answer& answer, int row,
                                  int column, MirrorKind kind) {
  if (answer.is_null(row, column)) return store::MirrorCell();
  switch (kind) {
    case MirrorKind::kInteger:
    case MirrorKind::kMilliseconds:
      return store::MirrorCell(answer.integer(row, column));
    case MirrorKind::kReal:
      return store::MirrorCell(answer.real(row, column));
    case MirrorKind::kSeconds:
      return store::MirrorCell(static_cast<double>(answer.integer(row, column)) / 1e6);
    case MirrorKind::kText:
      return store::MirrorCell(std::string(answer.text(row, column)));
    case MirrorKind::kBlob:
      return store::MirrorCell(RG_TRY(read_blob(archive, answer.text(row, column))));
  }
  return store::MirrorCell();
}

Status append_rows(pq::Connection& archive, const pq::Answer& answer, store::MirrorRows& rows) {
  const MirrorTable& table = store::mirror_tables()[rows.table];
  for (int row = 0; row < answer.rows(); ++row) {
    int column = 0;
    for (const MirrorColumn& wanted : table.columns) {
      rows.cells.push_back(RG_TRY(cell_of(archive, answer, row, column, wanted.kind)));
      ++column;
    }
  }
  return {};
}

// Stretches of ids that hold all changed points, and at worst others that are there as well.
std::vector<std::pair<std::int64_t, std::int64_t>> stretches_of(
    std::span<const store::MirrorChange> changes) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (const store::MirrorChange& change : changes) all.emplace_back(change.key, change.last);
  std::ranges::sort(all);
  std::vector<std::pair<std::int64_t, std::int64_t>> joined;
  for (const auto& [first, last] : all) {
    if (!joined.empty() && first - joined.back().second <= kNearIds)
      joined.back().second = std::max(joined.back().second, last);
    else
      joined.emplace_back(first, last);
  }
  return joined;
}

// The end of a WHERE clause that leaves the tasks of these runs out. All conditions are of one
// column that is a key or a partition's: a cursor begins at once, however much is left out.
std::string condition_without(const PrunedRuns& runs, std::string_view table) {
  if (runs.first_task == 0) return "";
  if (table == "task") return fmt::format(" AND id>={}", runs.first_task);
  if (table == "task_rank" || table == "attempt")
    return fmt::format(" AND task>={}", runs.first_task);
  if (table == "rank") return fmt::format(" AND attempt>={}", runs.first_attempt);
  if (table == "note") return fmt::format(" AND rank>={}", runs.first_rank);
  if (table == "point") return fmt::format(" AND measured_at>=to_timestamp({:.6f})", runs.since);
  return "";
}

// A cursor, so that rows of any number take the memory of a page, and no statement is long.
Status read_pages(pq::Connection& archive, std::size_t table, const std::string& select,
                  const TakeRows& take) {
  RG_TRY_OK(archive.execute("DECLARE railgauge_copy NO SCROLL CURSOR FOR " + select));
  for (;;) {
    const pq::Answer page =
        RG_TRY(archive.query(fmt::format("FETCH FORWARD {} FROM railgauge_copy", kPageRows)));
    store::MirrorRows rows{.table = table};
    RG_TRY_OK(append_rows(archive, page, rows));
    if (page.rows() > 0) RG_TRY_OK(take(rows));
    if (page.rows() < kPageRows) break;
  }
  return archive.execute("CLOSE railgauge_copy");
}

Status read_points(pq::Connection& archive, std::int64_t site, std::size_t table,
                   std::span<const store::MirrorChange> changes, const TakeRows& take) {
  for (const auto& [first, last] : stretches_of(changes))
    RG_TRY_OK(read_pages(archive, table,
                         select_of(store::mirror_tables()[table], site,
                                   fmt::format(" AND id BETWEEN {} AND {}", first, last)),
                         take));
  return {};
}

}  // namespace

// The newest change is read with the rest, so that a snapshot has one end. Where all changes are
// dropped it is the last one of them.
Result<std::optional<ArchivedSite>> read_archived_site(pq::Connection& archive,
                                                       const std::string& name) {
  const pq::Answer row = RG_TRY(archive.query(
      "SELECT site, store_id, start, arming, outbox_through, copy_epoch, changes_from, "
      "coalesce((SELECT max(position) FROM railgauge.change c WHERE c.site=s.site), changes_from), "
      "has_changes AND NOT EXISTS (SELECT 1 FROM railgauge.walk w WHERE w.site=s.site AND NOT "
      "w.is_done), is_synthetic, greatest(reaches, outbox_through) FROM railgauge.site s WHERE "
      "name=$1",
      {name}));
  if (row.rows() == 0) return std::nullopt;
  return ArchivedSite{.site = row.integer(0, 0),
                      .store_id = std::string(row.text(0, 1)),
                      .start = std::string(row.text(0, 2)),
                      .arming = row.integer(0, 3),
                      .outbox_through = row.integer(0, 4),
                      .copy_epoch = row.integer(0, 5),
                      .changes_from = row.integer(0, 6),
                      .newest = row.integer(0, 7),
                      .is_complete = row.text(0, 8) == "t",
                      .is_synthetic = row.text(0, 9) == "t",
                      .reaches = row.integer(0, 10)};
}

// A key that changed several times is read once; of a stretch of points the longest counts. They
// are sorted by table, in the order in which tables refer to each other.
Result<ArchiveChanges> read_changes(pq::Connection& archive, std::int64_t site, std::int64_t after,
                                    std::int64_t limit) {
  const pq::Answer rows = RG_TRY(archive.query(fmt::format(
      "SELECT position, source, key, coalesce(last, key) FROM railgauge.change WHERE site={} AND "
      "position>{} ORDER BY position LIMIT {}",
      site, after, limit)));
  ArchiveChanges found{.through = after, .read = rows.rows()};
  std::map<std::pair<std::size_t, std::int64_t>, std::int64_t> last;
  for (int row = 0; row < rows.rows(); ++row) {
    found.through = rows.integer(row, 0);
    std::int64_t& end =
        last[{static_cast<std::size_t>(rows.integer(row, 1)), rows.integer(row, 2)}];
    end = std::max(end, rows.integer(row, 3));
  }
  for (const auto& [named, end] : last)
    found.changes.push_back({.source = named.first, .key = named.second, .last = end});
  return found;
}

// Nodes that never delivered have none; their agents send everything that their spools have.
Result<std::vector<store::SpoolMark>> read_spool_marks(pq::Connection& archive, std::int64_t site) {
  const pq::Answer rows = RG_TRY(archive.query(
      fmt::format("SELECT node, through FROM railgauge.spool_mark WHERE site={}", site)));
  std::vector<store::SpoolMark> marks;
  for (int row = 0; row < rows.rows(); ++row)
    marks.push_back({.node = rows.integer(row, 0), .through = rows.integer(row, 1)});
  return marks;
}

// Nodes' clocks are an hour off at most, or the time is the controller's.
Result<PrunedRuns> read_pruned_runs(pq::Connection& archive, std::int64_t site) {
  const pq::Answer first = RG_TRY(archive.query(fmt::format(
      "SELECT count(*) FILTER (WHERE pruned={1}), min(id) FILTER (WHERE coalesce(pruned, 0)<>{1}), "
      "extract(epoch FROM min(created_at) FILTER (WHERE coalesce(pruned, 0)<>{1})) FROM "
      "railgauge.run WHERE site={0}",
      site, store::kPrunedPoints)));
  constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
  if (first.integer(0, 0) == 0) return PrunedRuns();
  if (first.is_null(0, 1))
    return PrunedRuns{
        .first_task = kNone, .first_attempt = kNone, .first_rank = kNone, .since = kEndOfTime};
  const pq::Answer found = RG_TRY(archive.query(fmt::format(
      "WITH t AS (SELECT min(id) AS id FROM railgauge.task WHERE site={0} AND run>={1}), a AS "
      "(SELECT min(id) AS id FROM railgauge.attempt WHERE site={0} AND task>=(SELECT id FROM t)), "
      "r AS (SELECT min(id) AS id FROM railgauge.rank WHERE site={0} AND attempt>=(SELECT id FROM "
      "a)) SELECT (SELECT id FROM t), (SELECT id FROM a), (SELECT id FROM r)",
      site, first.integer(0, 1))));
  const auto or_none = [&](int column) {
    return found.is_null(0, column) ? kNone : found.integer(0, column);
  };
  return PrunedRuns{.first_task = or_none(0),
                    .first_attempt = or_none(1),
                    .first_rank = or_none(2),
                    .since = first.real(0, 2) - kClockSeconds};
}

Status read_last_tasks(pq::Connection& archive, std::int64_t site, const TakeRows& take) {
  const pq::Answer tasks = RG_TRY(archive.query(fmt::format(
      "SELECT max(id) FROM railgauge.task WHERE site={0} UNION SELECT task FROM railgauge.attempt "
      "WHERE site={0} AND id=(SELECT max(id) FROM railgauge.attempt WHERE site={0}) UNION SELECT "
      "task FROM railgauge.attempt WHERE site={0} AND id=(SELECT attempt FROM railgauge.rank WHERE "
      "site={0} AND id=(SELECT max(id) FROM railgauge.rank WHERE site={0}))",
      site)));
  std::vector<std::int64_t> ids;
  for (int row = 0; row < tasks.rows(); ++row)
    if (!tasks.is_null(row, 0)) ids.push_back(tasks.integer(row, 0));
  if (ids.empty()) return {};
  const std::string of_tasks = fmt::format("task IN ({})", fmt::join(ids, ","));
  const std::string attempts =
      fmt::format("(SELECT id FROM railgauge.attempt WHERE site={} AND {})", site, of_tasks);
  const std::string ranks = fmt::format(
      "(SELECT id FROM railgauge.rank WHERE site={} AND attempt IN {})", site, attempts);
  const std::vector<std::pair<std::string_view, std::string>> wanted{
      {"task", fmt::format("id IN ({})", fmt::join(ids, ","))},
      {"task_rank", of_tasks},
      {"attempt", of_tasks},
      {"rank", "attempt IN " + attempts},
      {"note", "rank IN " + ranks}};
  for (const auto& [name, where] : wanted) {
    const std::size_t table = store::mirror_table_number(name);
    RG_TRY_OK(read_pages(archive, table,
                         select_of(store::mirror_tables()[table], site, " AND " + where), take));
  }
  return {};
}

Status read_table(pq::Connection& archive, std::int64_t site, std::size_t table,
                  const PrunedRuns& left_out, const TakeRows& take) {
  const MirrorTable& wanted = store::mirror_tables()[table];
  return read_pages(archive, table,
                    select_of(wanted, site, condition_without(left_out, wanted.name)), take);
}

// Keys without a row are of deleted ones; the caller sees them in MirrorRows::keys.
Status read_changed_rows(pq::Connection& archive, std::int64_t site, std::size_t table,
                         std::span<const store::MirrorChange> changes, const TakeRows& take) {
  const MirrorTable& wanted = store::mirror_tables()[table];
  if (wanted.name == "point") return read_points(archive, site, table, changes, take);
  for (std::size_t begin = 0; begin < changes.size(); begin += kKeysAtOnce) {
    store::MirrorRows rows{.table = table};
    for (const store::MirrorChange& change :
         changes.subspan(begin, std::min(kKeysAtOnce, changes.size() - begin)))
      rows.keys.push_back(change.key);
    const pq::Answer answer =
        RG_TRY(archive.query(select_of(wanted, site,
                                       fmt::format(" AND \"{}\"=ANY('{{{}}}'::bigint[])",
                                                   wanted.key, fmt::join(rows.keys, ",")))));
    RG_TRY_OK(append_rows(archive, answer, rows));
    RG_TRY_OK(take(rows));
  }
  return {};
}

}  // namespace railgauge::mirror
