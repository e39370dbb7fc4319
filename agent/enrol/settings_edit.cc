#include "agent/enrol/settings_edit.h"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/core/text/lines.h"
#include "kernels/core/text/settings_file.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

// The key of a line "key = value"; "" for any other line.
std::string_view key_of(std::string_view line) {
  const std::string_view content = trimmed(line);
  const std::size_t equals = content.find('=');
  if (content.empty() || content.front() == '#' || equals == std::string_view::npos) return {};
  return trimmed(content.substr(0, equals));
}

// The value as a program of ours reads it.
std::string value_in(std::string_view line, const std::string& key) {
  const std::vector<std::string> flags{key};
  const auto parsed = parse_settings_file(line, "", flags);
  return parsed && parsed->contains(key) ? parsed->at(key).value : "";
}

// As people write it.
std::string line_for(const std::string& key, const std::string& value) {
  return fmt::format("{} = {}", key, value);
}

}  // namespace

std::optional<FoundSetting> find_setting(std::string_view text, const std::string& key) {
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (key_of(line) == key) return FoundSetting{.value = value_in(line, key), .line = number};
  }
  return std::nullopt;
}

// Lines are kept byte for byte, but for a missing newline at the end.
Result<EditedSettings> edit_settings(std::string_view text, std::string_view file_name,
                                     const Wanted& wanted, std::string_view remark, bool force) {
  // Keys that were met leave `missing`, whatever their value.
  EditedSettings edited;
  Wanted missing = wanted;
  int number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    std::string kept(line);
    const std::string key(key_of(line));
    const auto found = std::ranges::find(wanted, key, &Wanted::value_type::first);
    if (!key.empty() && found != wanted.end()) {
      std::erase_if(missing, [&](const auto& one) { return one.first == key; });
      const std::string before = value_in(line, key);
      if (before != found->second) {
        if (!force)
          return fail(
              Code::kAlreadyExists,
              fmt::format("{}:{}: {} is {} there, and {} is wanted; --force replaces it", file_name,
                          number, key, in_quotes(before), in_quotes(found->second)));
        edited.replaced.push_back(line_for(key, before));
        kept = line_for(key, found->second);
      }
    }
    edited.text += kept + "\n";
  }
  if (!missing.empty()) edited.text += fmt::format("# {}\n", remark);
  for (const auto& [key, value] : missing) edited.text += line_for(key, value) + "\n";
  edited.is_changed = !missing.empty() || !edited.replaced.empty();
  return edited;
}

}  // namespace railgauge::agent
