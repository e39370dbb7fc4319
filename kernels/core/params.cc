// The checks of parameters, one function for each type, and the typed access.
#include "kernels/core/params.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// Bounds of a text in bytes and of a list in entries.
constexpr std::size_t kMaxTextBytes = 4096;
constexpr std::size_t kMaxListEntries = 256;
// Sizes in a row that are written "1:4" rather than one by one.
constexpr std::size_t kMinRun = 3;

// --- ranges -------------------------------------------------------------------------------------

// "1 to 64 are allowed", "at least 1 is allowed".
std::string allowed_range(const ParameterInfo& declared) {
  if (!declared.has_minimum())
    return fmt::format("at most {} is allowed", value_text(declared, declared.maximum()));
  if (!declared.has_maximum())
    return fmt::format("at least {} is allowed", value_text(declared, declared.minimum()));
  return fmt::format("{} to {} are allowed", value_text(declared, declared.minimum()),
                     value_text(declared, declared.maximum()));
}

// kInvalidArgument when the value is outside the declared bounds.
Status check_range(const ParameterInfo& declared, double value) {
  const bool low = declared.has_minimum() && value < declared.minimum();
  const bool high = declared.has_maximum() && value > declared.maximum();
  if (low || high)
    return invalid("{} is out of range; {}", value_text(declared, value), allowed_range(declared));
  return {};
}

// --- lists of sizes -----------------------------------------------------------------------------

// Appends the doublings of a range "1:4KiB"; `colon` is the place of its colon.
Status append_range(std::string_view entry, std::size_t colon, std::vector<std::uint64_t>& out) {
  std::uint64_t size = RG_TRY(parse_bytes(entry.substr(0, colon)));
  const std::uint64_t last = RG_TRY(parse_bytes(entry.substr(colon + 1)));
  if (!std::has_single_bit(size) || !std::has_single_bit(last) || size > last)
    return invalid("range {} must go from a power of two to a power of two not below it",
                   in_quotes(entry));
  for (; size <= last; size *= 2) out.push_back(size);
  return {};
}

// One text for each list: a whole run of doublings is "1:4KiB", all else is one by one.
std::string canonical_list(const std::vector<std::uint64_t>& sizes) {
  bool run = sizes.size() >= kMinRun && std::has_single_bit(sizes.front());
  for (std::size_t i = 1; i < sizes.size(); ++i) run = run && sizes[i] == 2 * sizes[i - 1];
  if (run) return canonical_bytes(sizes.front()) + ":" + canonical_bytes(sizes.back());
  std::string out;
  for (const std::uint64_t size : sizes) {
    if (!out.empty()) out += ',';
    out += canonical_bytes(size);
  }
  return out;
}

// --- one check for each type --------------------------------------------------------------------

// Each check returns the canonical text of a value, or kInvalidArgument.
Result<std::string> check_integer(const ParameterInfo& declared, std::string_view value) {
  const std::int64_t integer = RG_TRY(parse_integer(value));
  RG_TRY_OK(check_range(declared, static_cast<double>(integer)));
  return fmt::format("{}", integer);
}

Result<std::string> check_number(const ParameterInfo& declared, std::string_view value) {
  const double number = RG_TRY(parse_number(value));
  RG_TRY_OK(check_range(declared, number));
  return fmt::format("{}", number == 0 ? 0.0 : number);  // no "-0"
}

Result<std::string> check_bytes(const ParameterInfo& declared, std::string_view value) {
  const std::uint64_t bytes = RG_TRY(parse_bytes(value));
  RG_TRY_OK(check_range(declared, static_cast<double>(bytes)));
  return canonical_bytes(bytes);
}

Result<std::string> check_duration(const ParameterInfo& declared, std::string_view value) {
  const double ns = RG_TRY(parse_duration_ns(value));
  RG_TRY_OK(check_range(declared, ns));
  return canonical_duration(ns);
}

Result<std::string> check_boolean(const ParameterInfo&, std::string_view value) {
  constexpr std::array<std::string_view, 4> kTrue{"true", "yes", "on", "1"};
  constexpr std::array<std::string_view, 4> kFalse{"false", "no", "off", "0"};
  if (std::ranges::find(kTrue, value) != kTrue.end()) return "true";
  if (std::ranges::find(kFalse, value) != kFalse.end()) return "false";
  return invalid("{} is neither true nor false", in_quotes(value));
}

// Control characters could steer a terminal; protobuf refuses other bytes than UTF-8.
Result<std::string> check_text(const ParameterInfo&, std::string_view value) {
  if (value.size() > kMaxTextBytes)
    return invalid("{} is longer than {} bytes", in_quotes(value), kMaxTextBytes);
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7f; };
  if (std::ranges::any_of(value, control))
    return invalid("{} holds a control character", in_quotes(value));
  if (valid_utf8(value) != value) return invalid("{} is not UTF-8", in_quotes(value));
  return std::string(value);
}

Result<std::string> check_choice(const ParameterInfo& declared, std::string_view value) {
  const std::vector<std::string> choices(declared.choices().begin(), declared.choices().end());
  if (std::ranges::find(choices, value) != choices.end()) return std::string(value);
  return invalid("{} is not {}{}", in_quotes(value), one_of(choices), did_you_mean(value, choices));
}

