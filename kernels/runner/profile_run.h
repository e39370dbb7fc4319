// The profiles of nvbandwidth and gdrcopy: their command lines (profile_command.cc), and the run of
// all tasks in one child process (profile_run.cc), in which contexts and buffers may stay from one
// kernel to the next.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/peers/profile.h"

namespace railgauge {

// Functions of the catalog that the runner's own code may not include; see kernels/catalog.h.
struct ProfileHost {
  FindKernel find;
  std::function<Result<int>()> count_gpus;
  std::function<std::shared_ptr<void>()> keep_warm;
};

// The whole report, and the worst exit code of its tasks.
struct ProfileEnd {
  ProfileReport report;
  int exit_code = 0;
};

// Runs every task and hands over each test as it ends; those that may be visited again (profile.h)
// when all is done. When the child dies, the task under way has crashed and a new child continues
// behind it. Signals must be blocked (block_ending_signals) and no other thread may run.
ProfileEnd run_profile(const ProfileOptions& options, const ProfileHost& host,
                       const std::function<void(const ProfileTest&)>& on_test);

// "nvbandwidth", "gdrcopy_copybw", ...
std::vector<std::string> profile_names();

// Parses the arguments of the profile `name`, runs it, prints; the exit code. No other thread may
// run yet.
int run_profile_command(const std::string& name, const std::vector<std::string>& arguments,
                        const ProfileHost& host);

}  // namespace railgauge
