// Reading one stage. suite.h has what it becomes, suites/README.md the keys.
#pragma once

#include <span>
#include <vector>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

// A word that names something; absent, with a problem, where it is none. nullptr: absent.
std::optional<std::string> read_word(const YamlValue* value, std::string_view wanted);

// One stage, or with `vary` one for each combination of its values, all of `block`.
void read_stage(const YamlValue& value, std::span<const KernelInfo> kernels, std::uint32_t block,
                std::vector<Stage>& stages);

}  // namespace railgauge::plan
