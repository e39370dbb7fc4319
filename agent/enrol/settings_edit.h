// Changes of a settings file that leave everything else in it as it is. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

// A key's value in a text, as the agent reads it.
struct FoundSetting {
  std::string value{};
  int line = 0;  // from 1
};
// Absent: the text does not have the key.
std::optional<FoundSetting> find_setting(std::string_view text, const std::string& key);

using Wanted = std::vector<std::pair<std::string, std::string>>;  // key, value

// The new text, and what it takes away.
struct EditedSettings {
  std::string text{};
  std::vector<std::string> replaced{};  // "controller = old", lines that had another value
  bool is_changed = false;
};

// The text with these keys. A key that has another value is an error, or is replaced in
// its line with `force`; others are added at the end below `remark`. kAlreadyExists, with the
// place: such a key. `file_name` is for messages.
Result<EditedSettings> edit_settings(std::string_view text, std::string_view file_name,
                                     const Wanted& wanted, std::string_view remark, bool force);

}  // namespace railgauge::agent