Result<std::string> check_bytes_list(const ParameterInfo& declared, std::string_view value) {
  const std::vector<std::uint64_t> sizes = RG_TRY(parse_bytes_list(value));
  for (const std::uint64_t size : sizes)
    RG_TRY_OK(check_range(declared, static_cast<double>(size)));
  return canonical_list(sizes);
}

// A type's name and its check.
struct TypeRow {
  std::string_view type;
  Result<std::string> (*check)(const ParameterInfo&, std::string_view);
};
constexpr std::array kTypes{
    TypeRow{"integer", check_integer}, TypeRow{"number", check_number},
    TypeRow{"bytes", check_bytes},     TypeRow{"duration", check_duration},
    TypeRow{"boolean", check_boolean}, TypeRow{"text", check_text},
    TypeRow{"choice", check_choice},   TypeRow{"bytes_list", check_bytes_list}};

// Adds the kernel, the role of the value ("parameter", "default of") and the parameter's name in
// front.
tl::unexpected<Error> in_parameter(const std::string& kernel, std::string_view what,
                                   const std::string& name, const Error& error) {
  return fail(error.code, "{}: {} {}: {}", kernel, what, name, error.message);
}

// An unknown name is an error: a typing error must not select the default in silence.
Status check_names(const KernelInfo& kernel, const std::map<std::string, std::string>& given) {
  std::vector<std::string> names;
  for (const ParameterInfo& declared : kernel.parameters()) names.push_back(declared.name());
  for (const auto& [name, value] : given)
    if (std::ranges::find(names, name) == names.end())
      return invalid("{}: parameter {} is unknown{}", kernel.name(), in_quotes(name),
                     did_you_mean(name, names));
  return {};
}

}  // namespace

// A size named twice would yield two points of one series, so it is an error.
Result<std::vector<std::uint64_t>> parse_bytes_list(std::string_view text) {
  std::vector<std::uint64_t> out;
  for (std::string_view entry : split(text, ',')) {
    if (entry.starts_with(' ')) entry.remove_prefix(1);
    if (const std::size_t colon = entry.find(':'); colon != std::string_view::npos)
      RG_TRY_OK(append_range(entry, colon, out));
    else
      out.push_back(RG_TRY(parse_bytes(entry)));
    if (out.size() > kMaxListEntries)
      return invalid("{} holds more than {} sizes", in_quotes(text), kMaxListEntries);
  }
  std::vector<std::uint64_t> sorted = out;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return invalid("{} names {} twice", in_quotes(text), canonical_bytes(*twice));
  return out;
}

Result<std::string> check_parameter(const ParameterInfo& declared, std::string_view value) {
  for (const TypeRow& row : kTypes)
    if (row.type == declared.type()) return row.check(declared, value);
  return fail(Code::kInternal, "type {} is unknown", in_quotes(declared.type()));
}

Result<Params> Params::parse(const KernelInfo& kernel,
                             const std::map<std::string, std::string>& given) {
  RG_TRY_OK(check_names(kernel, given));
  Params params;
  for (const ParameterInfo& declared : kernel.parameters()) {
    // The default is checked even where a value is given: a wrong one must not hide.
    auto value = check_parameter(declared, declared.default_value());
    if (!value)
      return in_parameter(kernel.name(), "default of", declared.name(),
                          {Code::kInternal, std::move(value.error().message)});
    // A reader that finds the first one of a name must find what parse() kept.
    if (!params.defaults_.emplace(declared.name(), *value).second)
      return fail(Code::kInternal, "{}: it declares parameter {} twice", kernel.name(),
                  in_quotes(declared.name()));
    if (const auto own = given.find(declared.name()); own != given.end()) {
      value = check_parameter(declared, own->second);
      if (!value) return in_parameter(kernel.name(), "parameter", declared.name(), value.error());
    }
    params.values_[declared.name()] = std::move(*value);
    params.types_[declared.name()] = declared.type();
  }
  return params;
}

bool Params::is_default(std::string_view name) const {
  const auto declared = defaults_.find(std::string(name));
  RG_CHECK(declared != defaults_.end());
  return values_.find(declared->first)->second == declared->second;
}

// CHECKs name and type: a kernel reads only what it declared.
const std::string& Params::value_of(std::string_view name, std::string_view type) const {
  const auto found = types_.find(std::string(name));
  RG_CHECK(found != types_.end());
  RG_CHECK(found->second == type || (type == "text" && found->second == "choice"));
  return values_.find(found->first)->second;
}

std::int64_t Params::integer(std::string_view name) const {
  return parse_integer(value_of(name, "integer")).value();
}

double Params::number(std::string_view name) const {
  return parse_number(value_of(name, "number")).value();
}

std::uint64_t Params::bytes(std::string_view name) const {
  return parse_bytes(value_of(name, "bytes")).value();
}

double Params::duration_ns(std::string_view name) const {
  return parse_duration_ns(value_of(name, "duration")).value();
}

bool Params::boolean(std::string_view name) const { return value_of(name, "boolean") == "true"; }

const std::string& Params::text(std::string_view name) const { return value_of(name, "text"); }

std::vector<std::uint64_t> Params::bytes_list(std::string_view name) const {
  return parse_bytes_list(value_of(name, "bytes_list")).value();
}

}  // namespace railgauge
