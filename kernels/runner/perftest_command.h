// `railgauge-runner ib_write_bw -d DEV [HOST]` and its siblings, or the program called by such a
// name through a link.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/peers/perftest/options.h"

namespace railgauge {

std::vector<std::string> perftest_names();

// The program that the own name or the first argument names, with the arguments behind it; nullptr
// when neither does.
struct PerftestInvocation {
  const PerftestProgram* program = nullptr;
  std::vector<std::string> arguments{};
};
PerftestInvocation perftest_invocation(std::span<char* const> argv);

// Reads, runs, prints; the exit code. No thread may run yet.
int run_perftest_command(const PerftestInvocation& invocation, const FindKernel& find);

}  // namespace railgauge
