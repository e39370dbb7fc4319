// From the reports of our kernels to what a program of nccl-tests prints. Pure.
#pragma once

#include <string>
#include <vector>

#include "kernels/peers/nccl_tests/options.h"
#include "kernels/peers/profile.pb.h"

namespace railgauge {

// One report for each of the tasks, in their order; there may be fewer, when a signal came. Only
// those that passed have figures.
NcclTestsReport nccl_tests_report(const NcclTestsProgram& program, const NcclTestsCall& call,
                                  const std::vector<RunnerReport>& reports);

// The table, and a line for each task that did not pass.
std::string nccl_tests_table(const NcclTestsReport& report);
// One header line, one line for each row and placement; a report without any has a line without
// figures.
std::string nccl_tests_csv(const NcclTestsReport& report);

}  // namespace railgauge
