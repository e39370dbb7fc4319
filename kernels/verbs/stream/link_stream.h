// A stream of one size over one link: what it posts, and the proof that it arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/stream/stream.h"

namespace railgauge::verbs {

// One a lane.
std::vector<Request> stream_requests(const Link& link, std::uint64_t message_bytes);
// How the operation moves through the layout's slots.
Stream::Aim stream_aim(const Link& link, const Layout& layout);
// For one size: a group of huge messages would not complete within the stall limit or the cap.
Stream::Plan stream_plan(Stream::Plan plan, std::uint64_t message_bytes);

// This rank as the target of the other's stream, and as the initiator of its own. `told` has both
// ranks' numbers of this link.
struct StreamEnds {
  std::size_t size_index = 0;
  std::uint32_t rank = 0;
  bool both = false;
};
// kDataLoss names the first wrong byte or count. Nothing is compared where all messages are lost.
Status verify_stream(Link& link, const Layout& layout, const StreamEnds& ends,
                     const PeerStatus& mine, const PeerStatus& theirs);

}  // namespace railgauge::verbs
