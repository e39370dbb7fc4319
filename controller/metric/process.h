// Memory, CPU time and descriptors of this process, as Prometheus' own client libraries name them.
#pragma once

#include "controller/metric/registry.h"

namespace railgauge::metric {

// Reads /proc/self; what cannot be read keeps its last value.
void sample_process(Registry& registry);

}  // namespace railgauge::metric
