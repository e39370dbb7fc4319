#include "agent/os/modes.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

namespace railgauge::agent {
namespace {

constexpr mode_t kBits = 07777;
constexpr mode_t kNotOfTheOwner = kBits & ~S_IRWXU;
constexpr mode_t kFileMode = S_IRUSR | S_IWUSR;

// Returns a line if it changed or could not.
std::string change(const std::string& path, mode_t now, mode_t kept) {
  if (::chmod(path.c_str(), kept) == 0)
    return fmt::format("{}: mode {:04o} is {:04o} again", path, now, kept);
  return fmt::format("{}: mode {:04o} cannot become {:04o}: {}", path, now, kept,
                     std::strerror(errno));
}

bool is_own(const struct stat& facts) { return facts.st_uid == ::geteuid(); }

void make_usable(const std::string& folder, std::vector<std::string>& said) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    struct stat facts {};
    const std::string path = at->path().string();
    if (::lstat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode) || !is_own(facts)) continue;
    const mode_t now = facts.st_mode & kBits;
    if ((now & kFileMode) != kFileMode) said.push_back(change(path, now, kFileMode));
  }
}

}  // namespace

mode_t mode_to_keep(bool is_folder, mode_t known, mode_t now) {
  const mode_t needed = is_folder ? S_IRWXU : S_IRUSR;
  if (now == known) return now;
  if ((now & kNotOfTheOwner) == 0 && (now & needed) == needed) return now;
  return is_folder ? S_IRWXU : kFileMode;
}

Modes::Modes(std::vector<std::string> paths) : paths_(std::move(paths)) {
  for (const std::string& path : paths_) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) == 0)
      known_[path] = {.file = {facts.st_dev, facts.st_ino}, .mode = facts.st_mode & kBits};
  }
}

std::vector<std::string> Modes::restore() {
  std::vector<std::string> said;
  for (const std::string& path : paths_) restore_one(path, said);
  return said;
}

void Modes::restore_one(const std::string& path, std::vector<std::string>& said) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return;
  const mode_t now = facts.st_mode & kBits;
  const std::pair file(facts.st_dev, facts.st_ino);
  Known& known = known_[path];
  if (known.file != file) known = {.file = file, .mode = now};
  if (!is_own(facts)) return;  // only root changes it
  const bool is_folder = S_ISDIR(facts.st_mode);
  const mode_t kept = mode_to_keep(is_folder, known.mode, now);
  if (kept != now) said.push_back(change(path, now, kept));
  known.mode = kept;
  if (is_folder) make_usable(path, said);
}

}  // namespace railgauge::agent
