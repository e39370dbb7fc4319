// The command lines of launchers that start ranks on several nodes, and what they are given as
// environment. Pure.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/params.h"
#include "kernels/launch/launcher.h"

namespace railgauge {

// How the launcher reaches the other nodes (the parameter `launch`).
enum class LaunchMode { kAgent, kSsh, kSlurm };
Result<LaunchMode> launch_mode_of(const std::string& word);  // "agent", "ssh", "slurm"

// All that the command line of a launcher depends on.
struct LaunchPlan {
  MpiLauncher launcher;
  LaunchMode mode = LaunchMode::kAgent;
  std::vector<std::string> addresses;  // of each rank's node
  // Their names, which Slurm goes by.
  std::vector<std::string> hosts;
  // The path of hosts_file_text(), for Slurm.
  std::string hosts_file;
  // "192.0.2.0/24".
  std::string network;
  // "eth0".
  std::string interface;
  // The program in place of ssh.
  std::string shim;
  // "default", "core", ...
  std::string binding;
  // The ranks' program and its words.
  std::vector<std::string> program;
  // NAME=VALUE, which the ranks are to have.
  std::vector<std::string> handed_on;
};

// The launcher's argv. By its name only: an absolute one would make Open MPI write PATH= in front
// of its daemon, for a shell.
std::vector<std::string> launch_words(const LaunchPlan& plan);
// A line for each rank, as Slurm calls its node: so the first runs where rank 0's records are read,
// which a list of nodes would leave to Slurm's own order.
std::string hosts_file_text(const LaunchPlan& plan);
// Variables of the launcher itself, beside the environment that it is given.
std::vector<std::string> launch_settings(const LaunchPlan& plan);

// The ranks' program and its words.
std::vector<std::string> ranks_words(const MpiLauncher& launcher, const std::string& kernel,
                                     const Params& params, const std::string& records_socket,
                                     double deadline_seconds, bool raw_samples);

// The part of `environment` that any program of an MPI gets: the folders of programs, libraries and
// temporary files, no more.
std::vector<std::string> clean_environment(const std::vector<std::string>& environment,
                                           const MpiLauncher& launcher);
// Puts an installation's programs and libraries first, and sets Open MPI's prefix, because the
// installation may have moved since it was built (HPC-X has).
std::vector<std::string> with_installation(std::vector<std::string> environment,
                                           const MpiLauncher& launcher);
// The variables by which people configure UCX and libfabric, and ours that name libraries: the
// address, the keys and the folders of this node's agent mean nothing on other nodes.
std::vector<std::string> handed_on_variables(const std::vector<std::string>& environment);
// One of this process's variables, "" where it is not set; and all, as NAME=VALUE.
std::string variable(const char* name);
std::vector<std::string> process_environment_words();

// Adds NAME=VALUE where nobody has set NAME.
void add_unless_set(std::vector<std::string>& environment, const std::string& word);
// Adds, once, the switches by which the ranks' MPI reports the carrier of its messages
// (transport_facts). `is_tuned`: the task sets variables, and only UCX's warning shows whether UCX
// reads them (ignored_setting): then no earlier setting silences it.
void add_transport_reporting(const std::string& mpi, bool is_tuned,
                             std::vector<std::string>& environment);

// "Open MPI 4.1.4", "Hydra 4.0.2", of what the launcher prints for --version.
std::string launcher_version(const std::string& text);

}  // namespace railgauge
