// The requests that an MPI launcher may make to another node through us: to start its own daemon
// there, in exactly the words that the launcher itself makes, and nothing else. No shell ever reads
// them. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::launch {

// The programs that launchers start on other nodes.
enum class Daemon : std::uint8_t { kOrted, kPrted, kHydraProxy };
std::string_view daemon_name(Daemon daemon);  // "orted", "prted", "hydra_pmi_proxy"

// A launcher's command, read and found harmless.
struct DaemonCommand {
  Daemon daemon = Daemon::kOrted;
  std::string node;  // as the launcher names it
  // Without the launcher's quotes; the program's path is the target's own to choose.
  std::vector<std::string> arguments;
  // Where the daemon will call: "192.0.2.1:44811".
  std::vector<std::string> calls_back;
  // The network (orted, prted) or interface (Hydra) that its own connections are bound to.
  std::vector<std::string> networks;
};

// Reads the words that a launcher gives to its remote shell, the program's name not among them:
// node, daemon, options. `shim` is our own path, which the words name too. kPermissionDenied with
// the first word that has no place: the message is for the log and for the launcher.
Result<DaemonCommand> read_daemon_command(std::span<const std::string> words,
                                          std::string_view shim);

// The programs that a running task may start and where, as the controller granted them.
struct Lease {
  std::string task;
  Daemon daemon = Daemon::kOrted;
  std::set<std::string> nodes;      // addresses, as the launcher was given them
  std::set<std::string> launchers;  // addresses of the launcher's node on the data network
  std::string network;  // as passed to the launcher: "192.0.2.0/24", or "eth0" for Hydra
  double expires_monotonic_ns = 0;
};

// kPermissionDenied for another daemon, a node that is none of the task's, a daemon that would call
// elsewhere than to the task's launcher or over another network, or an expired lease; the message
// says which.
Status check_lease(const DaemonCommand& command, const Lease& lease, double now_monotonic_ns);

}  // namespace railgauge::launch
