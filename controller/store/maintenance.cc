#include "controller/store/maintenance.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "controller/store/schema.h"
#include "kernels/core/handle.h"

namespace railgauge::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxProblems = 100;
constexpr double kBusySeconds = 10;

struct FileTraits {
  using Type = int;
  static Type empty() { return -1; }
  static void release(Type raw) { ::close(raw); }
};
using File = Handle<FileTraits>;

Error file_error(std::string_view act, const std::string& path, int error) {
  const Code code = error == ENOSPC                                       ? Code::kResourceExhausted
                    : error == EACCES || error == EROFS || error == EPERM ? Code::kPermissionDenied
                                                                          : Code::kUnavailable;
  return {code, fmt::format("{}: {}: {}", path, act, std::strerror(error))};
}

Status sync_path(const std::string& path, int flags) {
  const File file(::open(path.c_str(), flags | O_CLOEXEC));
  if (file.get() < 0 || ::fsync(file.get()) != 0)
    return tl::unexpected(file_error("sync", path, errno));
  return {};
}

std::string folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

// On the disk under its name, both.
Status publish(const std::string& part, const std::string& target) {
  RG_TRY_OK(sync_path(part, O_RDWR));
  std::error_code error;
  fs::rename(part, target, error);
  if (error) return tl::unexpected(file_error("rename", part, error.value()));
  return sync_path(folder_of(target), O_RDONLY | O_DIRECTORY);
}

// Whether any program has it open: SQLite in WAL mode holds a shared lock on these bytes.
bool is_open_elsewhere(const std::string& path) {
  constexpr off_t kPendingByte = 0x40000000;
  constexpr off_t kLockBytes = 512;
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kPendingByte;
  lock.l_len = kLockBytes;
  return ::fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Status check_backup(const std::string& backup) {
  Connection connection = RG_TRY(open_for_reading(backup, kBusySeconds));
  RG_TRY_OK(check_version(connection));
  const std::vector<std::string> problems = RG_TRY(find_problems(connection));
  if (problems.empty()) return {};
  return fail(Code::kDataLoss,
              fmt::format("backup {}: {} problems, the first: {}; take another one", backup,
                          problems.size(), problems.front()));
}

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
                                "WHERE rank.id=point.id >> 31)"));
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
  {
    Rows rows = RG_TRY(connection.query(
        "SELECT page.name, coalesce(object.type, 'table'), pgsize, payload, ncell, "
        "coalesce(tbl_name, page.name) FROM dbstat('main', 1) AS page LEFT JOIN sqlite_schema AS "
        "object ON object.name=page.name ORDER BY pgsize DESC"));
    while (RG_TRY(rows.next()))
      space.parts.push_back({.name = rows.text(0),
                             .kind = rows.text(1),
                             .table = rows.text(5),
                             .bytes = rows.real(2),
                             .payload_bytes = rows.real(3),
                             .entries = rows.real(4)});
  }
  Rows rows = RG_TRY(connection.query(
      "SELECT (SELECT min(created_at) FROM run), (SELECT max(created_at) FROM run), "
      "(SELECT count(*) FROM run), (SELECT count(*) FROM point), (SELECT count(*) FROM node)"));
  if (!RG_TRY(rows.next())) return space;
  space.first_run_at = rows.optional_real(0);
  space.last_run_at = rows.optional_real(1);
  space.runs = rows.real(2);
  space.points = rows.real(3);
  space.nodes = rows.real(4);
  return space;
}

Status back_up(const std::string& database, const std::string& target) {
  std::error_code ignored;
  if (fs::exists(target, ignored))
    return fail(Code::kAlreadyExists,
                fmt::format("backup {}: this file is there already; name another", target));
  const std::string part = target + ".part";
  fs::remove(part, ignored);  // of a backup that was killed
  Status copied = [&]() -> Status {
    Connection connection = RG_TRY(open_for_reading(database, kBusySeconds));
    return connection.execute("VACUUM INTO ?1", part);
  }();
  if (copied) copied = publish(part, target);
  if (!copied) fs::remove(part, ignored);
  if (!copied)
    return fail(copied.error().code, fmt::format("backup {}: {}", target, copied.error().message));
  return {};
}

