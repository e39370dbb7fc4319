// Checks the text of parameters against a KernelInfo and gives typed access to the values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// The effective parameters of one task: every declared parameter has a checked value. A lookup of
// an undeclared name, or with the wrong type, is a programmer error and CHECKs. Thread safe after
// parse().
class Params {
 public:
  // Fills in defaults and checks each value against its declaration. kInvalidArgument, in one line
  // with kernel, parameter, value and the allowed values ("did you mean" for an unknown name);
  // kInternal when a declaration itself is wrong.
  static Result<Params> parse(const KernelInfo& kernel,
                              const std::map<std::string, std::string>& given);

  // Return the value by its type: sizes in bytes, durations in ns.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
  [[nodiscard]] double duration_ns(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;
  // Returns the value of the types text and choice.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::vector<std::uint64_t> bytes_list(
      std::string_view name) const;  // "8,64KiB", "1:4KiB" (powers of two)
  // Reports whether the value equals the declared default, even one that a person gave.
  [[nodiscard]] bool is_default(std::string_view name) const;
  // Returns name to canonical text, defaults included.
  [[nodiscard]] const std::map<std::string, std::string>& effective() const { return values_; }

 private:
  [[nodiscard]] const std::string& value_of(std::string_view name, std::string_view type) const;

  // Canonical texts by name; a number is parsed at each access.
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> defaults_;
  std::map<std::string, std::string> types_;
};

// Parses the text of a bytes_list parameter into sizes in bytes: "8,64KiB", "1:4KiB" (powers of
// two). kInvalidArgument. Pure.
Result<std::vector<std::uint64_t>> parse_bytes_list(std::string_view text);

// Checks one value against its declaration and returns the canonical text. The suite reader uses it
// too. Pure.
Result<std::string> check_parameter(const ParameterInfo& declared, std::string_view value);

}  // namespace railgauge
