#include "kernels/verbs/link/message_sink.h"

#include <algorithm>

namespace railgauge::verbs {
namespace {

// Far above a round trip of any fabric.
constexpr double kQuietNs = 50e6;  // after it, what is not here on an unreliable transport is lost

// Receive rings of one side: one that is shared, or one per lane.
std::uint64_t rings_of(const Link& link) {
  return link.options().shares_receives ? 1 : link.options().lanes;
}

// To each of the other side's rings, `count` messages.
bool send_empty(Link& link, std::uint64_t count) {
  SendQueue& sends = link.sends();
  for (std::size_t lane = 0; lane < rings_of(link); ++lane) {
    Request empty = link.request(0, lane);
    empty.wr.num_sge = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      // Never more than the ring holds: on a reliable connection the rest would wait for receives.
      while (sends.lane(lane).in_flight >= link.options().send_depth)
        if (sends.poll_or_wait() < 0) return false;
      if (!sends.post(empty, true, lane)) return false;
    }
  }
  return sends.wait_retired();
}

// Takes `count` messages and gives none of their receives out again.
bool use_up(ReceiveQueue& receives, std::uint64_t count) {
  receives.count_from_zero();
  while (receives.arrived() < count)
    if (receives.take_or_wait(false) < 0) return false;
  return true;
}

// Takes until all `total` are here; on an unreliable transport, or until it is quiet. Receives are
// given out `again` where more may come.
bool take_rest(Link& link, const TickClock& clock, std::uint64_t total, bool again) {
  ReceiveQueue& receives = link.receives();
  const auto quiet = static_cast<std::uint64_t>(kQuietNs / clock.ns_per_tick());
  std::uint64_t since = 0;
  std::uint64_t last = clock.ticks();
  while (receives.arrived() < total) {
    const std::int64_t taken = receives.take(again);
    if (taken < 0) return false;
    const std::uint64_t now = clock.ticks();
    if (taken > 0) {
      last = now;
      since = 0;
    } else if (!link.is_reliable() && now - last > quiet) {
      return true;
    } else if (!receives.may_continue(since)) {
      return false;
    }
  }
  return true;
}

// Takes messages and calls `busy` in turn until `busy` has finished.
template <class Busy>
bool take_while(ReceiveQueue& receives, Busy busy) {
  std::uint64_t since = 0;
  for (unsigned idle = 0;;) {
    const std::int64_t taken = receives.take(true);
    if (taken < 0) return false;
    const int left = busy();
    if (left <= 0) return left == 0;
    if (taken > 0)
      since = 0;
    else if (++idle % receives.polls_between_looks() == 0 && !receives.may_continue(since))
      return false;
  }
}

// Sinks until the peer reports how many messages it posted, then takes the rest of them.
bool hear_end(Link& link, ControlChannel& control, const TickClock& clock) {
  ControlWord word;
  if (!take_while(link.receives(), [&] { return control.has_word() ? 0 : 1; })) return false;
  return control.receive(word) && take_rest(link, clock, word.value(), true);
}

// The messages that either side may still have under way when receives are given out again.
void wait_quiet(const TickClock& clock) {
  const auto quiet = static_cast<std::uint64_t>(kQuietNs / clock.ns_per_tick());
  for (const std::uint64_t begin = clock.ticks(); clock.ticks() - begin < quiet;) {
  }
}

// Exchanges a number between both ranks. Rank 1 sends only after it has received, so that no word
// comes before the previous one was read.
bool swap_words(ControlChannel& control, std::uint32_t rank, std::uint64_t mine,
                ControlWord& theirs) {
  const ControlWord word = ControlWord::of(Order::kDone, mine);
  return rank == 0 ? control.send(word) && control.receive(theirs)
                   : control.receive(theirs) && control.send(word);
}

// Empties both sides' rings: in each turn both sides send, exchange their numbers of sends, take,
// and report how many are missing. The ring that lacks them is unknown, so each ring gets that
// many: an unreliable queue pair drops a message without a receive.
bool use_up_all(Link& link, ControlChannel& control, const TickClock& clock, const Parts& parts,
                std::uint32_t rank) {
  ReceiveQueue& receives = link.receives();
  receives.count_from_zero();
  const std::uint64_t depth = link.options().receive_depth;
  const std::uint64_t total = parts.receives ? depth * rings_of(link) : 0;
  ControlWord theirs;
  bool was_lost = false;
  for (std::uint64_t to_send = depth; to_send > 0 || receives.arrived() < total;) {
    if (parts.sends && !send_empty(link, to_send)) return false;
    if (!swap_words(control, rank, 0, theirs) || !take_rest(link, clock, total, false) ||
        !swap_words(control, rank, total - receives.arrived(), theirs))
      return false;
    to_send = std::min(depth, theirs.value());
    was_lost = was_lost || to_send > 0 || receives.arrived() < total;
    if (!link.waiting().before_deadline()) return false;
  }
  if (was_lost) wait_quiet(clock);
  return true;
}

}  // namespace

// Sends alone have buffers in their receives, which must change with the size. Writes with
// immediate data use receives without buffers, which fit any size.
Status use_up_receives(Link& link, ControlChannel& control, const TickClock& clock,
                       const Parts& parts, std::uint32_t rank) {
  // Receives without buffers fit any size.
  if (link.is_reliable() || link.operation().verb != Verb::kSend) return {};
  if (use_up_all(link, control, clock, parts, rank)) return {};
  control.abort();
  return tl::unexpected(link.waiting().failure());
}

// The rings are empty when new receives are posted; on a reliable connection empty messages use the
// old ones up here.
Status renew_receives(Link& link, const Slots& slots, const Parts& parts, bool has_old) {
  const bool has_buffers = link.operation().verb == Verb::kSend;
  const std::uint32_t depth = link.options().receive_depth;
  ReceiveQueue& receives = link.receives();
  bool well = true;
  if (has_old && has_buffers && link.is_reliable()) {
    if (parts.sends) well = send_empty(link, depth);
    if (well && parts.receives) well = use_up(receives, depth * rings_of(link));
  }
  // libefa posts nothing for a receive without a buffer; nothing comes into this byte.
  const Slots none{.bytes = link.is_ordered() ? 0U : 1U};
  if (well && parts.receives && (!has_old || has_buffers))
    well = receives.fill(has_buffers ? slots : none, link.receive_area(), link.local_key(), depth);
  receives.count_from_zero();
  if (!well) return tl::unexpected(link.waiting().failure());
  return {};
}

bool sink_messages(Link& link, ControlChannel& control, const TickClock& clock) {
  return hear_end(link, control, clock);
}

// Polls both directions until this side's posts have completed, reports their number, then takes
// the peer's rest.
bool finish_and_sink(Link& link, ControlChannel& control, const TickClock& clock,
                     std::uint64_t posted) {
  SendQueue& sends = link.sends();
  // Negative on failure, 0 when all posts have completed.
  const auto send_on = [&sends] {
    if (sends.poll() < 0) return -1;
    return sends.awaited() > 0 ? 1 : 0;
  };
  return take_while(link.receives(), send_on) &&
         control.send(ControlWord::of(Order::kDone, posted)) && hear_end(link, control, clock);
}

std::uint64_t slots_reached(const Link& link, const Slots& slots, std::uint64_t arrived) {
  const std::uint64_t rings = rings_of(link);
  const std::uint64_t used = is_cold_ring(slots) ? slots.count : link.options().receive_depth;
  return std::min<std::uint64_t>({slots.count, used, (arrived + rings - 1) / rings});
}

}  // namespace railgauge::verbs
