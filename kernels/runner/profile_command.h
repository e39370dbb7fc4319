// The command line of the profiles: `railgauge-runner nvbandwidth -t TEST`, or the program called
// by a profile's name through a link.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/runner/profile_run.h"

namespace railgauge {

// "nvbandwidth", "gdrcopy_copybw", ...
std::vector<std::string> profile_names();

// The profile that the program's own name or its first argument names, with the arguments behind
// it; "" when none is named.
struct ProfileCall {
  std::string name;
  std::vector<std::string> arguments;
};
ProfileCall profile_call(std::span<char* const> argv);

// Parses, runs, prints; the exit code. No thread may run yet.
int run_profile_command(const ProfileCall& call, const ProfileHost& host);

}  // namespace railgauge
