// Metrics of this process, under the names of Prometheus' own client libraries.
#pragma once

#include "controller/metric/registry.h"

namespace railgauge::metric {

// Sets memory, CPU time and descriptors of this process. Reads /proc/self; a value that cannot be
// read keeps its last state.
void sample_process(Registry& registry);

}  // namespace railgauge::metric
