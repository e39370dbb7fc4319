#include "controller/store/upkeep/backup_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/store/sqlite/lock.h"
#include "kernels/core/text/text.h"

namespace railgauge::store {
namespace {

constexpr mode_t kFolderMode = 0750;

// `text`: the name in quotes.
Error wrong_name(const std::string& folder, std::string_view text, std::string_view why) {
  return {Code::kInvalidArgument,
          fmt::format("backup {}: {}; a file below {} is needed, the controller's --backup-folder",
                      text, why, folder)};
}

// The part of the name below the folder. The folder's own name may be given as it is set or as it
// resolves.
Result<std::string> below(const std::string& folder, const std::string& name) {
  const auto starts_in = [&](const std::string& place) {
    return name.size() > place.size() + 1 && name.starts_with(place) && name[place.size()] == '/';
  };
  if (!name.starts_with('/')) return name;
  std::error_code ignored;
  std::string set = std::filesystem::absolute(folder, ignored).lexically_normal().string();
  while (set.size() > 1 && set.ends_with('/')) set.pop_back();
  const std::string resolved = std::filesystem::canonical(folder, ignored).string();
  for (const std::string& place : {set, resolved})
    if (!place.empty() && starts_in(place)) return name.substr(place.size() + 1);
  return tl::unexpected(wrong_name(folder, in_quotes(name), "it is outside"));
}

// The folders of the name, then the file.
Result<std::vector<std::string>> parts_of(const std::string& folder, const std::string& name) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(name, '/')) {
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string_view::npos)
      return tl::unexpected(wrong_name(folder, in_quotes(name), "it names no file"));
    parts.emplace_back(part);
  }
  return parts;
}

// Opens the folder; nobody but its owner and group may put something into it.
Result<File> open_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return fail(Code::kUnavailable, fmt::format("backup folder {}: make: {}; --backup-folder names "
                                                "another",
                                                folder, std::strerror(errno)));
  File opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat found {};
  if (opened.get() < 0 || ::fstat(opened.get(), &found) != 0)
    return fail(Code::kUnavailable,
                fmt::format("backup folder {}: open: {}", folder, std::strerror(errno)));
  if ((found.st_mode & S_IWOTH) != 0)
    return fail(Code::kPermissionDenied,
                fmt::format("backup folder {}: everybody may write to it; chmod o-w", folder));
  return opened;
}

// Opens a folder below `folder`, a component at a time: none of them is a link or leads upwards.
Result<File> open_below(File folder, std::span<const std::string> folders) {
  for (const std::string& name : folders) {
    constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    File opened(::openat(folder.get(), name.c_str(), kFlags));
    if (opened.get() < 0 && errno == ENOENT)
      return fail(Code::kNotFound, fmt::format("folder {} is missing; make it first", name));
    if (opened.get() < 0 && (errno == ENOTDIR || errno == ELOOP))
      return fail(Code::kInvalidArgument, fmt::format("{} is a link, or no folder", name));
    if (opened.get() < 0)
      return fail(Code::kUnavailable, fmt::format("open {}: {}", name, std::strerror(errno)));
    folder = std::move(opened);
  }
  return folder;
}

}  // namespace

Result<std::string> backup_target(const std::string& folder, const std::string& name) {
  if (folder.empty()) return fail(Code::kFailedPrecondition, "backup: there is no backup folder");
  File opened = RG_TRY(open_folder(folder));
  const std::string inside = RG_TRY(below(folder, name));
  const auto parts = RG_TRY(parts_of(folder, inside));
  const Result<File> parent =
      open_below(std::move(opened), std::span(parts).first(parts.size() - 1));
  if (!parent)
    return fail(parent.error().code,
                fmt::format("backup {}: {}", in_quotes(name), parent.error().message));
  // The kernel's own name of what was opened: it has no link any more.
  std::error_code error;
  const auto real =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", parent->get()), error);
  if (error)
    return fail(Code::kUnavailable,
                fmt::format("backup {}: resolve its folder: {}", in_quotes(name), error.message()));
  const std::string target = (real / parts.back()).string();
  if (std::filesystem::is_symlink(std::filesystem::symlink_status(target, error)))
    return tl::unexpected(wrong_name(folder, in_quotes(name), "it is a link"));
  return target;
}

std::optional<BackupFile> newest_backup(const std::string& folder) {
  std::optional<BackupFile> newest;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(folder, error);
  std::size_t read = 0;
  for (; !error && at != std::filesystem::recursive_directory_iterator() && read < kMaxBackupsRead;
       at.increment(error), ++read) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(kProofFolder)) {
      at.disable_recursion_pending();
      continue;
    }
    struct stat found {};
    if (name.ends_with(".part") || ::lstat(at->path().c_str(), &found) != 0 ||
        !S_ISREG(found.st_mode))
      continue;
    const auto written_at = static_cast<double>(found.st_mtim.tv_sec) +
                            1e-9 * static_cast<double>(found.st_mtim.tv_nsec);
    if (newest && newest->written_at >= written_at) continue;
    newest = {.path = at->path().string(),
              .written_at = written_at,
              .bytes = static_cast<double>(found.st_size)};
  }
  return newest;
}

}  // namespace railgauge::store
