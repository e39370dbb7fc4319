// The search for an MPI's launcher and for the program of its ranks, in the system or in an
// installation of the agent's configuration.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/mpi_installations.h"
#include "kernels/core/text/text.h"
#include "kernels/launch/launcher.h"
#include "kernels/launch/words.h"

namespace railgauge {
namespace {

// One MPI: the variable that names its launcher, the programs to look for, and what to install.
struct Known {
  std::string_view mpi;
  const char* variable;
  std::array<const char*, 2> names;  // Debian's beside the usual one, which may be another MPI's
  const char* help;
  std::array<const char*, 2> daemons;
};
constexpr std::array kKnown{Known{"openmpi",
                                  "RAILGAUGE_LAUNCHER_OPENMPI",
                                  {"mpirun.openmpi", "mpirun"},
                                  "install Open MPI (Debian: openmpi-bin)",
                                  {"orted", "prted"}},
                            Known{"mpich",
                                  "RAILGAUGE_LAUNCHER_MPICH",
                                  {"mpiexec.hydra", "mpiexec"},
                                  "install MPICH (Debian: mpich) or MVAPICH2",
                                  {"hydra_pmi_proxy", ""}}};

// Whether this process may execute the file.
bool runs(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

// Returns the launcher below a prefix. kNotFound.
Result<std::string> launcher_below(const Known& known, const std::string& prefix) {
  for (const char* name : known.names)
    if (std::string path = prefix + "/bin/" + name; runs(path)) return path;
  return fail(Code::kNotFound, "{}: no {} in {}/bin, which mpi_installations names", known.mpi,
              fmt::join(known.names, " or "), prefix);
}

// The program that the launcher starts on other nodes: beside it, or in the usual places.
std::string daemon_of(const Known& known, const std::string& launcher) {
  const auto folder = std::filesystem::path(launcher).parent_path();
  for (const char* name : known.daemons)
    if (std::string beside = (folder / name).string(); *name != '\0' && runs(beside)) return beside;
  for (const char* name : known.daemons)
    if (*name != '\0')
      if (std::string path = program_in_path(name); !path.empty()) return path;
  return {};
}

// Finds an installation. kNotFound: the agent's setting has none of that name. kInvalidArgument: it
// is of another MPI.
Result<MpiInstallation> installation_of(const std::string& name, const std::string& mpi) {
  const auto all = RG_TRY(read_installations(variable(kInstallationsVariable)));
  const auto found = std::ranges::find(all, name, &MpiInstallation::name);
  if (found == all.end())
    return fail(Code::kNotFound,
                "mpi_installation {}: this agent's setting mpi_installations has none of that name",
                in_quotes(name));
  if (found->mpi != mpi)
    return invalid("mpi_installation {}: is for {}, and the task says mpi={}", in_quotes(name),
                   found->mpi, mpi);
  return *found;
}

// Finds a launcher of the system. A launcher that a variable names must be executable; no other one
// replaces it. An empty variable counts as not set.
Result<std::string> launcher_of(const Known& known) {
  if (const std::string named = variable(known.variable); runs(named))
    return named;
  else if (!named.empty())
    return fail(Code::kNotFound, "{}: {} cannot be run, which {} names", known.mpi, named,
                known.variable);
  for (const char* name : known.names)
    if (std::string path = program_in_path(name); !path.empty()) return path;
  return fail(Code::kNotFound, "{}: no {} in the PATH; {} or name it in {}", known.mpi,
              fmt::join(known.names, " or "), known.help, known.variable);
}

}  // namespace

// Searches like execvp(3), except that an empty entry of the PATH is not the current folder.
std::string program_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':'))
    if (std::string file = fmt::format("{}/{}", folder, name); runs(file)) return file;
  return {};
}

// By its name: MVAPICH's other launcher is a Hydra.
bool is_mpirun_rsh(const MpiLauncher& launcher) {
  return launcher.program.ends_with("/mpirun_rsh");
}

// The ranks' program and the shim are beside this program, as they are installed.
Result<MpiLauncher> find_mpi_launcher(const std::string& mpi, const std::string& installation,
                                      bool by_ssh) {
  const Known* const row = row_where(kKnown, &Known::mpi, mpi);
  if (row == nullptr) return invalid("mpi {} is not openmpi or mpich", in_quotes(mpi));
  const Known& known = *row;
  MpiLauncher launcher;
  launcher.mpi = mpi;
  if (installation.empty()) {
    launcher.program = RG_TRY(launcher_of(known));
  } else {
    const MpiInstallation found = RG_TRY(installation_of(installation, mpi));
    launcher.program = RG_TRY(launcher_below(known, found.prefix));
    launcher.prefix = found.prefix;
    launcher.library_folders = found.library_folders;
  }
  launcher.daemon = daemon_of(known, launcher.program);
  const bool named = installation.empty() && !variable(known.variable).empty();
  const auto beside = std::filesystem::path(launcher.program).parent_path() / "mpirun_rsh";
  if (by_ssh && !named && mpi == "mpich" && runs(beside)) launcher.program = beside.string();
  std::error_code unreadable;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  launcher.ranks_program = (own.parent_path() / fmt::format("railgauge-runner-{}", mpi)).string();
  if (!runs(launcher.ranks_program))
    return fail(Code::kNotFound, "{}: {} is not there; it is built where {} is found", mpi,
                launcher.ranks_program, mpi);
  launcher.shim = (own.parent_path() / "railgauge-launch-shim").string();
  if (!runs(launcher.shim))
    return fail(Code::kNotFound, "{}: {} is not there; it belongs to this program", mpi,
                launcher.shim);
  launcher.bind_option = mpi == "openmpi" ? "--bind-to" : "-bind-to";
  // Ranks of one host: more than its cores may be asked for.
  if (mpi == "openmpi") launcher.options = {"--oversubscribe"};
  if (mpi == "openmpi" && ::geteuid() == 0) launcher.options.emplace_back("--allow-run-as-root");
  return launcher;
}

}  // namespace railgauge
