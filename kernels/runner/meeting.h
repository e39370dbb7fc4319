// The agreement of two standalone runners before they prepare: the kernel must be the same, the
// connecting side's parameters rule, except those that each rank chooses for itself.
#pragma once

#include <map>
#include <string>

#include "kernels/core/kernel.h"

namespace railgauge {

inline constexpr std::uint32_t kConnectingRank = 0;  // the initiator
inline constexpr std::uint32_t kListeningRank = 1;
inline constexpr double kMeetingTimeoutSeconds = 10;

// The result for both sides: parameters, the deadline in seconds, and the other side's host name.
struct Settled {
  Params params;
  double deadline_seconds = 0;
  std::string peer_host;
};

// Exchanges the hellos. `given` is what this side's user typed. Both sides get the same result or
// the same error: kInvalidArgument naming what differs, kDataLoss for another program at the other
// end.
Result<Settled> meet(Group& group, const KernelInfo& kernel,
                     const std::map<std::string, std::string>& given, double deadline_seconds);

}  // namespace railgauge
