#include "controller/plan/suite/suite_values.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "kernels/core/text/units.h"

namespace railgauge::plan {

std::optional<std::uint64_t> read_count(const YamlValue& value, std::uint64_t least,
                                        std::uint64_t most) {
  const auto text = value.text("a whole number");
  if (!text) return std::nullopt;
  const auto number = parse_integer(*text);
  if (number && std::cmp_greater_equal(*number, least) && std::cmp_less_equal(*number, most))
    return static_cast<std::uint64_t>(*number);
  value.problem(
      fmt::format("is {}; must be a whole number from {} to {}", in_quotes(*text), least, most));
  return std::nullopt;
}

std::optional<bool> read_boolean(const YamlValue& value) {
  const auto text = value.text("true or false");
  if (!text) return std::nullopt;
  if (*text == "true" || *text == "false") return *text == "true";
  value.problem(fmt::format("is {}; must be true or false", in_quotes(*text)));
  return std::nullopt;
}

std::optional<double> read_seconds(const YamlValue& value, double most) {
  const auto text = value.text("a duration, as in 90s or 5min");
  if (!text) return std::nullopt;
  const auto ns = parse_duration_ns(*text);
  if (ns && *ns <= most * 1e9) return *ns / 1e9;
  value.problem(fmt::format("is {}; must be a duration, as in 90s or 5min, at most {}",
                            in_quotes(*text), canonical_duration(most * 1e9)));
  return std::nullopt;
}

std::optional<double> read_number(const YamlValue& value, double least, double most) {
  const auto text = value.text("a number");
  if (!text) return std::nullopt;
  const auto number = parse_number(*text);
  if (number && *number >= least && *number <= most) return *number;
  value.problem(
      fmt::format("is {}; must be a number from {:g} to {:g}", in_quotes(*text), least, most));
  return std::nullopt;
}

// Booleans become 0 or 1, durations seconds.
std::optional<double> read_scalar(const YamlValue& value, const SuiteKey& row) {
  switch (row.kind) {
    case ValueKind::kCount:
      return read_count(value, static_cast<std::uint64_t>(row.least),
                        static_cast<std::uint64_t>(row.most));
    case ValueKind::kNumber:
      return read_number(value, row.least, row.most);
    case ValueKind::kDuration:
      return read_seconds(value);
    case ValueKind::kBoolean:
      return read_boolean(value);
    default:
      std::abort();
  }
}

YamlMap map_of(const YamlValue& value, const KeyTable& table) {
  return {value, table.required, table.optional};
}

std::string read_text(const YamlMap& map, const KeyTable& table, std::string_view key,
                      std::string_view wanted) {
  const YamlValue* value = map.find(key);
  if (value == nullptr) return "";
  return value->text(wanted, static_cast<std::size_t>(table.row(key).most)).value_or("");
}

// Decimal prefixes only: network rates are decimal.
Result<double> parse_rate(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes_per_second;
  };
  // Longer names first: "Gb/s" ends in "b/s".
  static constexpr std::array kUnits{
      Unit{"kb/s", 1e3 / 8}, Unit{"Mb/s", 1e6 / 8}, Unit{"Gb/s", 1e9 / 8}, Unit{"Tb/s", 1e12 / 8},
      Unit{"kB/s", 1e3},     Unit{"MB/s", 1e6},     Unit{"GB/s", 1e9},     Unit{"TB/s", 1e12},
      Unit{"b/s", 1.0 / 8},  Unit{"B/s", 1}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    std::string_view figure = text.substr(0, text.size() - unit.name.size());
    while (figure.ends_with(' ')) figure.remove_suffix(1);
    const auto number = parse_number(figure);
    if (number && *number >= 0) return *number * unit.bytes_per_second;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("{} is no rate, as in 40Gb/s or 5GB/s", in_quotes(text)));
}

}  // namespace railgauge::plan
