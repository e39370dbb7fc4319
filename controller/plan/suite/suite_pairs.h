// Reads the keys of a placement that choose pairs. suite.h has the result.
#pragma once

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

// After the placement's kind, `each` and `endpoint`. `kernel` is nullptr where no declarations are
// at hand.
void read_pairs(const YamlMap& map, const KernelInfo* kernel, Stage& stage);

}  // namespace railgauge::plan
