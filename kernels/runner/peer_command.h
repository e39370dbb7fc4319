// Other tools' command lines for this program: `railgauge-runner ib_write_bw -d DEV [HOST]`,
// `railgauge-runner all_reduce_perf -b 8 -e 128M -f 2 -g 2`, `railgauge-runner nvbandwidth -t
// TEST`, or a link to this program with such a name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/outcome.h"
#include "kernels/runner/profile_run.h"

namespace CLI {
class App;
}

namespace railgauge {

// Returns the names of all such programs: "nvbandwidth", "gdrcopy_copybw", ..., "ib_write_bw", ...,
// "all_reduce_perf", ...
std::vector<std::string> peer_command_names();

// A program named by argv[0] or by the first argument, and the arguments behind the name.
struct PeerInvocation {
  // "": neither is such a name.
  std::string name{};
  std::vector<std::string> arguments{};
};
PeerInvocation peer_invocation(std::span<char* const> argv);

// Parses, runs and prints; returns the exit code, or nullopt if argv names no such program. No
// other thread may run yet: NCCL and profiles run in child processes.
std::optional<int> run_peer_command(std::span<char* const> argv, const ProfileHost& host);

// Splits "KEY=VALUE" of --set. kInvalidArgument: another form.
Result<std::pair<std::string, std::string>> read_setting(const std::string& text);

// Parses the arguments behind the program's name. Returns the exit code if that ends the program
// (--help, wrong use), else nullopt.
std::optional<int> parse_flags(CLI::App& app, std::vector<std::string> arguments);

// Prints "railgauge-runner: `message`" on stderr; returns `exit_code`.
int report_wrong_use(std::string_view message, int exit_code = kExitUsage);

}  // namespace railgauge
