// Reading a stage's `placement`. suite.h has what it becomes, suites/README.md the keys.
#pragma once

#include <cstddef>
#include <string_view>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

inline constexpr std::size_t kMaxWordBytes = 64;
// Letters, digits, and _ - . only, not too many.
bool is_word(std::string_view text);

// After the stage's parameters. `kernel` is nullptr where no declarations are at hand.
void read_placement(const YamlValue& value, const KernelInfo* kernel, Stage& stage);

}  // namespace railgauge::plan
