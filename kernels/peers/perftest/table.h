// A run's table under perftest's headings and in its units: bytes, MiB/s or Gb/s, million messages
// a second, us. Columns that perftest lacks follow them.
#pragma once

#include <string>

#include "kernels/core/report/report.h"

namespace railgauge {

// Pure. A figure that is absent is "-".
std::string perftest_table(const RunnerReport& report, const TableStyle& style, bool gigabits);

}  // namespace railgauge
