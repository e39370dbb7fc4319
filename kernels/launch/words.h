// The command lines and environments of launchers that start ranks on several nodes. Pure.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/params.h"
#include "kernels/launch/launcher.h"

namespace railgauge {

// How the launcher reaches the other nodes (the parameter `launch`).
enum class LaunchMode { kAgent, kSsh, kSlurm };
Result<LaunchMode> launch_mode_of(const std::string& word);  // "agent", "ssh", "slurm"

// The inputs of a launcher's command line.
struct LaunchPlan {
  MpiLauncher launcher;
  LaunchMode mode = LaunchMode::kAgent;
  std::vector<std::string> addresses;  // of each rank's node
  // The nodes' names, which Slurm uses.
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
  // The rank's own, "gpu0"; "": none. In the order of `addresses`.
  std::vector<std::string> endpoints;
  // NAME=VALUE, for the ranks' environment.
  std::vector<std::string> handed_on;
};

// Returns the launcher's argv. argv[0] is a bare name: an absolute path would make Open MPI write
// PATH= in front of its daemon, for a shell.
std::vector<std::string> launch_words(const LaunchPlan& plan);
// Returns a line for each rank with Slurm's name of its node. Rank 0 then runs on the node that
// reads its records; a plain list of nodes would follow Slurm's own order.
std::string hosts_file_text(const LaunchPlan& plan);
// Returns variables for the launcher itself, added to its environment.
std::vector<std::string> launch_settings(const LaunchPlan& plan);

// The ranks' program and its words.
std::vector<std::string> ranks_words(const MpiLauncher& launcher, const std::string& kernel,
                                     const Params& params, const std::string& records_socket,
                                     double deadline_seconds, bool raw_samples);

// Adds the ranks' endpoints to their program's words, of which each rank takes its own; nothing
// where no rank has one.
void add_endpoints(LaunchPlan& plan);

// Returns the part of `environment` that every program of an MPI gets: the folders of programs,
// libraries and temporary files only.
std::vector<std::string> clean_environment(const std::vector<std::string>& environment,
                                           const MpiLauncher& launcher);
// Puts an installation's programs and libraries first, and sets Open MPI's prefix, because the
// installation may have moved since it was built (HPC-X has).
std::vector<std::string> with_installation(std::vector<std::string> environment,
                                           const MpiLauncher& launcher);
// Returns the variables that configure UCX and libfabric, and ours that name libraries. All others
// (the agent's address, keys and folders) have no meaning on other nodes.
std::vector<std::string> handed_on_variables(const std::vector<std::string>& environment);
// Return one of this process's variables ("": not set), and all of them as NAME=VALUE.
std::string variable(const char* name);
std::vector<std::string> process_environment_words();

// Adds `word`, NAME=VALUE, unless NAME is set.
void add_unless_set(std::vector<std::string>& environment, const std::string& word);
// Adds, once, the variables that make the ranks' MPI print its transports (see transport_facts).
// `is_tuned`: the task sets variables, and only UCX's warning shows whether UCX reads them (see
// ignored_setting), so an earlier setting that silences the warning is overridden.
void add_transport_reporting(const std::string& mpi, bool is_tuned,
                             std::vector<std::string>& environment);

// Parses the launcher's output for --version: "Open MPI 4.1.4", "Hydra 4.0.2".
std::string launcher_version(const std::string& text);

}  // namespace railgauge
