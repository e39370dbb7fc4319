#include "controller/store/upkeep/schema.h"

#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "controller/store/sqlite/application_id.h"
#include "controller/store/upkeep/backup.h"
#include "controller/store/upkeep/migrations.h"

namespace railgauge::store {
namespace {

Result<std::int64_t> pragma(Connection& connection, std::string_view sql) {
  const auto value = RG_TRY(connection.integer(sql));
  return value.value_or(0);
}

// Returns the file's version. Refuses databases of other programs and of newer versions.
Result<std::int64_t> check_file(Connection& connection) {
  const std::int64_t version = RG_TRY(pragma(connection, "PRAGMA user_version"));
  const std::int64_t application = RG_TRY(pragma(connection, "PRAGMA application_id"));
  const std::int64_t objects = RG_TRY(pragma(connection, "SELECT count(*) FROM sqlite_schema"));
  const bool is_ours = application == kApplicationId || application == kSyntheticApplicationId;
  if (!is_ours && (application != 0 || version != 0 || objects != 0))
    return fail(Code::kFailedPrecondition,
                fmt::format("store {}: open: this is another program's database; name another file",
                            connection.path()));
  if (version > schema_version())
    return fail(Code::kFailedPrecondition,
                fmt::format("store {}: open: written by a newer Railgauge (database version {}, "
                            "this program knows {}); start that one, or restore a backup",
                            connection.path(), version, schema_version()));
  return version;
}

// A migration may make a table anew, for which SQLite wants references unwatched; they are counted
// before it counts.
Status check_references(Connection& connection) {
  const std::int64_t broken =
      RG_TRY(pragma(connection, "SELECT count(*) FROM pragma_foreign_key_check"));
  if (broken == 0) return {};
  return fail(
      Code::kDataLoss,
      fmt::format("store {}: migrate: {} rows refer to rows that are gone; the file is as it "
                  "was, restore a backup",
                  connection.path(), broken));
}

// Without foreign_keys: dropping a table would else delete what refers to it.
Status migrate(Connection& connection) {
  // Read again inside the transaction: another process may have migrated meanwhile.
  RG_TRY_OK(connection.script("BEGIN IMMEDIATE"));
  Status done = [&]() -> Status {
    const std::int64_t from = RG_TRY(check_file(connection));
    for (std::int64_t version = from; version < schema_version(); ++version) {
      RG_TRY_OK(connection.script(kMigrations[static_cast<std::size_t>(version)]));
      RG_TRY_OK(connection.script(fmt::format("PRAGMA user_version={}", version + 1).c_str()));
    }
    // Migrations change rows unnoted: the mirror copies everything anew.
    constexpr std::int64_t kFirstWithMirror = 20;
    if (from >= kFirstWithMirror) RG_TRY_OK(connection.script("UPDATE mirror_state SET is_on=0"));
    if (from == 0)
      RG_TRY_OK(connection.script(fmt::format("PRAGMA application_id={}", kApplicationId).c_str()));
    if (from > 0) RG_TRY_OK(check_references(connection));
    return connection.script("COMMIT");
  }();
  if (!done && connection.in_transaction()) static_cast<void>(connection.script("ROLLBACK"));
  return done;
}

// A copy that was kept by an earlier upgrade, which was rolled back since, lacks what came then.
bool holds_the_same(Connection& database, const std::string& copy) {
  constexpr std::string_view kNewest =
      "SELECT printf('%d %d %d %d %s', (SELECT user_version FROM pragma_user_version), (SELECT "
      "max(id) FROM run), (SELECT max(id) FROM rank), (SELECT max(id) FROM event), (SELECT "
      "max(last_seen_at) FROM node))";
  const auto newest = [&](Connection& connection) -> Result<std::string> {
    std::string text;
    RG_TRY_OK(connection.row(std::tie(text), kNewest));
    return text;
  };
  auto opened = open_for_reading(copy, 1);
  if (!opened) return false;
  const auto theirs = newest(*opened);
  const auto ours = newest(database);
  return theirs && ours && *theirs == *ours;
}

// The older program, to which an upgrade may be rolled back, cannot read what migration makes.
Status keep_a_copy(Connection& connection, const std::string& path) {
  const std::string first = fmt::format("{}.before-{}", path, schema_version());
  std::string copy = first;
  std::error_code ignored;
  for (int more = 2; std::filesystem::exists(copy, ignored); ++more) {
    if (holds_the_same(connection, copy)) return {};  // of an attempt before this
    copy = fmt::format("{}-{}", first, more);
  }
  const Status made = copy_database(path, copy);
  if (made) return {};
  return fail(made.error().code, fmt::format("store {}: migrate: no copy can be kept first: {}",
                                             path, made.error().message));
}

}  // namespace

Status check_version(Connection& connection) {
  const std::int64_t version = RG_TRY(check_file(connection));
  if (version > 0) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("store {}: open: this is no Railgauge database; name another file",
                          connection.path()));
}

std::uint32_t schema_version() { return static_cast<std::uint32_t>(kMigrations.size()); }

Result<Connection> open_and_migrate(const std::string& path, double busy_timeout_seconds,
                                    std::int64_t max_pages) {
  RG_TRY_OK(check_no_restore_pending(path));
  Connection connection =
      RG_TRY(Connection::open(path, Connection::Mode::kCreate, busy_timeout_seconds));
  const std::int64_t version = RG_TRY(check_file(connection));
  // Before the first table: pages that pruning frees can then be given back a few at a time.
  if (version == 0) RG_TRY_OK(connection.script("PRAGMA auto_vacuum=INCREMENTAL"));
  RG_TRY_OK(connection.script("PRAGMA journal_mode=WAL"));
  RG_TRY_OK(connection.script("PRAGMA synchronous=FULL"));
  RG_TRY_OK(connection.script("PRAGMA foreign_keys=OFF"));
  RG_TRY_OK(connection.script("PRAGMA trusted_schema=OFF"));
  // The indexes of series are written all over: their pages should be at hand.
  RG_TRY_OK(connection.script("PRAGMA cache_size=-65536"));
  // Fewer checkpoints write a page of an index less often; the log then has some 16 MB.
  RG_TRY_OK(connection.script("PRAGMA wal_autocheckpoint=4000"));
  RG_TRY_OK(connection.script("PRAGMA secure_delete=OFF"));
  RG_TRY_OK(connection.script("PRAGMA journal_size_limit=67108864"));
  if (max_pages > 0)
    RG_TRY_OK(connection.script(fmt::format("PRAGMA max_page_count={}", max_pages).c_str()));
  if (version < schema_version()) {
    if (version > 0) RG_TRY_OK(keep_a_copy(connection, path));
    RG_TRY_OK(migrate(connection));
  }
  RG_TRY_OK(connection.script("PRAGMA foreign_keys=ON"));
  return connection;
}

Result<Connection> open_for_reading(const std::string& path, double busy_timeout_seconds) {
  Connection connection =
      RG_TRY(Connection::open(path, Connection::Mode::kReadOnly, busy_timeout_seconds));
  RG_TRY_OK(connection.script("PRAGMA trusted_schema=OFF"));
  // A series of a year and more has its points, ranks and tasks on some 13 MB of pages.
  RG_TRY_OK(connection.script("PRAGMA cache_size=-16384"));
  return connection;
}

}  // namespace railgauge::store
