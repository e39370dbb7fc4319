#include "controller/store/sqlite/live_backup.h"

#include <fmt/format.h>

namespace railgauge::store {
namespace {

// 8 MB: some ten ms between two of the writer's batches.
constexpr int kStepPages = 2'000;

}  // namespace

// SQLite restarts a backup when another connection writes the source; on the writing connection
// itself it carries the changes along.
Result<std::unique_ptr<LiveBackup>> LiveBackup::begin(Connection& source, const std::string& part) {
  Connection target = RG_TRY(Connection::open(part, Connection::Mode::kCreate, 0));
  // It is synced as a whole before it gets its name.
  RG_TRY_OK(target.script("PRAGMA synchronous=OFF"));
  Handle<BackupTraits> backup(sqlite3_backup_init(target.raw(), "main", source.raw(), "main"));
  if (!backup) return tl::unexpected(target.error("begin a backup"));
  return std::unique_ptr<LiveBackup>(new LiveBackup(std::move(target), std::move(backup)));
}

// BUSY and LOCKED may pass; a full disk does not.
Result<bool> LiveBackup::step() {
  const int code = sqlite3_backup_step(backup_.get(), kStepPages);
  if (code == SQLITE_OK) return true;
  if (code == SQLITE_DONE) return false;
  const int plain = code & 0xff;
  if (plain == SQLITE_BUSY || plain == SQLITE_LOCKED)
    return fail(Code::kUnavailable,
                fmt::format("store: copy to {}: {}", target_.path(), sqlite3_errstr(code)));
  return fail(plain == SQLITE_FULL ? Code::kResourceExhausted : Code::kInternal,
              fmt::format("store: copy to {}: {}", target_.path(), sqlite3_errstr(code)));
}

// The copy inherits WAL mode from the source; a backup is one plain file.
Status LiveBackup::finish() {
  backup_.reset();
  return target_.script("PRAGMA journal_mode=DELETE");
}

}  // namespace railgauge::store
