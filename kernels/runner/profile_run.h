// The profiles of nvbandwidth and gdrcopy: their command lines (profile_command.cc), and the run of
// all tasks in one child process (profile_run.cc), which may keep contexts and buffers between
// kernels.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/peers/profile.h"
#include "kernels/runner/task/standalone_options.h"

namespace railgauge {

// Functions of the catalog that the runner's own code may not include; see kernels/catalog.h.
struct ProfileHost {
  FindKernel find;
  std::function<Result<int>()> count_gpus;
  std::function<std::shared_ptr<void>()> keep_warm;
  // Returns the ranks that an MPI's launcher started with this process among them, for kernels that
  // use no MPI; absent without a launcher.
  std::function<Result<std::optional<World>>()> join_launched;
};

// The complete report, and the worst exit code of its tasks.
struct ProfileEnd {
  ProfileReport report;
  int exit_code = 0;
};

// Runs every task and calls `on_test` as each test ends; if tasks may be visited again (profile.h),
// once all have ended. When the child dies, the current task has crashed, and a new child continues
// with the next one. Signals must be blocked (block_ending_signals) and no other thread may run.
ProfileEnd run_profile(const ProfileOptions& options, const ProfileHost& host,
                       const std::function<void(const ProfileTest&)>& on_test);

// Returns the names of all profiles: "nvbandwidth", "gdrcopy_copybw", ...
std::vector<std::string> profile_names();

// Parses the arguments of the profile `name`, runs it and prints; returns the exit code. No other
// thread may run yet.
int run_profile_command(const std::string& name, const std::vector<std::string>& arguments,
                        const ProfileHost& host);

}  // namespace railgauge
