#include "controller/mirror/merge_sql.h"

#include <chrono>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/mirror/copy_rows.h"
#include "controller/store/outbox/mirror_tables.h"

namespace railgauge::mirror {
namespace {

using store::MirrorColumn;
using store::MirrorTable;

// Columns of the archive's table in the order of the copy.
std::vector<std::string> names_of(const MirrorTable& table) {
  std::vector<std::string> names;
  for (const MirrorColumn& column : table.columns)
    names.push_back(fmt::format("\"{}\"", column_name(column)));
  return names;
}

// Rows that `chosen` selects and the staging table lacks.
std::string delete_sql(const MirrorTable& table, std::int64_t site, const std::string& chosen) {
  std::string same;
  for (std::size_t i = 0; i < table.identity_columns; ++i)
    same += fmt::format(" AND new.\"{0}\"=old.\"{0}\"", column_name(table.columns[i]));
  return fmt::format(
      "DELETE FROM railgauge.\"{0}\" AS old WHERE site={1} AND {2} AND NOT EXISTS (SELECT 1 FROM "
      "pg_temp.\"stage_{0}\" AS new WHERE true{3});\n",
      table.name, site, chosen, same);
}

// A row that is there already is not written again.
std::string conflict_sql(const MirrorTable& table, const std::vector<std::string>& names) {
  if (table.name == "point") return "ON CONFLICT DO NOTHING";
  std::vector<std::string> key{"site"};
  std::vector<std::string> sets;
  std::vector<std::string> old_ones;
  std::vector<std::string> new_ones;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i < table.identity_columns) {
      key.push_back(names[i]);
      continue;
    }
    sets.push_back(fmt::format("{0}=EXCLUDED.{0}", names[i]));
    old_ones.push_back(fmt::format("old.{}", names[i]));
    new_ones.push_back(fmt::format("EXCLUDED.{}", names[i]));
  }
  return fmt::format("ON CONFLICT ({}) DO UPDATE SET {} WHERE ROW({}) IS DISTINCT FROM ROW({})",
                     fmt::join(key, ", "), fmt::join(sets, ", "), fmt::join(old_ones, ", "),
                     fmt::join(new_ones, ", "));
}

}  // namespace

// No keys and no indexes: rows only pass through it.
std::string staging_sql(std::size_t table) {
  const MirrorTable& wanted = store::mirror_tables()[table];
  std::vector<std::string> columns;
  for (const MirrorColumn& column : wanted.columns)
    columns.push_back(fmt::format("\"{}\" {}", column_name(column), column_type(wanted, column)));
  return fmt::format("CREATE TEMP TABLE IF NOT EXISTS \"stage_{}\" ({})", wanted.name,
                     fmt::join(columns, ", "));
}

// The binary form keeps each bit of a double and costs no parsing.
std::string copy_sql(std::size_t table) {
  return fmt::format("COPY pg_temp.\"stage_{}\" FROM STDIN (FORMAT binary)",
                     store::mirror_tables()[table].name);
}

// Deletes come first, while the staging table has the rows that stay.
std::string merge_sql(std::size_t table, std::int64_t site, std::span<const std::int64_t> keys) {
  const MirrorTable& wanted = store::mirror_tables()[table];
  const std::vector<std::string> names = names_of(wanted);
  std::string sql;
  if (wanted.deletes != store::MirrorDeletes::kNever)
    sql =
        delete_sql(wanted, site,
                   fmt::format("\"{}\"=ANY('{{{}}}'::bigint[])", wanted.key, fmt::join(keys, ",")));
  const std::string columns = fmt::format("{}", fmt::join(names, ", "));
  sql += fmt::format(
      "INSERT INTO railgauge.\"{0}\" AS old (site, {1}) SELECT {2}, {1} FROM pg_temp.\"stage_{0}\" "
      "{3};\nTRUNCATE pg_temp.\"stage_{0}\";\n",
      wanted.name, columns, site, conflict_sql(wanted, names));
  return sql;
}

std::string delete_range_sql(std::size_t table, std::int64_t site, std::int64_t after,
                             std::int64_t through) {
  const MirrorTable& wanted = store::mirror_tables()[table];
  if (wanted.deletes != store::MirrorDeletes::kAlways) return "";
  return delete_sql(wanted, site,
                    fmt::format("\"{0}\">{1} AND \"{0}\"<={2}", wanted.key, after, through));
}

// Sorted by name they are sorted by time.
std::string month_name(int month) {
  return fmt::format("point_y{:04}m{:02}", month / 12, month % 12 + 1);
}

// Months are those of UTC, whatever the server's zone.
std::string month_sql(int month) {
  return fmt::format(
      "CREATE TABLE IF NOT EXISTS railgauge.{} PARTITION OF railgauge.point FOR VALUES FROM ('{}') "
      "TO ('{}')",
      month_name(month), month_begin(month), month_begin(month + 1));
}

std::string month_begin(int month) {
  return fmt::format("{:04}-{:02}-01 00:00+00", month / 12, month % 12 + 1);
}

// Locks in the order of a merge: the table of all points first. No copy of the indexes: the month
// gets those of the whole table as it becomes a part of it.
std::string month_from_others_sql(int month) {
  return fmt::format(
      "CREATE TABLE railgauge.{0} (LIKE railgauge.point INCLUDING DEFAULTS INCLUDING "
      "CONSTRAINTS);\n"
      "LOCK TABLE railgauge.point_other IN ACCESS EXCLUSIVE MODE;\n"
      "WITH moved AS (DELETE FROM railgauge.point_other WHERE measured_at>='{1}' AND "
      "measured_at<'{2}' RETURNING *) INSERT INTO railgauge.{0} SELECT * FROM moved;\n"
      "ALTER TABLE railgauge.point ATTACH PARTITION railgauge.{0} FOR VALUES FROM ('{1}') TO "
      "('{2}')",
      month_name(month), month_begin(month), month_begin(month + 1));
}

// Times before 1970 do not reach it: copy_rows.h moves them.
int month_of(double seconds) {
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(
      std::chrono::seconds(static_cast<std::int64_t>(std::floor(seconds)))));
  const std::chrono::year_month_day date(day);
  return static_cast<int>(date.year()) * 12 + static_cast<int>(unsigned(date.month())) - 1;
}

}  // namespace railgauge::mirror
