#include "controller/config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text.h"

namespace railgauge {
namespace {

constexpr std::string_view kDefaultListen = "0.0.0.0:7443";
constexpr std::string_view kDefaultInsecureListen = "127.0.0.1:7443";

constexpr std::array kSettings{
    SettingInfo{"database", "SQLite file of runs and results", "/var/lib/railgauge/railgauge.db"},
    SettingInfo{"socket", "unix socket for tools and agents of this host",
                "/run/railgauge/controller.sock"},
    SettingInfo{
        "socket-group",
        "group whose members may use the unix socket, beside root and the controller's user", ""},
    SettingInfo{"listen",
                "HOST:PORT for TCP; with certificates 0.0.0.0:7443, with --insecure 127.0.0.1:7443",
                ""},
    SettingInfo{"tls-cert", "the controller's certificate, PEM", ""},
    SettingInfo{"tls-key", "its key, PEM", ""},
    SettingInfo{"tls-ca", "certificates that vouch for agents and tools, PEM", ""},
    SettingInfo{"insecure",
                "TCP without certificates: anybody who reaches the port may do anything", "false",
                true},
    SettingInfo{"metrics-listen", "HOST:PORT of /metrics and /healthz; none is none",
                "127.0.0.1:7470"},
    SettingInfo{"suites", "folder of suites; by default the one installed with the program", ""},
    SettingInfo{"log-level", "debug, info, warn or error", "info"},
};

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string with(std::string_view text, char from, char to, bool upper) {
  std::string out(text);
  std::ranges::replace(out, from, to);
  if (upper)
    std::ranges::transform(out, out.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

Result<bool> switch_value(std::string_view name, const std::string& value) {
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0" || value.empty()) return false;
  return fail(Code::kInvalidArgument,
              fmt::format("--{} {}: true or false is needed", name, in_quotes(value)));
}

Status check_log_level(const std::string& level) {
  constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warn", "error"};
  if (std::ranges::find(kLevels, level) != kLevels.end()) return {};
  return fail(
      Code::kInvalidArgument,
      fmt::format("--log-level {}: debug, info, warn or error is needed", in_quotes(level)));
}

}  // namespace

std::span<const SettingInfo> settings() { return kSettings; }

Result<Values> parse_settings_file(std::string_view text, std::string_view file_name) {
  std::vector<std::string> keys;
  for (const SettingInfo& setting : kSettings) keys.push_back(with(setting.name, '-', '_', false));
  Values values;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#') continue;
    const std::size_t equals = content.find('=');
    const std::string key(trimmed(content.substr(0, equals)));
    if (equals == std::string_view::npos)
      return fail(Code::kInvalidArgument, fmt::format("{}:{}: {}: \"key = value\" is needed",
                                                      file_name, number, in_quotes(content)));
    if (std::ranges::find(keys, key) == keys.end())
      return fail(Code::kInvalidArgument, fmt::format("{}:{}: unknown key {}{}", file_name, number,
                                                      in_quotes(key), did_you_mean(key, keys)));
    const std::string name = with(key, '_', '-', false);
    if (!values.emplace(name, trimmed(content.substr(equals + 1))).second)
      return fail(Code::kInvalidArgument,
                  fmt::format("{}:{}: key {} stands there twice", file_name, number, key));
  }
  return values;
}

Result<Values> read_settings_file(const std::string& path, bool must_exist) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file && errno == ENOENT && !must_exist) return Values{};
  if (!file)
    return fail(Code::kInvalidArgument, fmt::format("{}: open: {}", path, std::strerror(errno)));
  text << file.rdbuf();
  return parse_settings_file(text.str(), path);
}

Result<Config> resolve(const Values& flags, const Environment& environment, const Values& file) {
  Values chosen;
  for (const SettingInfo& setting : kSettings) {
    std::string& value = chosen[std::string(setting.name)];
    value = setting.default_value;
    if (const auto given = file.find(setting.name); given != file.end()) value = given->second;
    if (const auto given = environment("RAILGAUGE_" + with(setting.name, '-', '_', true)))
      value = *given;
    if (const auto given = flags.find(setting.name); given != flags.end()) value = given->second;
  }
  Config config{.database = chosen["database"],
                .socket = chosen["socket"],
                .socket_group = chosen["socket-group"],
                .tcp = {.listen = chosen["listen"],
                        .tls_cert = chosen["tls-cert"],
                        .tls_key = chosen["tls-key"],
                        .tls_ca = chosen["tls-ca"],
                        .insecure = RG_TRY(switch_value("insecure", chosen["insecure"]))},
                .metrics_listen = chosen["metrics-listen"],
                .suites = chosen["suites"],
                .log_level = chosen["log-level"]};
  if (config.metrics_listen == "none") config.metrics_listen.clear();
  RG_TRY_OK(check_tcp_options(config.tcp));
  RG_TRY_OK(check_log_level(config.log_level));
  if (config.tcp.listen.empty() && config.tcp.insecure) config.tcp.listen = kDefaultInsecureListen;
  if (config.tcp.listen.empty() && !config.tcp.tls_cert.empty()) config.tcp.listen = kDefaultListen;
  return config;
}

std::string default_suites_folder() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path folder = program.parent_path();
  for (const std::filesystem::path& candidate :
       {folder / "../share/railgauge/suites", folder / "../../../suites"})
    if (std::filesystem::is_directory(candidate, error))
      return candidate.lexically_normal().string();
  return "";
}

}  // namespace railgauge
