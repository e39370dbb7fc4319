// Ranks of an MPI task, started by that MPI's own launcher from a program without MPI, which
// survives any failure of MPI. Records arrive from rank 0 over a socket, output from the launcher.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"
#include "kernels/runner/task/record_writer.h"
#include "kernels/runner/task/standalone_options.h"

namespace railgauge {

// How one MPI is started on this host.
struct MpiLauncher {
  // The launcher's path.
  std::string program;
  // "--bind-to".
  std::string bind_option;
  std::vector<std::string> options;  // in front of "-n"
  // The path of railgauge-runner-openmpi or -mpich.
  std::string ranks_program;
  // "openmpi", "mpich".
  std::string mpi{};
  // The path of orted, prted or hydra_pmi_proxy; "": not found.
  std::string daemon{};
  std::string prefix{};  // of an installation of the agent's setting; "": the system's
  // The installation's library folders, separated by colons.
  std::string library_folders{};
  // The path of railgauge-launch-shim, the keeper of started programs.
  std::string shim{};
};

// Finds the launcher of `mpi` and the program of its ranks. The launcher is that of `installation`,
// a name of the agent's setting; without one, that of the variable RAILGAUGE_LAUNCHER_OPENMPI or
// _MPICH; else the first in the PATH with Debian's or the usual name. `by_ssh`: prefers MVAPICH's
// mpirun_rsh if it is beside the launcher. kNotFound, with the package to install or the setting to
// correct.
Result<MpiLauncher> find_mpi_launcher(const std::string& mpi, const std::string& installation = "",
                                      bool by_ssh = false);
// Whether the launcher is MVAPICH's mpirun_rsh, which reaches nodes by ssh only.
bool is_mpirun_rsh(const MpiLauncher& launcher);

// Returns the path of a program in the PATH, or "".
std::string program_in_path(const std::string& name);

// The variable with the agent's setting mpi_installations (kernels/core/mpi_installations.h).
inline constexpr const char* kInstallationsVariable = "RAILGAUGE_MPI_INSTALLATIONS";

// Returns the launcher's command line. Pure.
std::vector<std::string> launcher_command(const MpiLauncher& launcher,
                                          const StandaloneOptions& options,
                                          const std::string& records_socket);

// Starts the launcher, writes rank 0's records to `sink`, and writes the final record itself if the
// ranks leave none. Returns the exit code. Ends the launcher at the deadline. Signals must be
// blocked. On return no process of the launcher is left on this host.
int run_mpi_launcher(const StandaloneOptions& options, RecordSink& sink);

// Rank 0's end of the socket that run_mpi_launcher() listens on.
class SocketSink final : public RecordSink {
 public:
  // Connects to the socket. kUnavailable: nobody listens.
  static Result<SocketSink> connect(const std::string& path);
  // Writes a record. kUnavailable: the reader is gone. kDeadlineExceeded: it does not read.
  Status write(const Record& record) override;

 private:
  explicit SocketSink(int fd) : fd_(fd) {}
  Fd fd_;
};

}  // namespace railgauge
