// Readers of the busy guard's sources, from files and by a command. Short and bounded; the guard
// takes an error for busy: one line with the unreadable thing and the remedy.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

// A name chosen by others, fit for one line and for a message.
std::string one_line(std::string_view text);

// The first line of the marker file, or its path when that is empty; nothing when it is not there.
Result<std::optional<std::string>> read_marker(const std::string& path);

// Jobs of a batch system that run on this node.
struct JobView {
  bool present = false;          // something shows jobs here: a cgroup tree, a folder of markers
  std::set<std::string> jobs{};  // by number, or by SLUID where Slurm names them so
  std::set<std::string> ours{};  // those that the agent itself runs in
};
// Slurm's jobs, by the cgroups of slurmstepd (both generations, any slice: `cgroup_root` is
// /sys/fs/cgroup), and by the files of `marker_folder`, which a prolog makes and an epilog removes,
// named after the job. An allocation between two steps may have no cgroup: only the folder shows
// it.
Result<JobView> read_slurm_jobs(const std::string& cgroup_root, const std::string& marker_folder,
                                const std::string& proc_root);
// Jobs named in a /proc/PID/cgroup: "0::/system.slice/slurmstepd.scope/job_42/step_0". Pure.
std::set<std::string> jobs_in_cgroup_paths(std::string_view text);

// Over the last minute.
Result<double> read_load(const std::string& proc_root);
// The first number of /proc/loadavg; nothing when it is none. Pure.
std::optional<double> parse_load(std::string_view text);

// Asks a command: exit code 0 is idle, 1 is busy with the first line that it prints. All else, and
// no end within the deadline, is an error.
Result<std::optional<std::string>> ask_hook(const std::vector<std::string>& argv,
                                            double deadline_seconds);

}  // namespace railgauge::agent
