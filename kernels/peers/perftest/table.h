// A report as a table with perftest's headings and units: bytes, MiB/s or Gb/s, million messages a
// second, us. Columns that perftest lacks follow.
#pragma once

#include <string>

#include "kernels/core/report/report.h"

namespace railgauge {

// Returns the table; an absent figure is "-". Pure.
std::string perftest_table(const RunnerReport& report, const TableStyle& style, bool gigabits);

}  // namespace railgauge
