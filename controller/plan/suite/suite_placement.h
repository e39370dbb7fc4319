// Reads a stage's `placement`. suite.h has the result, suite_keys.cc the keys.
#pragma once

#include <cstddef>
#include <string_view>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

inline constexpr std::size_t kMaxWordBytes = 64;
// Whether `text` has only letters, digits, and _ - . and at most kMaxWordBytes of them.
bool is_word(std::string_view text);

// Call it after the stage's parameters are read. `kernel` checks ranks and endpoint kind; nullptr
// skips these checks.
void read_placement(const YamlValue& value, const KernelInfo* kernel, Stage& stage);

}  // namespace railgauge::plan
