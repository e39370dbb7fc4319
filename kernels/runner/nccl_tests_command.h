// nccl-tests' programs by their own names: `railgauge-runner all_reduce_perf -b 8 -e 128M -f 2 -g
// 2`, or the program called by such a name through a link.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/peers/nccl_tests/options.h"

namespace railgauge {

// "all_reduce_perf", ...
std::vector<std::string> nccl_tests_names();

// The program that this one's own name or its first argument names, with the arguments behind it;
// `program` is nullptr when none is named.
struct NcclTestsInvocation {
  const NcclTestsProgram* program = nullptr;
  std::vector<std::string> arguments;
};
NcclTestsInvocation nccl_tests_invocation(std::span<char* const> argv);

// Parses, runs, prints; the exit code. No thread may run yet.
int run_nccl_tests_command(const NcclTestsInvocation& invocation, const FindKernel& find);

}  // namespace railgauge
