#include "controller/store/upkeep/timed_backup.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "controller/store/sqlite/sqlite.h"
#include "controller/store/upkeep/backup.h"
#include "controller/store/upkeep/backup_folder.h"
#include "controller/store/upkeep/schema.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead = "railgauge-";
constexpr std::string_view kTail = "Z.db";
constexpr std::string_view kShape = "00000000T000000";  // 0: a digit

// Removes a folder with what is in it.
class ScratchFolder {
 public:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// Links and folders are no backups.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error))
    if (fs::is_regular_file(at->symlink_status(error)))
      names.push_back(at->path().filename().string());
  return names;
}

// Half-made copies and proofs of a program that was killed. Those of people have other names.
void remove_remains(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> remains;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    constexpr std::string_view kUnfinished = ".part";
    const bool is_copy =
        name.ends_with(kUnfinished) &&
        timed_backup_at(std::string_view(name).substr(0, name.size() - kUnfinished.size()));
    if (is_copy || name.starts_with(kProofFolder)) remains.push_back(at->path());
  }
  for (const fs::path& path : remains) fs::remove_all(path, error);
}

// A database that any Railgauge of this version opens: its schema is ours.
Status read_restored(const std::string& database) {
  constexpr double kLockSeconds = 1;
  Connection opened = RG_TRY(Connection::open(database, Connection::Mode::kReadOnly, kLockSeconds));
  const std::int64_t version = RG_TRY(opened.integer("PRAGMA user_version")).value_or(0);
  if (version == schema_version()) return {};
  return fail(Code::kDataLoss, fmt::format("the restored file has schema {}, expected {}", version,
                                           schema_version()));
}

}  // namespace

// UTC without separators that a file system or a shell minds; names sort by time.
std::string timed_backup_name(double unix_seconds) {
  const auto whole = static_cast<std::time_t>(unix_seconds);
  return fmt::format("{}{:%Y%m%dT%H%M%S}{}", kHead, fmt::gmtime(whole), kTail);
}

std::optional<double> timed_backup_at(std::string_view name) {
  if (name.size() != kHead.size() + kShape.size() + kTail.size() || !name.starts_with(kHead) ||
      !name.ends_with(kTail))
    return std::nullopt;
  const std::string_view at = name.substr(kHead.size(), kShape.size());
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool is_digit = at[i] >= '0' && at[i] <= '9';
    if (kShape[i] == '0' ? !is_digit : at[i] != kShape[i]) return std::nullopt;
  }
  return parse_calendar(fmt::format("{}-{}-{}T{}:{}:{}Z", at.substr(0, 4), at.substr(4, 2),
                                    at.substr(6, 2), at.substr(9, 2), at.substr(11, 2),
                                    at.substr(13, 2)));
}

// The names alone decide: a restart, or a copy of the folder, changes no time.
bool is_backup_due(std::span<const std::string> names, const BackupPlan& plan, double now) {
  if (plan.every_seconds <= 0) return false;
  return std::ranges::none_of(names, [&](const std::string& name) {
    const auto at = timed_backup_at(name);
    return at && *at <= now && now - *at < plan.every_seconds;
  });
}

std::vector<std::string> surplus_backups(std::span<const std::string> names, std::size_t keep,
                                         double now) {
  std::vector<std::string> timed;
  for (const std::string& name : names)
    if (timed_backup_at(name)) timed.push_back(name);
  // By time, with which the name begins. A clock that was ahead must not cost the true ones.
  std::ranges::sort(timed, {}, [&](const std::string& name) {
    return std::pair(*timed_backup_at(name) <= now, name);
  });
  timed.resize(timed.size() - std::min(timed.size(), std::max<std::size_t>(keep, 1)));
  return timed;
}

// The same function restores that an operator would call, into a folder of its own, so the proof
// covers the file, the room and the schema. The folder is below the folder of backups, which the
// controller may write and where the copy's own disk has to have the room.
Status prove_restores(const std::string& backup, const std::function<bool()>& is_over) {
  std::string pattern =
      (fs::path(backup).parent_path() / (std::string(kProofFolder) + "XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr)
    return fail(Code::kUnavailable, fmt::format("backup {}: make a folder to restore it into: {}",
                                                backup, std::strerror(errno)));
  const ScratchFolder scratch(std::move(pattern));
  const std::string database = scratch.path() + "/railgauge.db";
  Status restored;
  if (const auto kept = restore(backup, database, is_over); !kept)
    restored = tl::unexpected(kept.error());
  if (restored) restored = read_restored(database);
  if (!restored && restored.error().code == Code::kDeadlineExceeded)
    restored = fail(Code::kCancelled, "the controller is stopping");
  if (!restored)
    return fail(restored.error().code, fmt::format("backup {}: restore it as a proof: {}", backup,
                                                   restored.error().message));
  return {};
}

// Surplus ones go last: a new backup that failed never costs an old one.
Result<std::string> make_due_backup(const std::string& folder, const BackupPlan& plan, double now,
                                    const std::function<Status(const std::string&)>& back_up,
                                    const std::function<bool()>& is_over) {
  if (!is_backup_due(names_in(folder), plan, now)) return std::string();
  remove_remains(folder);
  const std::string path = RG_TRY(backup_target(folder, timed_backup_name(now)));
  RG_TRY_OK(back_up(path));
  if (const Status proved = prove_restores(path, is_over); !proved) {
    std::error_code error;
    fs::remove(path, error);
    return tl::unexpected(proved.error());
  }
  for (const std::string& name : surplus_backups(names_in(folder), plan.keep, now)) {
    std::error_code error;
    fs::remove(fs::path(folder) / name, error);
  }
  return path;
}

}  // namespace railgauge::store
