// Reads one stage. suite.h has the result, suite_keys.cc the keys.
#pragma once

#include <span>
#include <vector>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

// Reads a word that names something. Absent for nullptr, and, with a problem, where the value is
// not a word.
std::optional<std::string> read_word(const YamlValue* value, std::string_view wanted);

// Appends one stage, or with `vary` one for each combination of its values. All get number `block`.
void read_stage(const YamlValue& value, std::span<const KernelInfo> kernels, std::uint32_t block,
                std::vector<Stage>& stages);

}  // namespace railgauge::plan
