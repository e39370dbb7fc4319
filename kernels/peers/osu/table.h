// A report as a table with OSU's columns and units: size in bytes, MB/s of 10^6 bytes, messages a
// second, us. The second column is the figure that OSU's program prints.
#pragma once

#include <string>

#include "kernels/core/report/report.h"
#include "kernels/peers/osu/profile.h"

namespace railgauge {

// Returns the table of the program's kernel: of a latency the mean of all iterations, and of a
// collective the mean over the ranks of their means, with the least and the most of these as with
// -f; of a bandwidth or rate all bytes or messages over all time. An absent figure is "-". Pure.
std::string osu_table(const OsuProgram& program, const RunnerReport& report,
                      const TableStyle& style);

}  // namespace railgauge
