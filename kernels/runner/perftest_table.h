// A run's table in the units of perftest's: bytes, MiB/s or Gb/s, million messages a second, us.
#pragma once

#include <string>

#include "kernels/runner/report.h"

namespace railgauge {

// Pure. A figure that is absent is "-".
std::string perftest_table(const RunnerReport& report, const TableStyle& style, bool gigabits);

}  // namespace railgauge
