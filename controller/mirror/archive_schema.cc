#include "controller/mirror/archive_schema.h"

#include <string_view>

#include <fmt/format.h>

#include "controller/mirror/copy_rows.h"
#include "controller/mirror/sql_texts.h"
#include "controller/store/outbox/mirror_tables.h"

namespace railgauge::mirror {
namespace {

using store::MirrorColumn;
using store::MirrorTable;

// A column that a later version adds is added; none is ever taken away.
std::string table_sql(const MirrorTable& table) {
  std::string columns = "site smallint NOT NULL";
  std::string added;
  std::string key = "site";
  std::size_t place = 0;
  for (const MirrorColumn& column : table.columns) {
    const std::string name = column_name(column);
    const std::string_view type = column_type(table, column);
    const bool is_key = place++ < table.identity_columns;
    columns += fmt::format(", \"{}\" {}{}", name, type, is_key ? " NOT NULL" : "");
    if (is_key) key += fmt::format(", \"{}\"", name);
    added += fmt::format("ALTER TABLE railgauge.\"{}\" ADD COLUMN IF NOT EXISTS \"{}\" {};\n",
                         table.name, name, type);
  }
  return fmt::format("CREATE TABLE IF NOT EXISTS railgauge.\"{}\" ({}, PRIMARY KEY ({}));\n{}",
                     table.name, columns, key, added);
}

// Columns that a newer program added would stay empty in rows of this one.
Status check_not_newer(std::int64_t version) {
  if (version <= kSchemaVersion) return {};
  return fail(Code::kFailedPrecondition,
              "archive: its schema has version {}, this program knows {}: a newer Railgauge made "
              "it; update this one",
              version, kSchemaVersion);
}

}  // namespace

Result<std::int64_t> schema_version_of(pq::Connection& database) {
  const pq::Answer found =
      RG_TRY(database.query("SELECT to_regclass('railgauge.schema_version') IS NOT NULL"));
  if (found.text(0, 0) != "t") return -1;
  const pq::Answer version =
      RG_TRY(database.query("SELECT coalesce(max(version), 0) FROM railgauge.schema_version"));
  return version.integer(0, 0);
}

Status commit_durably(pq::Connection& database) {
  return database.execute(
      "SELECT set_config('synchronous_commit', 'on', false) WHERE "
      "current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')");
}

std::string schema_sql() {
  std::string sql(kOwnTables);
  for (const MirrorTable& table : store::mirror_tables())
    sql += table.name == "point" ? std::string(kPoints) : table_sql(table);
  sql += kIndexes;
  sql += kViews;
  sql +=
      fmt::format("INSERT INTO railgauge.schema_version (version) VALUES ({});\n", kSchemaVersion);
  return sql;
}

// A schema of this version needs no rights beyond those of writing rows.
Status ensure_schema(pq::Connection& database) {
  RG_TRY_OK(database.execute("SET client_min_messages=warning"));
  RG_TRY_OK(check_not_newer(RG_TRY(schema_version_of(database))));
  if (RG_TRY(schema_version_of(database)) == kSchemaVersion) return {};
  const Status made = [&]() -> Status {
    RG_TRY_OK(database.execute("BEGIN"));
    // One controller makes it; the others wait and find it made.
    RG_TRY_OK(database.execute("SELECT pg_advisory_xact_lock(5927843)"));
    const std::int64_t version = RG_TRY(schema_version_of(database));
    RG_TRY_OK(check_not_newer(version));
    if (version < kSchemaVersion) RG_TRY_OK(database.script(schema_sql()));
    return database.execute("COMMIT");
  }();
  if (!made) static_cast<void>(database.execute("ROLLBACK"));
  return made;
}

}  // namespace railgauge::mirror
