// Which launcher starts the ranks of which MPI, and where the two are.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/text.h"
#include "kernels/runner/mpi_launch.h"

namespace railgauge {
namespace {

struct Known {
  std::string_view mpi;
  const char* variable;
  std::array<const char*, 2> names;  // Debian's beside the usual one, which may be another MPI's
  const char* help;
};
constexpr std::array kKnown{Known{"openmpi",
                                  "RAILGAUGE_LAUNCHER_OPENMPI",
                                  {"mpirun.openmpi", "mpirun"},
                                  "install Open MPI (Debian: openmpi-bin)"},
                            Known{"mpich",
                                  "RAILGAUGE_LAUNCHER_MPICH",
                                  {"mpiexec.hydra", "mpiexec"},
                                  "install MPICH (Debian: mpich) or MVAPICH2"}};

bool runs(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "/usr/bin:/bin" : path;
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    std::string file = folders.substr(begin, end - begin) + "/" + name;
    if (runs(file)) return file;
    begin = end + 1;
  }
  return {};
}

Result<std::string> launcher_of(const Known& known) {
  const char* named = std::getenv(known.variable);
  if (named != nullptr && *named != '\0') {
    if (runs(named)) return std::string(named);
    return fail(Code::kNotFound, fmt::format("{}: {} cannot be run, which {} names", known.mpi,
                                             named, known.variable));
  }
  for (const char* name : known.names)
    if (std::string path = in_path(name); !path.empty()) return path;
  return fail(Code::kNotFound,
              fmt::format("{}: no {} in the PATH; {} or name it in {}", known.mpi,
                          fmt::join(known.names, " or "), known.help, known.variable));
}

}  // namespace

Result<MpiLauncher> find_mpi_launcher(const std::string& mpi) {
  for (const Known& known : kKnown) {
    if (known.mpi != mpi) continue;
    MpiLauncher launcher;
    launcher.program = RG_TRY(launcher_of(known));
    std::error_code unreadable;
    const auto own = std::filesystem::read_symlink("/proc/self/exe", unreadable);
    launcher.ranks_program = (own.parent_path() / fmt::format("railgauge-runner-{}", mpi)).string();
    if (!runs(launcher.ranks_program))
      return fail(Code::kNotFound, fmt::format("{}: {} is not there; it is built where {} is found",
                                               mpi, launcher.ranks_program, mpi));
    launcher.bind_option = mpi == "openmpi" ? "--bind-to" : "-bind-to";
    // Ranks of one host: more than its cores may be asked for.
    if (mpi == "openmpi") launcher.options = {"--oversubscribe"};
    if (mpi == "openmpi" && ::geteuid() == 0) launcher.options.emplace_back("--allow-run-as-root");
    return launcher;
  }
  return fail(Code::kInvalidArgument,
              fmt::format("mpi {} is not openmpi or mpich", in_quotes(mpi)));
}

}  // namespace railgauge
