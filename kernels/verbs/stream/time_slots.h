// Bandwidth over a given interval, divided into slots of equal length: for long runs, where a
// flapping link shows in the smallest slot, and for both directions at once, where both sides count
// in the same interval. Between the interval's ends the loop neither allocates nor makes system
// calls when the TSC is the clock and completions are polled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/link/receive_queue.h"
#include "kernels/verbs/stream/stream.h"

namespace railgauge::verbs {

inline constexpr double kSlotNs = 10e6;

// Times are ticks of this rank's clock.
struct TimeSlots {
  std::uint64_t begin_ticks = 0;
  std::uint64_t slot_ticks = 1;
  // Posts that completed in each slot.
  std::vector<std::uint32_t> counts;
  // Longest time between two polls that found completions.
  std::uint64_t longest_stall_ticks = 0;

  [[nodiscard]] std::uint64_t end_ticks() const { return begin_ticks + counts.size() * slot_ticks; }
};

// Keeps the stream full until the slots end, and counts completions only inside them. With the
// first of them the stream's content is renewed. Posts the receives of `receives` again when it is
// not nullptr: the other side sends too. False when a queue failed.
inline bool count_in(TimeSlots& slots, Stream& stream, ReceiveQueue* receives,
                     const TickClock& clock) {
  SendQueue& queue = stream.queue();
  const std::uint64_t end = slots.end_ticks();
  std::size_t slot = 0;
  std::uint64_t slot_end = slots.begin_ticks + slots.slot_ticks;
  std::uint64_t moved = slots.begin_ticks;
  std::uint64_t since = 0;
  unsigned idle = 0;
  bool is_renewed = false;
  // The stream runs before the first slot begins, so that slot sees it in full flow.
  if (!stream.top_up()) return false;
  for (;;) {
    const std::int64_t retired = queue.poll();
    if (retired < 0 || (receives != nullptr && receives->take(true) < 0)) return false;
    const std::uint64_t now = clock.ticks();
    // Completions after the end are not counted.
    if (now >= end) break;
    if (retired == 0) {
      if (stream.is_paced() && !stream.top_up()) return false;
      if (++idle % queue.polls_between_looks() == 0 && !queue.may_continue(since)) return false;
      continue;
    }
    since = 0;
    if (now >= slots.begin_ticks) {
      if (!std::exchange(is_renewed, true)) stream.renew();
      // A late poll may skip slots; they stay 0.
      for (; now >= slot_end; slot_end += slots.slot_ticks) ++slot;
      slots.counts[slot] += static_cast<std::uint32_t>(retired);
      slots.longest_stall_ticks = std::max(slots.longest_stall_ticks, now - moved);
      moved = now;
    }
    if (!stream.top_up()) return false;
  }
  slots.longest_stall_ticks = std::max(slots.longest_stall_ticks, end - moved);
  return true;
}

}  // namespace railgauge::verbs
