// The parts of the agent's surroundings that a runner gets. The keeper
// (railgauge-launch-shim --keep) starts it, confines it, and ends it with all that it leaves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::agent {

struct Confinement {
  std::string keeper{};  // path of railgauge-launch-shim
  std::vector<std::string>
      hidden{};  // the agent's key and folders: unreadable where Landlock is on
  // More variables that a runner gets: names, or beginnings with '*' at the end.
  std::vector<std::string> variables{};
  std::uint64_t core_bytes = 0;             // of a core file
  std::uint64_t file_bytes = 64ULL << 30U;  // of a file, shared memory included
  std::uint64_t processes = 32'768;         // of the agent's user, threads included
  std::uint64_t descriptors = 65'536;
};

// The words that start `words` (the runner's path first) under the keeper. `grace_seconds`: from
// SIGTERM to the end of everything, unless the agent asks for it sooner.
std::vector<std::string> kept_words(const Confinement& confinement,
                                    const std::vector<std::string>& words, double grace_seconds);

// The variables of `environment` (NAME=VALUE) that a runner gets: those of the system, of drivers
// and libraries that measure, of launchers, and `more`. Never a name that says that it holds a
// secret, and never the agent's own settings. Pure.
std::vector<std::string> runner_environment(const std::vector<std::string>& environment,
                                            const std::vector<std::string>& more);

// Parses the setting runner_environment: names by commas. kInvalidArgument: no name of a variable,
// or one that holds the agent's own settings.
Result<std::vector<std::string>> read_variables(const std::string& text);

// One line on what protects the agent from its runners on this kernel, as the node's fact
// runner_confinement has it: "landlock 7: ..." or "none: ...".
std::string describe_confinement(int landlock_version);

}  // namespace railgauge::agent
