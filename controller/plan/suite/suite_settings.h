// Reads the mappings of a suite beside its stages: preflight, rounds, bounds, limits. suite.h has
// the results, suite_keys.cc the keys. Each adds a problem for every value that does not fit.
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
// `kernel` checks the metrics' names; nullptr skips that check.
std::vector<Limit> read_limits(const YamlValue& value, const KernelInfo* kernel);

}  // namespace railgauge::plan
