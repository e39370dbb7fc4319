// A stream over one link: the form that the parameters select, its posts, its begin and end on both
// ranks, and the verification of its data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/params.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/control_channel.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/stream/stream.h"
#include "kernels/verbs/stream/time_slots.h"
#include "kernels/verbs/transport/account.h"

namespace railgauge::verbs {

// Checked values that fit each other.
struct StreamForm {
  Stream::Plan plan;
  bool both = false;       // both ranks are initiators
  double duration_ns = 0;  // 0: until the estimate is precise
};
// Returns kInvalidArgument where a burst of the largest message takes too long at the paced rate.
Status check_pace(const Stream::Plan& plan, std::uint64_t largest_bytes);
// Reads the form. kInvalidArgument names a parameter that does not fit the others.
Result<StreamForm> stream_form(const Params& params);
// Chooses the memory of the parameter `buffer` for messages one after another: one place, or a cold
// ring. For kernels that have the parameter; `options` has the area of the largest message.
void choose_places(const Params& params, Link::Options& options);
// Returns the PCIe ordering of the parameter `relaxed_ordering`, which the kernel declares; strict
// beside a staged twin.
Link::Ordering ordering_of(const Params& params);
// Adds lanes, depths, areas and waiting mode of a stream; `options` has the largest message.
void add_stream_options(const Params& params, const Stream::Plan& plan, Link::Options& options);

// Returns one request a lane.
std::vector<Request> stream_requests(const Link& link, std::uint64_t message_bytes);
// Returns the operation's path through the layout's slots.
Stream::Aim stream_aim(const Link& link, const Layout& layout);
// Returns the word for whether messages find their memory in a cache, which each point has as
// `buffer`: "hot" or "cold".
const char* buffer_words(const Link& link);
// Prepares both ranks' areas for a stream of one size, as set_up_areas() does, and its content of
// after the warm-up.
Status set_up_stream(const Link& link, const Layout& layout, std::size_t size_index,
                     std::uint32_t rank);
// Adapts the plan to one size: a group of huge messages would exceed the stall limit or the cap.
Stream::Plan stream_plan(Stream::Plan plan, std::uint64_t message_bytes);

// Chooses the begin of the slots, some time after the stream's own begin; with a non-null `control`
// a moment that both ranks agree on. False when its queue failed.
[[nodiscard]] bool choose_begin(ControlChannel* control, const TickClock& clock, std::uint32_t rank,
                                CommonBegin& begin);
// Returns kDeadlineExceeded when an interval of `duration_ns` does not fit before the task's
// deadline.
Status check_time_left(const Context& context, double duration_ns);
TimeSlots empty_slots(const CommonBegin& begin, const TickClock& clock, double duration_ns);

// One rank's part in the stream of one size. All members outlive it.
struct StreamPart {
  Link& link;
  ControlChannel* control;  // nullptr: no message takes a receive, one direction
  AccountBook& book;
  const TickClock& clock;
  bool both;
};
// Receives messages until the last one, on a rank that posts none. Adds their number to `mine`.
Status sink_stream(const StreamPart& part, PeerStatus& mine);
// Completes the last messages of a posting rank, which may also receive the other's. Adds the
// counts to `mine`.
Status end_stream(const StreamPart& part, Stream& stream, PeerStatus& mine);

// This rank's ends: the target of the other rank's stream, the initiator of its own, or both.
struct StreamEnds {
  std::size_t size_index = 0;
  std::uint32_t rank = 0;
  bool both = false;
};
// Verifies both ends. kDataLoss names the first wrong byte or count. Compares nothing when all
// messages are lost.
Status verify_stream(Link& link, const Layout& layout, const StreamEnds& ends,
                     const PeerStatus& mine, const PeerStatus& theirs);

}  // namespace railgauge::verbs
