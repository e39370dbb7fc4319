// Reads parameters, profile and `vary` of a stage. suite.h has the result.
#pragma once

#include <string>
#include <vector>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

// In all of them `kernel` is nullptr where no declarations are at hand.
void read_parameters(const YamlValue& value, const KernelInfo* kernel, Stage& stage);
// Reads parameters of the stop rule only. Call it after read_parameters(): a parameter that is in
// both mappings is a problem.
void read_precision(const YamlValue& value, const KernelInfo* kernel, Stage& stage);
// Call both after read_parameters(): parameters of the suite override those of the profile.
void read_profile(const YamlValue& value, Stage& stage);
void use_profile(const YamlValue& value, const std::string& name, Stage& stage);
// A stage for each combination; the last parameter changes fastest.
std::vector<Stage> combinations(const YamlValue& value, const KernelInfo* kernel,
                                const Stage& stage);

}  // namespace railgauge::plan
