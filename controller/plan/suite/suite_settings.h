// Reading what a suite says beside its stages' placements: gates, rounds, limits. suite.h has what
// it becomes, suites/README.md the keys.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

PreflightGate read_preflight(const YamlValue& value);
run::RoundPolicy read_rounds(const YamlValue& value);
std::map<std::string, double> read_bounds(const YamlValue& value);
// `kernel` is nullptr where no declarations are at hand.
std::vector<Limit> read_limits(const YamlValue& value, const KernelInfo* kernel);

}  // namespace railgauge::plan
