// NIC ports that carried another port's traffic in a collective of a run: NCCL moves the traffic of
// a failed port silently, and the bandwidth may look alike. One large message shows it, so no
// history is needed.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "controller/store/rows/rows.h"
#include "controller/store/store.h"
#include "kernels/core/base/result.h"

namespace railgauge {

inline constexpr std::string_view kFailedPortKind = "port_failover";

// A node whose busiest port carried too large a part.
struct FailedPort {
  std::string node{};
  double share = 0;  // the largest of the run: 2 is the traffic of two ports
  std::string kernel{};
  double message_bytes = 0;
  double quietest = 1;       // the quietest port's part of the mean; 1 where nobody said
  std::string port_bytes{};  // the kernel's own words about that host
};

// Returns the least share of the busiest of `ports` beside a port that carried less than half of
// the mean, in whatever way the others took over: 1 + 0.5 / (ports - 1). That is 1.5 of two ports
// and 1.07 of eight. Infinite for one port.
double least_suspect_share(std::int64_t ports);

// Finds the nodes, the worst first, in figures `busiest_port_share` of passed tasks. Messages below
// 1 MiB count for nothing: NCCL itself uses fewer ports for them. Pure; thread safe.
std::vector<FailedPort> failed_ports_among(std::span<const store::ResultRow> rows);

// Opens, confirms, reopens or ends findings of kind `port_failover`: a second run confirms one, and
// a run that measures the node's ports as equal ends it. `now`: unix seconds. Errors: those of the
// store.
Status judge_failed_ports(store::Store& store, const store::RunRow& run, double now);

}  // namespace railgauge
