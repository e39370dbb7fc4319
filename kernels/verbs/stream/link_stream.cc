#include "kernels/verbs/stream/link_stream.h"

#include <algorithm>

#include "kernels/verbs/link/message_sink.h"

namespace railgauge::verbs {

std::vector<Request> stream_requests(const Link& link, std::uint64_t message_bytes) {
  std::vector<Request> all;
  for (std::uint32_t lane = 0; lane < link.options().lanes; ++lane)
    all.push_back(link.request(message_bytes, lane));
  return all;
}

// Each operation's use of the slots.
Stream::Aim stream_aim(const Link& link, const Layout& layout) {
  const Operation& does = link.operation();
  return {.slots = layout.source,
          .each_lane_its_own = does.is_atomic(),
          .is_remote = does.is_aimed(),
          .counts_laps = does.verb == Verb::kCompareSwap};
}

Stream::Plan stream_plan(Stream::Plan plan, std::uint64_t message_bytes) {
  // At 10 Gb/s a group of 8 MiB completes within 7 ms.
  constexpr std::uint64_t kMaxGroupBytes = 8U << 20U;
  plan.signal_every =
      std::clamp<std::uint64_t>(kMaxGroupBytes / message_bytes, 1, plan.signal_every);
  return plan;
}

// Rank 0's reads are verified where they arrived; everything else at the target.
Status verify_stream(Link& link, const Layout& layout, const StreamEnds& ends,
                     const PeerStatus& mine, const PeerStatus& theirs) {
  Brought brought{.size_index = ends.size_index, .from = 1 - ends.rank};
  if (ends.both || ends.rank == 0) {
    brought.slots = mine.slots_written();
    RG_TRY_OK(verify_fetched(link, layout, brought));
  }
  if (!ends.both && ends.rank == 0) return {};
  brought.posted = theirs.posted();
  brought.slots = theirs.slots_written();
  if (link.operation().verb == Verb::kSend)
    brought.slots = slots_reached(link, layout.target, mine.arrived());
  if (!link.is_reliable() && brought.slots == 0) return {};  // the report says that all is lost
  return verify_target(link, layout, brought);
}

}  // namespace railgauge::verbs
