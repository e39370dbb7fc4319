// Tables of units, and the text of quantities in both directions. from_chars and fmt know no
// locale.
#include "kernels/core/text/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/text/text.h"

namespace railgauge {
namespace {

// A unit's name and its factor to bytes, ns or the base unit.
struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024;
// Descending; exact_unit() relies on the alternation of binary and decimal units.
constexpr std::array kByteUnits{Unit{"TiB", kKi* kKi* kKi* kKi},
                                Unit{"TB", 1e12},
                                Unit{"GiB", kKi* kKi* kKi},
                                Unit{"GB", 1e9},
                                Unit{"MiB", kKi* kKi},
                                Unit{"MB", 1e6},
                                Unit{"KiB", kKi},
                                Unit{"kB", 1e3},
                                Unit{"KB", 1e3},
                                Unit{"B", 1}};
constexpr std::array kDurationUnits{Unit{"ns", 1},     Unit{"us", 1e3},   Unit{"\u00b5s", 1e3},
                                    Unit{"ms", 1e6},   Unit{"s", 1e9},    Unit{"min", 60e9},
                                    Unit{"h", 3600e9}, Unit{"d", 86400e9}};
// Error of one byte that a decimal product may have: 0.1 * 10^6 is not exact.
constexpr double kWholeTolerance = 1e-6;

// A number and the text behind it: digits with at most one point, then the unit.
struct Quantity {
  double value;
  std::string_view unit;
};

// Splits a quantity; `what` names its kind in the error.
Result<Quantity> split(std::string_view text, std::string_view what) {
  double value = 0;
  const char* end = text.data() + text.size();
  const bool digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (!digit || error != std::errc{})
    return invalid("{} {} does not begin with a number", what, in_quotes(text));
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return Quantity{value, unit};
}

// The unit of that name, or nullptr.
const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  for (const Unit& unit : units)
    if (unit.name == name) return &unit;
  return nullptr;
}

// The whole text as a number; `what` describes it in the error.
template <class T>
Result<T> parse_whole(std::string_view text, std::string_view what) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range)
    return invalid("{} is out of range", in_quotes(text));
  if (error != std::errc{} || rest != end) return invalid("{} is not {}", in_quotes(text), what);
  return value;
}

// One decimal from 10 on, else two. The rounded value decides, so that 9.996 is "10.0".
std::string figure(double value) {
  return std::abs(value) >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

// The value in the largest unit in which it is at least 1 after rounding. `units` descend.
std::string scaled(double value, std::span<const Unit> units) {
  if (!std::isfinite(value)) return "-";
  for (const Unit& unit : units)
    if (std::abs(value) >= 0.99995 * unit.factor)
      return fmt::format("{} {}", figure(value / unit.factor), unit.name);
  const Unit& smallest = units.back();
  return fmt::format("{} {}", figure(value / smallest.factor), smallest.name);
}

// The largest unit that divides the value, binary units first.
const Unit& exact_unit(std::uint64_t bytes) {
  constexpr std::size_t kBinary = 0;
  for (const std::size_t first : {kBinary, kBinary + 1})
    for (std::size_t i = first; i < 8; i += 2) {
      const auto factor = static_cast<std::uint64_t>(kByteUnits[i].factor);
      if (bytes >= factor && bytes % factor == 0) return kByteUnits[i];
    }
  return kByteUnits.back();
}

}  // namespace

// A value that is whole but for rounding is accepted: "0.1MB" is 100000 bytes.
Result<std::uint64_t> parse_bytes(std::string_view text) {
  const Quantity quantity = RG_TRY(split(text, "size"));
  const Unit* unit =
      quantity.unit.empty() ? &kByteUnits.back() : find_unit(kByteUnits, quantity.unit);
  if (unit == nullptr)
    return invalid(
        "size {}: unit {} is unknown; use B, kB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB "
        "(powers of 1024)",
        in_quotes(text), in_quotes(quantity.unit));
  const double bytes = quantity.value * unit->factor;
  if (bytes > static_cast<double>(kMaxBytes))
    return invalid("size {} is above 8192 TiB", in_quotes(text));
  if (std::abs(bytes - std::nearbyint(bytes)) > kWholeTolerance)
    return invalid("size {} is not whole bytes", in_quotes(text));
  return static_cast<std::uint64_t>(std::nearbyint(bytes));
}

