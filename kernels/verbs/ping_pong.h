// The timed loops of latency, for both sides. They neither allocate nor make system calls when the
// TSC is the clock and completions are polled.
#pragma once

#include <cstdint>

#include "kernels/core/base/clock.h"
#include "kernels/verbs/link/receive_queue.h"
#include "kernels/verbs/stream/report.h"
#include "kernels/verbs/transport/send_queue.h"

namespace railgauge::verbs {

// One side's part in a round trip; plain values for the timed loop.
struct RoundTrip {
  // The message, posted again each time.
  Request request;
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
