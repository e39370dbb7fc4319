// Reports of our kernels in the layout of nccl-tests' programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "kernels/peers/nccl_tests/options.h"
#include "kernels/peers/profile.pb.h"

namespace railgauge {

// Combines `reports`, one for each task in order; fewer after a signal. Only passed tasks have
// figures.
NcclTestsReport nccl_tests_report(const NcclTestsProgram& program, const NcclTestsCall& call,
                                  const std::vector<RunnerReport>& reports);

// Returns the table, and a line for each reason why a task did not pass. The report must have a
// task.
std::string nccl_tests_table(const NcclTestsReport& report);
// Returns one header line, then one line for each row and placement. A report without rows has one
// line without figures, so that a reader always finds the outcome.
std::string nccl_tests_csv(const NcclTestsReport& report);

}  // namespace railgauge
