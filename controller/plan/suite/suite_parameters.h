// Reading a stage's parameters, its profile and what it varies. suite.h has what it becomes.
#pragma once

#include <string>
#include <vector>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

// In all of them `kernel` is nullptr where no declarations are at hand.
void read_parameters(const YamlValue& value, const KernelInfo* kernel, Stage& stage);
// Parameters of the stop rule alone, after the others; one that stands in both is a problem.
void read_precision(const YamlValue& value, const KernelInfo* kernel, Stage& stage);
// After the parameters, which rule.
void read_profile(const YamlValue& value, Stage& stage);
void use_profile(const YamlValue& value, const std::string& name, Stage& stage);
// A stage for each combination; the last parameter changes fastest.
std::vector<Stage> combinations(const YamlValue& value, const KernelInfo* kernel,
                                const Stage& stage);

}  // namespace railgauge::plan
