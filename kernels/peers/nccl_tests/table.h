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

// The table, and a line for each reason for which a task did not pass. The report has at least one
// task.
std::string nccl_tests_table(const NcclTestsReport& report);
// One header line, then one line for each row and placement. A report without rows has one line
// without figures, so that a reader always finds the outcome.
std::string nccl_tests_csv(const NcclTestsReport& report);

}  // namespace railgauge
