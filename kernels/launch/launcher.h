// Ranks of an MPI task started by that MPI's own launcher, from a program that has no MPI and so
// outlives whatever MPI does: records come from rank 0 over a socket, words from the launcher.
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
  // The path of orted, prted or hydra_pmi_proxy; "" where it is not there.
  std::string daemon{};
  std::string prefix{};  // of an installation that is not the system's
  // The installation's library folders, separated by colons.
  std::string library_folders{};
  // The path of railgauge-launch-shim, which keeps what is started.
  std::string shim{};
};

// Looks for launcher and program: an installation that the agent's configuration names (see
// installation_of); else the variable RAILGAUGE_LAUNCHER_OPENMPI or _MPICH names one; else the PATH
// is searched for Debian's name and the usual one. kNotFound with the package to install. `by_ssh`:
// MVAPICH's mpirun_rsh is taken where it is beside the one found.
Result<MpiLauncher> find_mpi_launcher(const std::string& mpi, const std::string& installation = "",
                                      bool by_ssh = false);
// MVAPICH's, which knows no other way than ssh.
bool is_mpirun_rsh(const MpiLauncher& launcher);

// A program of that name in the PATH; "" where there is none.
std::string program_in_path(const std::string& name);

// Says what the agent's setting mpi_installations lists (kernels/core/mpi_installations.h).
inline constexpr const char* kInstallationsVariable = "RAILGAUGE_MPI_INSTALLATIONS";

// The launcher's command line. Pure.
std::vector<std::string> launcher_command(const MpiLauncher& launcher,
                                          const StandaloneOptions& options,
                                          const std::string& records_socket);

// Starts the launcher, hands over rank 0's records, writes the final record itself where the ranks
// leave none; gives the exit code. Signals must be blocked. Ends the launcher at the deadline; when
// it returns no process of the launcher is left on this host.
int run_mpi_launcher(const StandaloneOptions& options, RecordSink& sink);

// Rank 0's side: the socket that run_mpi_launcher() listens on.
class SocketSink final : public RecordSink {
 public:
  // kUnavailable where nobody listens there.
  static Result<SocketSink> connect(const std::string& path);
  // kUnavailable or kDeadlineExceeded where the reader is gone or does not read.
  Status write(const Record& record) override;

 private:
  explicit SocketSink(int fd) : fd_(fd) {}
  Fd fd_;
};

}  // namespace railgauge
