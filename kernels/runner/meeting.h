// The agreement of two standalone runners before they prepare. Both must run the same kernel; the
// connecting side's parameters apply to both, except parameters that each rank chooses for itself.
#pragma once

#include <map>
#include <string>

#include "kernels/core/kernel.h"

namespace railgauge {

inline constexpr std::uint32_t kConnectingRank = 0;  // the initiator
inline constexpr std::uint32_t kListeningRank = 1;
inline constexpr double kMeetingTimeoutSeconds = 10;

// The agreed parameters and deadline, and the other side's host name.
struct Settled {
  Params params;
  double deadline_seconds = 0;
  std::string peer_host;
};

// Exchanges hellos. `given` are the parameters that this side's user typed. Either both sides
// agree, or both get the same error. kInvalidArgument, naming the difference; kDataLoss: the peer
// is another program.
Result<Settled> meet(Group& group, const KernelInfo& kernel,
                     const std::map<std::string, std::string>& given, double deadline_seconds);

}  // namespace railgauge
