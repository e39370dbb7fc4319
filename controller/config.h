// The controller's settings: flag --some-name = variable RAILGAUGE_SOME_NAME = key some_name in the
// settings file; flag beats variable beats file beats default.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "controller/listen.h"
#include "kernels/core/result.h"

namespace railgauge {

inline constexpr std::string_view kDefaultConfigPath = "/etc/railgauge/controller.conf";

struct SettingInfo {
  std::string_view name;  // of the flag, without dashes
  std::string_view summary;
  std::string_view default_value;
  bool is_switch = false;
};
std::span<const SettingInfo> settings();

struct Config {
  std::string database;
  std::string socket;
  std::string socket_group;
  TcpOptions tcp;
  std::string metrics_listen;  // "" is none
  std::string suites;          // "": found beside the program
  std::string log_level;
};

using Values = std::map<std::string, std::string, std::less<>>;  // by setting name
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// "key = value" lines; # begins a comment line. kInvalidArgument naming file and line: an unknown
// key
// ("did you mean"), no "=", a key twice. Pure.
Result<Values> parse_settings_file(std::string_view text, std::string_view file_name);
// The file at `path`; one that is absent is empty unless `must_exist`.
Result<Values> read_settings_file(const std::string& path, bool must_exist);
// kInvalidArgument naming the setting: a switch that is neither true nor false, TCP without
// certificates or --insecure. Pure.
Result<Config> resolve(const Values& flags, const Environment& environment, const Values& file);

// The suites beside the program: installed (<prefix>/share/railgauge/suites) or in the source tree
// that the build folder lies in; "" when there are none.
std::string default_suites_folder();

}  // namespace railgauge
