#include "controller/store/upkeep/backup.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "controller/store/sqlite/lock.h"
#include "controller/store/upkeep/maintenance.h"
#include "controller/store/upkeep/schema.h"
#include "kernels/core/base/failpoint.h"
#include "kernels/core/base/owners_rights.h"
#include "kernels/core/text/rfc3339.h"
#include "kernels/core/text/text.h"

namespace railgauge::store {
namespace {

namespace fs = std::filesystem;

constexpr double kBusySeconds = 10;
constexpr const char* kPart = ".part";
constexpr const char* kRestorePart = ".restore-part";
// Holds the name under which the old file is kept, while a restore is under way.
constexpr const char* kMark = ".restoring";
// Holds a line for each restore, for the audit trail of the controller that starts next.
constexpr const char* kNotes = ".restored";

Error file_error(std::string_view act, const std::string& path, int error) {
  const Code code = error == ENOSPC                                       ? Code::kResourceExhausted
                    : error == EACCES || error == EROFS || error == EPERM ? Code::kPermissionDenied
                    : error == EEXIST                                     ? Code::kAlreadyExists
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

Status sync_folder_of(const std::string& path) {
  return sync_path(folder_of(path), O_RDONLY | O_DIRECTORY);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// On the disk under its name, both; nothing is ever replaced.
Status publish(const std::string& part, const std::string& target) {
  RG_TRY_OK(sync_path(part, O_RDWR));
  int failed = ::renameat2(AT_FDCWD, part.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE);
  // Some network file systems know no flag; the target's absence was seen before.
  if (failed != 0 && errno == EINVAL && !exists(target))
    failed = ::rename(part.c_str(), target.c_str());
  if (failed != 0) return tl::unexpected(file_error("rename to " + target, part, errno));
  return sync_folder_of(target);
}

Status check_room(const std::string& file, double bytes) {
  const std::optional<double> free_bytes = free_bytes_beside(file);
  if (!free_bytes || *free_bytes >= bytes) return {};
  return fail(Code::kResourceExhausted,
              fmt::format("{:.0f} MB are needed, {:.0f} MB are free on its file system",
                          bytes / 1e6, *free_bytes / 1e6));
}

// Removes the unfinished file of a copy; returns its error, with the act in front.
Status dropped(const std::string& part, std::string_view act, const std::string& target,
               const Error& error) {
  std::error_code ignored;
  fs::remove(part, ignored);
  return fail(error.code, fmt::format("{} {}: {}", act, target, error.message));
}

// Damage that was copied is no backup.
Status check_copy(const std::string& part, const std::function<bool()>& is_over) {
  Connection connection = RG_TRY(open_for_reading(part, kBusySeconds));
  const Connection::TimeLimit limit(connection, is_over);
  Rows rows = RG_TRY(connection.query("SELECT quick_check FROM pragma_quick_check(1)"));
  if (!RG_TRY(rows.next()) || rows.text(0) == "ok") return {};
  std::string problem = rows.text(0);
  std::ranges::replace(problem, '\n', ' ');
  return fail(Code::kDataLoss,
              fmt::format("the database is damaged: {}; restore an older backup", problem));
}

// A compacted snapshot of an open database, with what its log holds, in a new file.
Status copy_snapshot(Connection& source, const std::string& part,
                     const std::function<bool()>& is_over = {}) {
  std::error_code ignored;
  fs::remove(part, ignored);  // of a copy that was killed
  const Connection::TimeLimit limit(source, is_over);
  return source.execute("VACUUM INTO ?1", part);
}

// Nobody opens the database while this is held; empty when there is no such file. SQLite in WAL
// mode holds a shared lock on these bytes.
Result<File> lock_out_others(const std::string& database) {
  constexpr off_t kPendingByte = 0x40000000;
  constexpr off_t kLockBytes = 512;
  File file(::open(database.c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT) return file;
  if (file.get() < 0) return tl::unexpected(file_error("open", database, errno));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kPendingByte;
  lock.l_len = kLockBytes;
  // The lock is the descriptor's, so that it is not lost with another one of this process.
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) == 0) return file;
  if (errno != EAGAIN && errno != EACCES)
    return tl::unexpected(file_error("lock", database, errno));
  return fail(
      Code::kFailedPrecondition,
      fmt::format("store {}: restore: a program has it open; stop railgauge-controller", database));
}

Status check_backup(const std::string& backup, const std::string& database,
                    const std::function<bool()>& is_over) {
  std::error_code ignored;
  if (fs::equivalent(backup, database, ignored))
    return fail(Code::kInvalidArgument,
                fmt::format("backup {}: it is the database itself; name a backup", backup));
  Connection connection = RG_TRY(open_for_reading(backup, kBusySeconds));
  const Connection::TimeLimit limit(connection, is_over);
  RG_TRY_OK(check_version(connection));
  const std::vector<std::string> problems = RG_TRY(find_problems(connection));
  if (problems.empty()) return {};
  return fail(Code::kDataLoss,
              fmt::format("backup {}: {} problems, the first: {}; take another one", backup,
                          problems.size(), problems.front()));
}

// Gives the copy the owner and mode of the database: root may restore a file that the controller's
// user must open.
Status take_over_owner(const std::string& part, const std::string& database) {
  struct stat old {};
  const bool replaces = ::lstat(database.c_str(), &old) == 0;
  if (!replaces && ::stat(folder_of(database).c_str(), &old) != 0)
    return tl::unexpected(file_error("look at", folder_of(database), errno));
  if (::geteuid() == 0 && ::chown(part.c_str(), old.st_uid, old.st_gid) != 0)
    return tl::unexpected(file_error("give to the database's owner", part, errno));
  constexpr mode_t kPermissions = 07777;
  if (replaces && ::chmod(part.c_str(), old.st_mode & kPermissions) != 0)
    return tl::unexpected(file_error("give the database's mode", part, errno));
  return {};
}

// Returns the path for the old file: the one of an interrupted restore, or a new name.
std::string name_of_kept(const std::string& database) {
  std::string begun;
  std::ifstream mark(database + kMark);
  if (std::getline(mark, begun) && begun.starts_with(database) &&
      begun.find('/', database.size()) == std::string::npos)
    return begun;
  const std::string first =
      fmt::format("{}.replaced-{:%Y%m%d-%H%M%S}", database, fmt::gmtime(std::time(nullptr)));
  std::string name = first;
  for (int more = 2; exists(name); ++more) name = fmt::format("{}-{}", first, more);
  return name;
}

// Root must follow no link that the folder's owner put beside the database.
Result<File> lock_for_restore(const std::string& database) {
  const OwnersRights rights = RG_TRY(OwnersRights::take(folder_of(database)));
  return lock_database(database, "restore");
}

Status set_mark(const std::string& database, const std::string& kept) {
  const std::string mark = database + kMark;
  if (!(std::ofstream(mark) << kept << '\n' << std::flush))
    return tl::unexpected(file_error("write", mark, errno));
  RG_TRY_OK(sync_path(mark, O_RDWR));
  return sync_folder_of(mark);
}

// The user who runs this program. A user without a name is a number.
std::string user_of_process() {
  const passwd* user = ::getpwuid(::getuid());
  return user == nullptr ? fmt::format("uid {}", ::getuid()) : user->pw_name;
}

// Written before the database is replaced, so that no restore is left out. printable() replaces the
// separator too.
Status add_note(const std::string& database, const std::string& backup, const std::string& kept) {
  const std::string notes = database + kNotes;
  std::ofstream file(notes, std::ios::app);
  if (!file) return tl::unexpected(file_error("open", notes, errno));
  const std::string line = fmt::format(
      "{}\t{}\t{}\t{}", rfc3339(static_cast<double>(std::time(nullptr))),
      printable(user_of_process()), printable(backup), exists(database) ? printable(kept) : "");
  if (!(file << line << '\n' << std::flush))
    return tl::unexpected(file_error("write", notes, errno));
  RG_TRY_OK(take_over_owner(notes, database));
  return sync_path(notes, O_RDWR);
}

// With its log, which the new file would take for its own.
Status move_away(const std::string& database, const std::string& kept) {
  if (exists(kept)) {
    // An interrupted restore has: what is in place since is its own copy, which nobody opened.
    if (::unlink(database.c_str()) == 0 || errno == ENOENT) return {};
    return tl::unexpected(file_error("remove", database, errno));
  }
  for (const char* suffix : {"-wal", "-shm", ""}) {
    if (::rename((database + suffix).c_str(), (kept + suffix).c_str()) == 0 || errno == ENOENT)
      continue;
    return tl::unexpected(file_error("keep as " + kept + suffix, database + suffix, errno));
  }
  return sync_folder_of(database);
}

}  // namespace

double size_of_file(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : static_cast<double>(size);
}

double bytes_of(const std::string& database) {
  return size_of_file(database) + size_of_file(database + "-wal");
}

std::optional<double> free_bytes_beside(const std::string& path) {
  std::error_code error;
  const auto space = fs::space(folder_of(path), error);
  if (error) return std::nullopt;
  return static_cast<double>(space.available);
}

Result<std::string> begin_backup(const std::string& target, double bytes) {
  const auto failure = [&](const Error& error) {
    return fail(error.code, fmt::format("backup {}: {}", target, error.message));
  };
  if (exists(target))
    return fail(Code::kAlreadyExists,
                fmt::format("backup {}: this file is there already; name another", target));
  if (const Status room = check_room(target, bytes); !room) return failure(room.error());
  const std::string part = target + kPart;
  const File made(::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (made.get() >= 0) return part;
  if (errno != EEXIST) return failure(file_error("make", part, errno));
  return fail(Code::kAlreadyExists,
              fmt::format("backup {}: {} is there: one is under way, or was killed; remove it or "
                          "name another",
                          target, part));
}

Status end_backup(const Status& copied, const std::string& part, const std::string& target,
                  const std::function<bool()>& is_over) {
  Status done = copied ? check_copy(part, is_over) : copied;
  if (copied && !done && done.error().code == Code::kDeadlineExceeded)
    done = fail(Code::kCancelled, "the controller is stopping");
  if (done) done = publish(part, target);
  return done ? Status() : dropped(part, "backup", target, done.error());
}

Status copy_database(const std::string& database, const std::string& target) {
  const std::string part = target + kPart;
  Status copied = check_room(target, bytes_of(database));
  if (copied) {
    auto source = open_for_reading(database, kBusySeconds);
    copied = source ? copy_snapshot(*source, part) : tl::unexpected(source.error());
  }
  if (copied) copied = publish(part, target);
  return copied ? Status() : dropped(part, "copy", target, copied.error());
}

Result<std::string> restore(const std::string& backup, const std::string& database,
                            const std::function<bool()>& is_over) {
  const File alone = RG_TRY(lock_for_restore(database));
  // Only root may read some backups. Its files are all open once one statement has read them.
  RG_TRY_OK(check_backup(backup, database, is_over));
  Connection source = RG_TRY(open_for_reading(backup, kBusySeconds));
  RG_TRY_OK(check_version(source));
  const OwnersRights rights = RG_TRY(OwnersRights::take(folder_of(database)));
  const std::string part = database + kRestorePart;
  RG_TRY_OK(check_room(part, bytes_of(backup)));
  RG_TRY_OK(copy_snapshot(source, part, is_over));
  RG_TRY_OK(take_over_owner(part, database));
  RG_TRY_OK(sync_path(part, O_RDWR));
  const File locked = RG_TRY(lock_out_others(database));
  const std::string kept = name_of_kept(database);
  failpoint("store.restore_copied");
  RG_TRY_OK(add_note(database, backup, kept));
  RG_TRY_OK(set_mark(database, kept));
  failpoint("store.restore_marked");
  RG_TRY_OK(move_away(database, kept));
  failpoint("store.restore_moved");
  RG_TRY_OK(publish(part, database));
  failpoint("store.restore_published");
  std::error_code error;
  fs::remove(database + kMark, error);
  if (error) return tl::unexpected(file_error("remove", database + kMark, error.value()));
  RG_TRY_OK(sync_folder_of(database));
  return exists(kept) ? kept : std::string();
}

std::vector<RestoreNote> read_restore_notes(const std::string& database) {
  constexpr std::size_t kFields = 4;
  std::vector<RestoreNote> notes;
  std::ifstream file(database + kNotes);
  for (std::string line; std::getline(file, line);) {
    const auto fields = split(line, '\t');
    if (fields.size() == kFields)
      notes.push_back({.at = std::string(fields[0]),
                       .user = std::string(fields[1]),
                       .backup = std::string(fields[2]),
                       .kept = std::string(fields[3])});
  }
  return notes;
}

void remove_restore_notes(const std::string& database) {
  std::error_code ignored;
  fs::remove(database + kNotes, ignored);
}

Status check_no_restore_pending(const std::string& database) {
  if (!exists(database + kMark)) return {};
  return fail(Code::kFailedPrecondition,
              fmt::format("store {}: open: a restore of a backup was interrupted; run "
                          "railgauge-controller --restore BACKUP again",
                          database));
}

}  // namespace railgauge::store
