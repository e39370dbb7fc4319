// Readers of the busy guard's sources, from files and by a command. They are short and bounded. The
// guard treats an error as busy: one line with the unreadable thing and a remedy.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

// A foreign name, made fit for one line of a message.
std::string one_line(std::string_view text);

// The first line of the marker file, or its path if the file is empty; absent without a file.
Result<std::optional<std::string>> read_marker(const std::string& path);

// The jobs of a batch system on this node.
struct JobView {
  bool present = false;          // something shows jobs here: a cgroup tree, a folder of markers
  std::set<std::string> jobs{};  // by number, or by SLUID where Slurm names them so
  std::set<std::string> ours{};  // those that the agent itself runs in
};
// Slurm's jobs, by the cgroups of slurmstepd (both generations, any slice; `cgroup_root` is
// /sys/fs/cgroup), and by the files in `marker_folder`, which a prolog creates and an epilog
// removes, named after the job. An allocation between two steps may have no cgroup; only the folder
// shows it.
Result<JobView> read_slurm_jobs(const std::string& cgroup_root, const std::string& marker_folder,
                                const std::string& proc_root);
// Jobs named in a /proc/PID/cgroup: "0::/system.slice/slurmstepd.scope/job_42/step_0". Pure.
std::set<std::string> jobs_in_cgroup_paths(std::string_view text);

// The load average of the last minute.
Result<double> read_load(const std::string& proc_root);
// The first number of /proc/loadavg; absent if the text has none. Pure.
std::optional<double> parse_load(std::string_view text);

// Runs the site's command. Exit code 0 is idle; 1 is busy, with the first line that it prints.
// Everything else is an error, also a command that does not end within the deadline.
Result<std::optional<std::string>> ask_hook(const std::vector<std::string>& argv,
                                            double deadline_seconds);

}  // namespace railgauge::agent
