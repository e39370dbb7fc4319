// Faults of a YAML document that a person wrote, and their texts. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge::plan {

// One fault of a document with its place.
struct YamlProblem {
  std::string file{};
  // Line from 1; 0: the document as a whole.
  std::uint32_t line = 0;
  // Column from 1; 0 when the line is 0.
  std::uint32_t column = 0;
  // "stages[0].parameters.depth".
  std::string key{};
  // The fault and the allowed values.
  std::string message{};
};

// Formats a problem as "quick.yaml:7:5: stages[0].parameters.depth: ...".
std::string describe(const YamlProblem& problem);
// Makes one kInvalidArgument line of the first problem and the number of further ones.
Error error_of(std::span<const YamlProblem> problems);

}  // namespace railgauge::plan
