// A program's settings. The flag --some-name is also the variable RAILGAUGE_SOME_NAME and the key
// some_name of a settings file. The flag has priority over the variable, the variable over the
// file, the file over the default.
//
// The file has "key = value" lines. "#" at the beginning of a line or after a blank starts a
// comment. Double quotes around a value are no part of it and keep blanks and "#" inside.
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

// A larger file is refused: it is no settings file.
inline constexpr std::size_t kMaxSettingsFileBytes = 64U << 10U;

// A value and its source.
struct Setting {
  std::string value;
  // The place for errors: "--name", "RAILGAUGE_NAME" or "FILE:LINE: name".
  std::string source;
};
// Settings by the flag's name.
using SettingsFile = std::map<std::string, Setting, std::less<>>;
// The value of a variable, or nothing where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// "some-name" as a key ("some_name") and as a variable ("RAILGAUGE_SOME_NAME"). Pure.
std::string setting_key(std::string_view flag);
std::string setting_variable(std::string_view flag);

// Parses the file's text. `flags` are the names, without dashes in front, of all settings that the
// file may have. Errors: kInvalidArgument with file and line: an unknown key ("did you mean", and
// the allowed ones), a key twice, no "key = value". Pure.
Result<SettingsFile> parse_settings_file(std::string_view text, std::string_view file_name,
                                         std::span<const std::string> flags);
// Reads and parses a file. An absent file is empty, unless it `must_exist`. Errors:
// kInvalidArgument; those above, a file that cannot be read or is longer than
// kMaxSettingsFileBytes.
Result<SettingsFile> read_settings_file(const std::string& path, std::span<const std::string> flags,
                                        bool must_exist);

// The value for the flag `name` from the source with the highest priority; nothing means that the
// default holds. A variable counts when `environment` knows it, empty or not.
std::optional<Setting> given_setting(std::string_view name, const std::optional<std::string>& flag,
                                     const Environment& environment, const SettingsFile& file);

}  // namespace railgauge
