// Readers of single values of a suite. Each adds a problem and returns "absent" where the value
// does not fit its key.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "controller/plan/suite/suite_keys.h"
#include "controller/plan/suite/yaml_reader.h"
#include "kernels/core/base/result.h"
#include "kernels/core/text/text.h"

namespace railgauge::plan {

// Longest duration that a suite may state: one week.
inline constexpr double kMaxSuiteSeconds = 7 * 24 * 3600.0;

std::optional<std::uint64_t> read_count(const YamlValue& value, std::uint64_t least,
                                        std::uint64_t most);
std::optional<bool> read_boolean(const YamlValue& value);
// "90s", "5min", "0".
std::optional<double> read_seconds(const YamlValue& value, double most = kMaxSuiteSeconds);
std::optional<double> read_number(const YamlValue& value, double least, double most);
// "40Gb/s" (bits) or "5GB/s" (bytes), into bytes per second. kInvalidArgument.
Result<double> parse_rate(std::string_view text);

// A kCount, kNumber, kDuration (seconds) or kBoolean (0 or 1), within the bounds of its row.
// Another kind is a programmer error.
std::optional<double> read_scalar(const YamlValue& value, const SuiteKey& row);

// The mapping, with the keys of its table.
YamlMap map_of(const YamlValue& value, const KeyTable& table);

// The text of `key` within the bytes of its row; "" where the key is absent or has a problem.
// `wanted` completes "must be ...".
std::string read_text(const YamlMap& map, const KeyTable& table, std::string_view key,
                      std::string_view wanted);

// Sets `to` to the value of `key` in `map`, where it is there and fits its row of `table`.
template <class To>
void read_key(const YamlMap& map, const KeyTable& table, std::string_view key, To& to) {
  const YamlValue* value = map.find(key);
  if (value == nullptr) return;
  if (const auto figure = read_scalar(*value, table.row(key))) to = static_cast<To>(*figure);
}

// Sets the members of `to` that rows of `table` name.
template <class To>
void read_fields(const YamlMap& map, const KeyTable& table, To& to) {
  for (const SuiteKey& key : table.keys)
    std::visit(
        [&](auto field) {
          if constexpr (std::is_invocable_v<decltype(field), To&>)
            read_key(map, table, key.name, to.*field);
        },
        key.field);
}

// The meaning of one of the words; another word is a problem that lists them.
template <class Meaning>
std::optional<Meaning> read_one_of(const YamlValue& value, Words<Meaning> words) {
  std::string allowed;
  for (const auto& [word, meaning] : words)
    allowed += (allowed.empty() ? "" : ", ") + std::string(word);
  const auto text = value.text("one of " + allowed);
  if (!text) return std::nullopt;
  for (const auto& [word, meaning] : words)
    if (*text == word) return meaning;
  value.problem(fmt::format("is {}; allowed: {}", in_quotes(*text), allowed));
  return std::nullopt;
}

}  // namespace railgauge::plan
