// A report as a table with perftest's headings and units: bytes, MiB/s or Gb/s, million messages a
// second, us. Columns that perftest lacks follow.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/report/report.h"
#include "kernels/peers/perftest/options.h"

namespace railgauge {

// Returns the table, each direction of a bandwidth in a column where the call wants it, with the
// samples behind it where the call wants them, or the one figure that the call names, a line a
// size; then the growth of the counters that it names, 0 where one did not grow or is absent. An
// absent figure is "-". Pure.
std::string perftest_table(const RunnerReport& report, const TableStyle& style,
                           const PerftestCall& call);

// Returns a line for each figure below a floor of the call, and for a floor without a figure; empty
// where all are kept. Pure.
std::vector<std::string> below_floors(const RunnerReport& report, const PerftestCall& call);

}  // namespace railgauge
