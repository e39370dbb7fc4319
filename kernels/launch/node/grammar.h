// The only request that an MPI launcher may send to another node through us: to start its own
// daemon there, with exactly the words that the launcher itself generates. No shell ever reads the
// words. Pure.
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

// A launcher's command, parsed and found harmless.
struct DaemonCommand {
  Daemon daemon = Daemon::kOrted;
  std::string node;  // the launcher's name for it
  // Without the launcher's quotes, and without the program's path, which the target chooses.
  std::vector<std::string> arguments;
  // The addresses that the daemon will call: "192.0.2.1:44811".
  std::vector<std::string> calls_back;
  // The network (orted, prted) or interface (Hydra) that the daemon's own connections are bound to.
  std::vector<std::string> networks;
};

// Parses the words that a launcher passes to its remote shell, without the shell's name: node,
// daemon, options. `shim` is our own path, which the words contain too. kPermissionDenied with the
// first forbidden word; the message is for the log and for the launcher.
Result<DaemonCommand> read_daemon_command(std::span<const std::string> words,
                                          std::string_view shim);

// The programs that a running task may start and where, as the controller granted them.
struct Lease {
  std::string task;
  Daemon daemon = Daemon::kOrted;
  std::set<std::string> nodes;      // addresses passed to the launcher
  std::set<std::string> launchers;  // addresses of the launcher's node on the data network
  std::string network;  // as passed to the launcher: "192.0.2.0/24", or "eth0" for Hydra
  double expires_monotonic_ns = 0;
};

// Checks a command against the lease. kPermissionDenied, naming the violation: another daemon, a
// node outside the task, a call to another address than the launcher's or over another network, or
// an expired lease.
Status check_lease(const DaemonCommand& command, const Lease& lease, double now_monotonic_ns);

}  // namespace railgauge::launch
