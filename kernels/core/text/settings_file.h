// A program's settings. The flag --some-name is also the variable RAILGAUGE_SOME_NAME and the key
// some_name of a settings file. The flag has priority over the variable, the variable over the
// file, the file over the default.
//
// The file has "key = value" lines. "#" at the beginning of a line or after a blank starts a
// comment. Double quotes around a value are not part of it; blanks and "#" inside them are.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// A larger file is refused as not a settings file.
inline constexpr std::size_t kMaxSettingsFileBytes = 64U << 10U;

// A value and its source.
struct Setting {
  std::string value;
  // The place for errors: "--name", "RAILGAUGE_NAME" or "FILE:LINE: name".
  std::string source;
};
// Settings by the flag's name.
using SettingsFile = std::map<std::string, Setting, std::less<>>;
// Returns the value of an environment variable; absent when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// Convert the flag "some-name" to its key ("some_name") and its variable ("RAILGAUGE_SOME_NAME").
// Pure.
std::string setting_key(std::string_view flag);
std::string setting_variable(std::string_view flag);

// Parses the file's text. `flags` has the names, without leading dashes, of all settings that the
// file may set. kInvalidArgument, with file and line, for an unknown key ("did you mean", and the
// allowed keys), a repeated key, or a line without "key = value". Pure.
Result<SettingsFile> parse_settings_file(std::string_view text, std::string_view file_name,
                                         std::span<const std::string> flags);
// Reads and parses a file. An absent file counts as empty, unless it `must_exist`. kInvalidArgument
// as above, and for a file that cannot be read or exceeds kMaxSettingsFileBytes.
Result<SettingsFile> read_settings_file(const std::string& path, std::span<const std::string> flags,
                                        bool must_exist);

// A program's own settings beside those that people edit: the folder "agent.d" of "agent.conf". Its
// files that end in ".conf" are read after it, in the order of their names; the last value of a key
// counts.
inline constexpr std::size_t kMostSettingsFiles = 64;
// The path of that folder. Pure.
std::string settings_folder(const std::string& path);
// The paths of its files, in their order. kInvalidArgument: the folder cannot be read, or has more
// than kMostSettingsFiles.
Result<std::vector<std::string>> more_settings_files(const std::string& path);
// Reads the file and those of its folder, with the errors of read_settings_file(). A file that
// `must_exist` may be absent where its folder has one.
Result<SettingsFile> read_settings_files(const std::string& path,
                                         std::span<const std::string> flags, bool must_exist);

// Returns the value for the flag `name` from the source with the highest priority; absent when the
// default applies. A variable counts when `environment` has it, empty or not.
std::optional<Setting> given_setting(std::string_view name, const std::optional<std::string>& flag,
                                     const Environment& environment, const SettingsFile& file);

}  // namespace railgauge
