// Other tools' command lines, typed for this program: `railgauge-runner ib_write_bw -d DEV [HOST]`,
// `railgauge-runner all_reduce_perf -b 8 -e 128M -f 2 -g 2`, `railgauge-runner nvbandwidth -t
// TEST`, or the program called by such a name through a link.
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

// The names of all such programs: "nvbandwidth", "gdrcopy_copybw", ..., "ib_write_bw", ...,
// "all_reduce_perf", ...
std::vector<std::string> peer_command_names();

// The program that this one's own name or its first argument names, and the arguments behind it.
struct PeerInvocation {
  // "": neither names one.
  std::string name{};
  std::vector<std::string> arguments{};
};
PeerInvocation peer_invocation(std::span<char* const> argv);

// Parses, runs, prints; the exit code, or nullopt where argv names no such program. No other thread
// may run yet: NCCL and profiles run in child processes.
std::optional<int> run_peer_command(std::span<char* const> argv, const ProfileHost& host);

// "KEY=VALUE" of --set, parted. kInvalidArgument.
Result<std::pair<std::string, std::string>> read_setting(const std::string& text);

// Reads a command line, the words behind the program's name; the exit code where that ends the
// program: --help, wrong use.
std::optional<int> parse_flags(CLI::App& app, std::vector<std::string> arguments);

// Prints "railgauge-runner: `message`" on stderr; the exit code.
int report_wrong_use(std::string_view message, int exit_code = kExitUsage);

}  // namespace railgauge
