// The parser of settings files, and the priority of the sources.
#include "kernels/core/text/settings_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// Blanks around keys and values; a carriage return too, from files of other systems.
constexpr std::string_view kBlank = " \t\r\f\v";

// The text without blanks at both ends.
std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// The text before a "#" that begins it or follows a blank.
std::string_view without_comment(std::string_view text) {
  for (std::size_t at = text.find('#'); at != std::string_view::npos; at = text.find('#', at + 1))
    if (at == 0 || kBlank.find(text[at - 1]) != std::string_view::npos) return text.substr(0, at);
  return text;
}

// The value in the text to the right of the "=": within quotes, or up to a comment.
std::string_view value_of(std::string_view text) {
  const std::string_view start = trimmed(text);
  if (start.starts_with('"')) {
    const std::size_t end = start.find('"', 1);
    if (end != std::string_view::npos && trimmed(without_comment(start.substr(end + 1))).empty())
      return start.substr(1, end - 1);
  }
  return trimmed(without_comment(text));
}

// A fault with its place in front, as compilers print it.
Error at_line(std::string_view file_name, int line, std::string_view problem) {
  return {Code::kInvalidArgument, fmt::format("{}:{}: {}", file_name, line, problem)};
}

}  // namespace

std::string setting_key(std::string_view flag) {
  std::string key(flag);
  std::ranges::replace(key, '-', '_');
  return key;
}

std::string setting_variable(std::string_view flag) {
  std::string name = "RAILGAUGE_" + setting_key(flag);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

// Unknown keys are errors: a typing error must not be ignored.
Result<SettingsFile> parse_settings_file(std::string_view text, std::string_view file_name,
                                         std::span<const std::string> flags) {
  std::vector<std::string> keys(flags.size());
  std::ranges::transform(flags, keys.begin(), setting_key);
  SettingsFile settings;
  int line = 0;
  for (const std::string_view whole : split_lines(text)) {
    const std::string_view content = trimmed(whole);
    ++line;
    if (content.empty() || content.front() == '#') continue;
    const std::size_t equals = content.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return tl::unexpected(at_line(
          file_name, line, fmt::format("{}: \"key = value\" is needed", in_quotes(content))));
    const std::string key(trimmed(content.substr(0, equals)));
    const auto known = std::ranges::find(keys, key);
    if (known == keys.end())
      return tl::unexpected(at_line(file_name, line,
                                    fmt::format("unknown key {}{}; allowed are {}", in_quotes(key),
                                                did_you_mean(key, keys), one_of(keys))));
    const std::string& flag = flags[static_cast<std::size_t>(known - keys.begin())];
    Setting setting{std::string(value_of(content.substr(equals + 1))),
                    fmt::format("{}:{}: {}", file_name, line, key)};
    if (!settings.emplace(flag, std::move(setting)).second)
      return tl::unexpected(at_line(file_name, line, fmt::format("{} is given twice", key)));
  }
  return settings;
}

// A file is read up to the bound, so that a device or a log named by mistake ends soon.
Result<SettingsFile> read_settings_file(const std::string& path, std::span<const std::string> flags,
                                        bool must_exist) {
  const auto cannot = [&](std::string_view act) {
    return invalid("{}: {}: {}; --config names another file", path, act, std::strerror(errno));
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file && !must_exist && (errno == ENOENT || errno == ENOTDIR)) return SettingsFile{};
  if (!file) return cannot("open");
  std::string text(kMaxSettingsFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return cannot("read");  // a folder, for one
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxSettingsFileBytes)
    return invalid("{}: more than {} bytes are no settings", path, kMaxSettingsFileBytes);
  return parse_settings_file(text, path, flags);
}

std::string settings_folder(const std::string& path) {
  constexpr std::string_view kEnding = ".conf";
  const bool has_ending = path.ends_with(kEnding);
  return path.substr(0, path.size() - (has_ending ? kEnding.size() : 0)) + ".d";
}

// Names that begin with a dot are drafts of editors and of atomic writers.
Result<std::vector<std::string>> more_settings_files(const std::string& path) {
  const std::string folder = settings_folder(path);
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory)
    return files;
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && name.ends_with(".conf")) files.push_back(entry->path().string());
    if (files.size() > kMostSettingsFiles)
      return invalid("{}: more than {} files of settings", folder, kMostSettingsFiles);
  }
  if (error) return invalid("{}: read: {}", folder, error.message());
  std::ranges::sort(files);
  return files;
}

Result<SettingsFile> read_settings_files(const std::string& path,
                                         std::span<const std::string> flags, bool must_exist) {
  const std::vector<std::string> more = RG_TRY(more_settings_files(path));
  SettingsFile settings = RG_TRY(read_settings_file(path, flags, must_exist && more.empty()));
  for (const std::string& file : more)
    for (auto& [flag, setting] : RG_TRY(read_settings_file(file, flags, true)))
      settings.insert_or_assign(flag, std::move(setting));
  return settings;
}

// Flag, then variable, then file.
std::optional<Setting> given_setting(std::string_view name, const std::optional<std::string>& flag,
                                     const Environment& environment, const SettingsFile& file) {
  if (flag) return Setting{*flag, fmt::format("--{}", name)};
  const std::string variable = setting_variable(name);
  if (const auto value = environment(variable)) return Setting{*value, variable};
  if (const auto entry = file.find(name); entry != file.end()) return entry->second;
  return std::nullopt;
}

}  // namespace railgauge
