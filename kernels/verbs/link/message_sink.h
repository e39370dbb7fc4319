// The target's part in messages that use up receives: posts receives again and again until the
// initiator has sent its number of posts and all of them have come.
#pragma once

#include <cstdint>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/link/control_channel.h"
#include "kernels/verbs/link/link.h"

namespace railgauge::verbs {

// The roles of this rank in the stream; both in direction both.
struct Parts {
  bool sends = false;
  bool receives = false;
};
// Posts the receives for a size and counts arrivals from zero. Receives left from the previous size
// (`has_old`) are first used up by empty messages; on an unreliable transport use_up_receives() has
// done so. Both ranks call.
Status renew_receives(Link& link, const Slots& slots, const Parts& parts, bool has_old);

// Uses up the posted receives by empty messages on an unreliable transport, resending lost ones
// until the other side's rings are empty. Both ranks call; does nothing on a reliable transport.
Status use_up_receives(Link& link, ControlChannel& control, const TickClock& clock,
                       const Parts& parts, std::uint32_t rank);

// Receives until the initiator's last message. Lost messages of an unreliable transport are not
// awaited. False when a queue failed.
[[nodiscard]] bool sink_messages(Link& link, ControlChannel& control, const TickClock& clock);

// Does the same on a rank that sends too, `posted` messages in all: its own last messages may wait
// for the other side's receives.
[[nodiscard]] bool finish_and_sink(Link& link, ControlChannel& control, const TickClock& clock,
                                   std::uint64_t posted);

// Returns how many of the first slots hold a message after `arrived` messages, ring by ring.
std::uint64_t slots_reached(const Link& link, const Slots& slots, std::uint64_t arrived);

}  // namespace railgauge::verbs
