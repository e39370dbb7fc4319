#include "agent/config.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace railgauge::agent {
namespace {
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}
}  // namespace

Result<Settings> parse_settings(std::string_view text, const std::string& path) {
  Settings settings;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#') continue;
    const auto equals = content.find('=');
    const std::string key(trimmed(content.substr(0, equals)));
    if (equals == std::string_view::npos || key.empty())
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}: '{}' is no 'key = value'", path, number, content));
    const Setting setting{std::string(trimmed(content.substr(equals + 1))), number};
    if (!settings.emplace(key, setting).second)
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}: {} stands there twice", path, number, key));
  }
  return settings;
}

Result<Settings> read_settings(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return Settings{};
    return fail(Code::kPermissionDenied, fmt::format("{}: open: {}", path, std::strerror(errno)));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return parse_settings(text.str(), path);
}

}  // namespace railgauge::agent
