// Readers of the busy guard's sources: files and a command, all bounded. An error is one line with
// the unreadable source and a remedy; the guard treats it as busy.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

// Makes a foreign name fit for one line of a message.
std::string one_line(std::string_view text);

// Returns "PATH says 'FIRST LINE'" of the marker file, or "PATH is there" for an empty one; absent
// without a file.
Result<std::optional<std::string>> read_marker(const std::string& path);

// The jobs of a batch system on this node.
struct JobView {
  bool present = false;          // a source of jobs exists: a cgroup tree or a folder of markers
  std::set<std::string> jobs{};  // by number, or by SLUID where Slurm names them so
  std::set<std::string> ours{};  // jobs that the agent itself runs in
};
// Reads Slurm's jobs from the cgroups of slurmstepd (v1 and v2, any slice; `cgroup_root` is
// /sys/fs/cgroup) and from the files in `marker_folder`, named after jobs, which a prolog creates
// and an epilog removes. An allocation between two steps may have no cgroup; only the folder shows
// it.
Result<JobView> read_slurm_jobs(const std::string& cgroup_root, const std::string& marker_folder,
                                const std::string& proc_root);
// Returns the jobs in the text of /proc/PID/cgroup:
// "0::/system.slice/slurmstepd.scope/job_42/step_0". Pure.
std::set<std::string> jobs_in_cgroup_paths(std::string_view text);

// Reads the load average of the last minute.
Result<double> read_load(const std::string& proc_root);
// Returns the first number of /proc/loadavg; absent if the text has none. Pure.
std::optional<double> parse_load(std::string_view text);

// Runs the site's command. Exit code 0 is idle; 1 is busy, with the first line that it prints. Any
// other exit, or no exit within the deadline, is an error.
Result<std::optional<std::string>> ask_hook(const std::vector<std::string>& argv,
                                            double deadline_seconds);

}  // namespace railgauge::agent