// A duration needs its unit, except for 0.
Result<double> parse_duration_ns(std::string_view text) {
  const Quantity quantity = RG_TRY(split(text, "duration"));
  if (quantity.unit.empty() && quantity.value == 0) return 0.0;
  const Unit* unit = find_unit(kDurationUnits, quantity.unit);
  if (unit == nullptr)
    return invalid(
        quantity.unit.empty()
            ? fmt::format("duration {} has no unit; use ns, us, ms, s, min, h or d",
                          in_quotes(text))
            : fmt::format("duration {}: unit {} is unknown; use ns, us, ms, s, min, h or d",
                          in_quotes(text), in_quotes(quantity.unit)));
  const double ns = quantity.value * unit->factor;
  if (ns > kMaxDurationNs) return invalid("duration {} is above 366 days", in_quotes(text));
  return ns;
}

Result<double> parse_number(std::string_view text) {
  const double value = RG_TRY(parse_whole<double>(text, "a number"));
  if (!std::isfinite(value)) return invalid("{} is not a finite number", in_quotes(text));
  return value;
}

Result<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text, "a whole number");
}

std::string canonical_bytes(std::uint64_t bytes) {
  const Unit& unit = exact_unit(bytes);
  const std::string number = fmt::format("{}", bytes / static_cast<std::uint64_t>(unit.factor));
  return unit.factor == 1 ? number : number + std::string(unit.name);
}

// Whole s, ms or us, in this order; else ns.
std::string canonical_duration(double ns) {
  constexpr std::array kUnits{Unit{"s", 1e9}, Unit{"ms", 1e6}, Unit{"us", 1e3}};
  for (const Unit& unit : kUnits)
    if (std::fmod(ns, unit.factor) == 0)
      return fmt::format("{:.0f}{}", ns / unit.factor, unit.name);
  // The shortest digits that read as the same number, without an exponent, which no duration has.
  std::array<char, 512> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), ns, std::chars_format::fixed);
  return std::string(digits.data(), end.ptr) + "ns";
}

std::string value_text(const ParameterInfo& parameter, double value) {
  const std::string& type = parameter.type();
  const bool size = type == "bytes" || type == "bytes_list";
  if (size && value >= 0 && value <= static_cast<double>(kMaxBytes))
    return canonical_bytes(static_cast<std::uint64_t>(value));
  if (type == "duration") return canonical_duration(value);
  return fmt::format("{}", value);
}

std::string format_bytes(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  if (bytes < 0 || bytes > static_cast<double>(kMaxBytes) || bytes != std::floor(bytes))
    return fmt::format("{} B", bytes);
  const auto whole = static_cast<std::uint64_t>(bytes);
  const Unit& unit = exact_unit(whole);
  return fmt::format("{} {}", whole / static_cast<std::uint64_t>(unit.factor), unit.name);
}

std::string format_rate_bits(double bytes_per_second) {
  constexpr std::array kUnits{Unit{"Gb/s", 1e9}, Unit{"Mb/s", 1e6}, Unit{"kb/s", 1e3},
                              Unit{"b/s", 1}};
  return scaled(bytes_per_second * 8, kUnits);
}

std::string format_rate_bytes(double bytes_per_second) {
  constexpr std::array kUnits{Unit{"GB/s", 1e9}, Unit{"MB/s", 1e6}, Unit{"kB/s", 1e3},
                              Unit{"B/s", 1}};
  return scaled(bytes_per_second, kUnits);
}

std::string format_rate_count(double per_second) {
  constexpr std::array kUnits{Unit{"G/s", 1e9}, Unit{"M/s", 1e6}, Unit{"k/s", 1e3}, Unit{"/s", 1}};
  return scaled(per_second, kUnits);
}

std::string format_latency_ns(double ns) {
  constexpr std::array kUnits{Unit{"s", 1e9}, Unit{"ms", 1e6}, Unit{"us", 1e3}, Unit{"ns", 1}};
  return scaled(ns, kUnits);
}

// Commas between thousands, from the right.
std::string format_count(double count) {
  if (!std::isfinite(count)) return "-";
  std::string digits = fmt::format("{:.0f}", std::abs(count));
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return count < 0 && digits != "0" ? "-" + digits : digits;
}

std::string format_share(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * 100) : "-";
}

}  // namespace railgauge
