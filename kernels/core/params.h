// Declared parameters: checking text against a KernelInfo, and typed access afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// The effective parameters of one task: every declared one has a checked value. Lookups of
// undeclared names, or with the wrong type, are programmer errors and CHECK.
class Params {
 public:
  // Fills in defaults and checks each value against its declaration. Errors: kInvalidArgument, one
  // line naming kernel, parameter, value and what is allowed ("did you mean" for an unknown name);
  // kInternal when a declaration itself is wrong.
  static Result<Params> parse(const KernelInfo& kernel,
                              const std::map<std::string, std::string>& given);

  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::uint64_t bytes(std::string_view name) const;
  [[nodiscard]] double duration_ns(std::string_view name) const;
  [[nodiscard]] bool boolean(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;  // text and choice
  [[nodiscard]] std::vector<std::uint64_t> bytes_list(
      std::string_view name) const;  // "8,64KiB", "1:4KiB" (powers of two)
  // Whether the value is the declared default, whoever said it.
  [[nodiscard]] bool is_default(std::string_view name) const;
  // Name to canonical text, defaults included.
  [[nodiscard]] const std::map<std::string, std::string>& effective() const { return values_; }

 private:
  [[nodiscard]] const std::string& value_of(std::string_view name, std::string_view type) const;

  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> defaults_;
  std::map<std::string, std::string> types_;
};

// Sizes in bytes, as a parameter of type bytes_list names them. kInvalidArgument.
Result<std::vector<std::uint64_t>> parse_bytes_list(std::string_view text);

// Checks one value against its declaration; returns the canonical text. Used by the suite reader
// too.
Result<std::string> check_parameter(const ParameterInfo& declared, std::string_view value);

}  // namespace railgauge
