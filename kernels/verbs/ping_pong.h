// The timed loops of latency, for both sides. They neither allocate nor make system calls when the
// TSC is the clock and completions are polled.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/link/receive_queue.h"
#include "kernels/verbs/stream/report.h"
#include "kernels/verbs/transport/send_queue.h"

namespace railgauge::verbs {

// The way of messages through a ring of slots, for one end of them.
struct Walk {
  // Addresses in the first slot: of the message, or its last byte where it arrives; and of the
  // target's memory, 0 where the request names none.
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t stride = 0;
  std::uint64_t slots = 1;
  // Slot of the next message.
  std::uint64_t slot = 0;
  // Messages since begin().
  std::uint64_t messages = 0;

  // Goes back to the first slot.
  void begin() { slot = messages = 0; }
  // Returns how many slots have a message of since begin().
  [[nodiscard]] std::uint64_t slots_used() const { return std::min(slots, messages); }
  // Distance of the next message's slot from the first one; continues to the slot behind it.
  std::uint64_t next() {
    const std::uint64_t at = slot * stride;
    ++messages;
    if (++slot == slots) slot = 0;
    return at;
  }
  // Moves the request to the next slot.
  void aim(Request& request) {
    const std::uint64_t at = next();
    request.sge.addr = from + at;
    if (to != 0) request.wr.wr.rdma.remote_addr = to + at;
  }
};

// One side's part in a round trip; plain values for the timed loop.
struct RoundTrip {
  // The message, posted again each time.
  Request request;
  // The way of the messages through a cold ring; nullptr: all have the same bytes.
  Walk* walk = nullptr;
  // Last byte of the message in the send area.
  std::uint8_t* last_out = nullptr;
  // Last byte of the peer's message in the receive area.
  std::uint8_t* last_in = nullptr;
  // Posts from one completion to the next.
  std::uint64_t signal_every = 1;
  // Test control: lengthens each round trip by this share of its own time.
  double added_cost = 0;
  // Compare-and-swap: each operation expects the value that the previous one left.
  bool counts_up = false;
};

// Detects ball number `turn` of a write by the last byte of the message, which adapters place last.
struct ByMemory {
  const std::uint8_t* last_in = nullptr;
  [[nodiscard]] bool wait(SendQueue& queue, std::uint64_t turn) const {
    return queue.wait_for_byte(last_in, static_cast<std::uint8_t>(turn));
  }
  [[nodiscard]] bool give_back() const { return true; }
};
// Detects the ball of a cold ring, whose messages all end with kBall: nothing of a source is
// touched while time is taken. The byte is 0 again for the next lap.
inline constexpr std::uint8_t kBall = 1;
struct ByMovingMemory {
  Walk& walk;
  [[nodiscard]] bool wait(SendQueue& queue, std::uint64_t) const {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the link's own memory
    auto* const last = reinterpret_cast<std::uint8_t*>(walk.from + walk.next());
    if (!queue.wait_for_byte(last, kBall)) return false;
    __atomic_store_n(last, 0, __ATOMIC_RELAXED);
    return true;
  }
  [[nodiscard]] bool give_back() const { return true; }
};
// Detects a message that uses up a receive by its completion, and posts the receive again while the
// next ball flies.
struct ByReceive {
  ReceiveQueue& receives;
  [[nodiscard]] bool wait(SendQueue& queue, std::uint64_t) const {
    return receives.wait_one(queue);
  }
  [[nodiscard]] bool give_back() const { return receives.give_back(); }
};

// Posts message number `turn` and waits for its completion, if requested. A tail without a
// completion carries over into the next batch.
inline bool serve_ball(SendQueue& queue, RoundTrip& round_trip, std::uint64_t turn) {
  if (round_trip.walk != nullptr)
    round_trip.walk->aim(round_trip.request);
  else
    __atomic_store_n(round_trip.last_out, static_cast<std::uint8_t>(turn), __ATOMIC_RELAXED);
  const bool signalled = queue.lane(0).unsignalled + 1 >= round_trip.signal_every;
  return queue.post(round_trip.request, signalled) && (!signalled || queue.wait_retired());
}

// Runs the initiator's timed loop: `count` round trips, count + 1 stamps.
template <class Arrival>
bool initiate(SendQueue& queue, RoundTrip& round_trip, const Arrival& arrival,
              const TickClock& clock, std::uint64_t count, std::uint64_t* stamps) {
  for (std::uint64_t i = 0; i < count; ++i) {
    stamps[i] = clock.ticks();
    if (!serve_ball(queue, round_trip, i + 1)) return false;
    if (!arrival.give_back() || !arrival.wait(queue, i + 1)) return false;
    if (round_trip.added_cost > 0) [[unlikely]]
      // Inside the stamped interval, so that the control changes the figure.
      add_cost(clock, stamps[i], round_trip.added_cost);
  }
  stamps[count] = clock.ticks();
  return true;
}

// Runs the target's side of the loop.
template <class Arrival>
bool answer(SendQueue& queue, RoundTrip& round_trip, const Arrival& arrival, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!arrival.wait(queue, i + 1)) return false;
    if (!serve_ball(queue, round_trip, i + 1) || !arrival.give_back()) return false;
  }
  return true;
}

// Runs `count` operations one after another, each from post to completion, without the target's
// CPU.
inline bool complete_each(SendQueue& queue, RoundTrip& round_trip, const TickClock& clock,
                          std::uint64_t count, std::uint64_t* stamps) {
  for (std::uint64_t i = 0; i < count; ++i) {
    stamps[i] = clock.ticks();
    if (round_trip.walk != nullptr) round_trip.walk->aim(round_trip.request);
    if (!queue.post(round_trip.request, true) || !queue.wait_retired()) return false;
    if (round_trip.counts_up) {
      ++round_trip.request.wr.wr.atomic.compare_add;
      ++round_trip.request.wr.wr.atomic.swap;
    }
    if (round_trip.added_cost > 0) [[unlikely]]
      add_cost(clock, stamps[i], round_trip.added_cost);
  }
  stamps[count] = clock.ticks();
  return true;
}

}  // namespace railgauge::verbs