Result<std::string> restore(const std::string& backup, const std::string& database) {
  RG_TRY_OK(check_backup(backup));
  if (is_open_elsewhere(database))
    return fail(Code::kFailedPrecondition,
                fmt::format("store {}: restore: a program has it open; stop railgauge-controller",
                            database));
  std::error_code error;
  const std::string part = database + ".part";
  if (!fs::copy_file(backup, part, fs::copy_options::overwrite_existing, error))
    return tl::unexpected(file_error("copy the backup to", part, error.value()));
  std::string kept;
  if (fs::exists(database, error)) {
    kept = fmt::format("{}.replaced-{:%Y%m%d-%H%M%S}", database, fmt::gmtime(std::time(nullptr)));
    // The log belongs to the old file: with the new one it would be taken for its own.
    for (const char* suffix : {"-wal", "-shm", ""}) {
      if (!fs::exists(database + suffix, error)) continue;
      fs::rename(database + suffix, kept + suffix, error);
      if (error) return tl::unexpected(file_error("keep as " + kept, database, error.value()));
    }
  }
  RG_TRY_OK(publish(part, database));
  return kept;
}

// --- retention
// --------------------------------------------------------------------------------------

Result<std::vector<std::int64_t>> runs_to_prune(Connection& connection, PruneLevel level,
                                                double before) {
  std::vector<std::int64_t> runs;
  Rows rows = RG_TRY(connection.query(
      "SELECT id FROM run WHERE pruned<?1 AND created_at<?2 AND state='ended' ORDER BY id",
      static_cast<int>(level), before));
  while (RG_TRY(rows.next())) runs.push_back(rows.integer(0));
  return runs;
}

Result<std::vector<std::int64_t>> ranks_of_run(Connection& connection, std::int64_t run) {
  std::vector<std::int64_t> ranks;
  Rows rows = RG_TRY(connection.query(
      "SELECT rank.id FROM task CROSS JOIN attempt ON attempt.task=task.id CROSS JOIN rank ON "
      "rank.attempt=attempt.id WHERE task.run=?1 ORDER BY rank.id",
      run));
  while (RG_TRY(rows.next())) ranks.push_back(rows.integer(0));
  return ranks;
}

namespace {

// Points of attempts that count go into the day's figures.
constexpr std::string_view kRollUp =
    "INSERT INTO series_day (series, day, point_count, median, lowest, highest) "
    "SELECT series, CAST(floor(measured_at / 86400) AS INTEGER) AS day, count(*), avg(median), "
    "min(median), max(median) FROM point WHERE id BETWEEN ?1 << 31 AND (?1 << 31) + 2147483647 "
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
      return "DELETE FROM raw_sample WHERE point BETWEEN ?1 << 31 AND (?1 << 31) + 2147483647";
    case PruneLevel::kDistributions:
      return "DELETE FROM distribution WHERE point BETWEEN ?1 << 31 AND (?1 << 31) + 2147483647";
    case PruneLevel::kPoints:
      return "DELETE FROM point WHERE id BETWEEN ?1 << 31 AND (?1 << 31) + 2147483647";
  }
  return "";
}

}  // namespace

Result<std::int64_t> prune_ranks(Connection& connection, PruneLevel level,
                                 std::span<const std::int64_t> ranks) {
  std::int64_t taken = 0;
  for (const std::int64_t rank : ranks) {
    if (level == PruneLevel::kPoints) RG_TRY_OK(connection.execute(kRollUp, rank));
    RG_TRY_OK(connection.execute(sql_of(level), rank));
    taken += connection.changes();
  }
  return taken;
}

Status mark_pruned(Connection& connection, PruneLevel level, std::int64_t run) {
  if (level == PruneLevel::kPoints)
    RG_TRY_OK(connection.execute("DELETE FROM task WHERE run=?1", run));
  return connection.execute("UPDATE run SET pruned=max(pruned, ?2) WHERE id=?1", run,
                            static_cast<int>(level));
}

}  // namespace railgauge::store
