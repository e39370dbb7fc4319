// A program's settings: the flag --some-name is also the variable RAILGAUGE_SOME_NAME and the key
// some_name of a settings file; flag beats variable beats file beats default.
//
// The file has "key = value" lines. "#" at the beginning of a line or after a blank starts a
// comment; double quotes around a value are no part of it and keep blanks and "#" inside.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge {

inline constexpr std::size_t kMaxSettingsFileBytes = 64U << 10U;

struct Setting {
  std::string value;
  std::string source;  // where an error points to: "--name", "RAILGAUGE_NAME" or "FILE:LINE: name"
};
using SettingsFile = std::map<std::string, Setting, std::less<>>;  // by the flag's name
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

std::string setting_key(std::string_view flag);       // "some-name" to "some_name"
std::string setting_variable(std::string_view flag);  // "some-name" to "RAILGAUGE_SOME_NAME"

// `flags`: the names, without dashes in front, of all that may stand in the file. Errors:
// kInvalidArgument naming file and line: an unknown key ("did you mean", and what is allowed), a
// key twice, no "key = value". Pure.
Result<SettingsFile> parse_settings_file(std::string_view text, std::string_view file_name,
                                         std::span<const std::string> flags);
// An absent file is empty, unless it `must_exist`. Errors: kInvalidArgument; those above, a file
// that cannot be read or is longer than kMaxSettingsFileBytes.
Result<SettingsFile> read_settings_file(const std::string& path, std::span<const std::string> flags,
                                        bool must_exist);

// The value given for the flag `name`, wherever it has priority; nothing: the default holds. A
// variable counts when `environment` knows it, empty or not.
std::optional<Setting> given_setting(std::string_view name, const std::optional<std::string>& flag,
                                     const Environment& environment, const SettingsFile& file);

}  // namespace railgauge
