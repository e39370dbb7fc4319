// Reading what a placement says about its pairs. suite.h has what it becomes.
#pragma once

#include "controller/plan/suite/suite.h"
#include "controller/plan/suite/yaml_reader.h"

namespace railgauge::plan {

// After the placement's kind, `each` and `endpoint`. `kernel` is nullptr where no declarations are
// at hand.
void read_pairs(const YamlMap& map, const KernelInfo* kernel, Stage& stage);

}  // namespace railgauge::plan
