// The target's part in messages that use up receives: it gives them out, and out again, until the
// initiator has said how many it posted and they have come.
#pragma once

#include <cstdint>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/link/control_channel.h"
#include "kernels/verbs/link/link.h"

namespace railgauge::verbs {

// Which parts this rank plays in the stream; both in direction both.
struct Parts {
  bool sends = false;
  bool receives = false;
};
// Gives out the receives for a size and counts arrivals from zero. Where those of the size before
// still stand (`has_old`), empty messages use them up first; on an unreliable transport
// use_up_receives() has done it. Both ranks call.
Status renew_receives(Link& link, const Slots& slots, const Parts& parts, bool has_old);

// On an unreliable transport: uses up the receives in the rings by empty messages. Lost ones are
// sent again until the other side's rings are empty. Both ranks call it; on a reliable transport it
// does nothing.
Status use_up_receives(Link& link, ControlChannel& control, const TickClock& clock,
                       const Parts& parts, std::uint32_t rank);

// Until the initiator's last message. On an unreliable transport, what is lost is not waited for.
// False when a queue failed.
[[nodiscard]] bool sink_messages(Link& link, ControlChannel& control, const TickClock& clock);

// The same where this side sends too: its own last messages may wait for the other side's receives.
// `posted` of them in all.
[[nodiscard]] bool finish_and_sink(Link& link, ControlChannel& control, const TickClock& clock,
                                   std::uint64_t posted);

// How many of the first slots hold a message after `arrived` of them, in each ring in turn.
std::uint64_t slots_reached(const Link& link, const Slots& slots, std::uint64_t arrived);

}  // namespace railgauge::verbs
