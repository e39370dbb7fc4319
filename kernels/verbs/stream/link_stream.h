// A stream over one link: the shape that the parameters select, what it posts, how both ranks begin
// and end it, and the proof that it arrived.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/params.h"
#include "kernels/verbs/link/areas.h"
#include "kernels/verbs/link/control_channel.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/stream/stream.h"
#include "kernels/verbs/stream/time_slots.h"
#include "kernels/verbs/transport/account.h"

namespace railgauge::verbs {

// Checked values; the fields fit each other.
struct StreamForm {
  Stream::Plan plan;
  bool both = false;       // both ranks are initiators
  double duration_ns = 0;  // 0: until the estimate is precise
};
// kInvalidArgument names the parameter that does not fit the others.
Result<StreamForm> stream_form(const Params& params);
// Lanes, depths, areas and manner of waiting of such streams; `options` has the largest message.
void add_stream_options(const Params& params, const Stream::Plan& plan, Link::Options& options);

// One a lane.
std::vector<Request> stream_requests(const Link& link, std::uint64_t message_bytes);
// How the operation moves through the layout's slots.
Stream::Aim stream_aim(const Link& link, const Layout& layout);
// For one size: a group of huge messages would not complete within the stall limit or the cap.
Stream::Plan stream_plan(Stream::Plan plan, std::uint64_t message_bytes);

// When the slots of a stretch of time begin, some time after the stream: where `control` is not
// nullptr a moment that both ranks agree on. False when its queue failed.
[[nodiscard]] bool choose_begin(ControlChannel* control, const TickClock& clock, std::uint32_t rank,
                                CommonBegin& begin);
// kDeadlineExceeded where such a stretch does not fit before the task's deadline.
Status check_time_left(const Context& context, double duration_ns);
TimeSlots empty_slots(const CommonBegin& begin, const TickClock& clock, double duration_ns);

// One rank's part in the stream of one size. Everything outlives it.
struct StreamPart {
  Link& link;
  ControlChannel* control;  // nullptr where no message takes a receive, in one direction
  AccountBook& book;
  const TickClock& clock;
  bool both;
};
// The rank that posts nothing takes the messages until the last one. Adds their number to `mine`.
Status sink_stream(const StreamPart& part, PeerStatus& mine);
// The last messages of a rank that posts, which may take the other's too. Adds the counts to
// `mine`.
Status end_stream(const StreamPart& part, Stream& stream, PeerStatus& mine);

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
