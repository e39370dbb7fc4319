#include "agent/enrol/agent_settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "agent/os/atomic_file.h"
#include "kernels/core/text/settings_file.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr const char* kOwnFile = "enrolment.conf";
constexpr mode_t kFileMode = 0644;
constexpr mode_t kFolderMode = 0755;

// "" without a file.
Result<std::string> text_of_settings(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (!std::filesystem::exists(path)) return std::string();
    return fail(Code::kPermissionDenied, fmt::format("{}: read: {}", path, errno_words(errno)));
  }
  std::string text(kMaxSettingsFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() <= kMaxSettingsFileBytes) return text;
  return fail(Code::kInvalidArgument, fmt::format("{}: too large for a settings file", path));
}

// The service's user has to read what is in it, whatever the umask of the caller is.
Status make_public_folder(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored)) return {};
  RG_TRY_OK(make_public_folder(std::filesystem::path(path).parent_path().string()));
  if (::mkdir(path.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return denied(path, "make folder", errno);
  if (::chmod(path.c_str(), kFolderMode) != 0) return denied(path, "chmod", errno);
  return {};
}

}  // namespace

// Our file has its place in the order whether it is there or not.
Result<AgentSettings> AgentSettings::read(const std::string& config) {
  AgentSettings settings;
  const std::string own = settings_folder(config) + "/" + kOwnFile;
  std::vector<std::string> paths = RG_TRY(more_settings_files(config));
  if (std::ranges::find(paths, own) == paths.end()) paths.push_back(own);
  std::ranges::sort(paths);
  paths.insert(paths.begin(), config);
  for (const std::string& path : paths) {
    if (path == own) settings.own_ = settings.files_.size();
    settings.files_.push_back({.path = path, .text = RG_TRY(text_of_settings(path))});
  }
  return settings;
}

std::string AgentSettings::value(const std::string& key) const {
  std::string last;
  for (const File& file : files_)
    if (const auto found = find_setting(file.text, key)) last = found->value;
  return last;
}

// Whoever forced a value into our file has decided about the files before it.
Result<EditedSettings> AgentSettings::with(const Wanted& wanted, std::string_view remark,
                                           bool force) const {
  const File& own = files_[own_];
  EditedSettings edited = RG_TRY(edit_settings(own.text, own.path, wanted, remark, force));
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (i == own_) continue;
    for (const auto& [key, value] : wanted) {
      const auto found = find_setting(files_[i].text, key);
      if (!found || found->value == value) continue;
      if (i < own_ && find_setting(own.text, key)) continue;
      if (i > own_ || !force)
        return fail(Code::kAlreadyExists,
                    fmt::format("{}:{}: {} is {} there, and {} is wanted; {}", files_[i].path,
                                found->line, key, in_quotes(found->value), in_quotes(value),
                                i > own_ ? fmt::format("it is read after {}: remove it", own.path)
                                         : "--force replaces it"));
      edited.replaced.push_back(
          fmt::format("{} = {} ({}:{})", key, found->value, files_[i].path, found->line));
    }
  }
  return edited;
}

Status AgentSettings::write(const EditedSettings& edited) const {
  if (!edited.is_changed) return {};
  const std::filesystem::path file(own_path());
  const std::string folder = file.parent_path().string();
  RG_TRY_OK(make_public_folder(folder));
  return rewrite_atomically(folder, file.filename().string(), edited.text, kFileMode);
}

}  // namespace railgauge::agent
