// A moment that two hosts share: control words compare the ranks' clocks, as NTP does.
#pragma once

#include <cstdint>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/link/control_channel.h"

namespace railgauge::verbs {

// The same moment on either rank's clock.
struct CommonBegin {
  std::uint64_t ticks = 0;    // of this rank's clock
  double uncertainty_ns = 0;  // half the shortest round trip; on rank 0
};

// Rank 0 sets the moment, `lead_ns` after it knows the offset; both ranks call. The offset is taken
// at the exchange with the shortest round trip. False when a queue failed.
[[nodiscard]] bool agree_on_begin(ControlChannel& control, const TickClock& clock,
                                  std::uint32_t rank, double lead_ns, CommonBegin& begin);

}  // namespace railgauge::verbs
