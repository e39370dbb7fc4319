// The timed loops of write latency, for both sides. Nothing in them allocates or makes a system
// call where the TSC is the clock.
#pragma once

#include <cstdint>

#include "kernels/core/clock.h"
#include "kernels/verbs/report.h"
#include "kernels/verbs/send_queue.h"

namespace railgauge::verbs {

// One side's part in a volley; plain values for the timed loop.
struct Volley {
  WriteRequest request;
  std::uint8_t* last_out = nullptr;  // last byte of the message in the send area
  std::uint8_t* last_in = nullptr;   // last byte of the peer's message in the receive area
  std::uint64_t signal_every = 1;
  double added_cost = 0;
};

// Posts message number `turn`; waits for completions where it asks for one.
inline bool serve_ball(SendQueue& queue, Volley& volley, std::uint64_t turn) {
  __atomic_store_n(volley.last_out, static_cast<std::uint8_t>(turn), __ATOMIC_RELAXED);
  const bool signalled = turn % volley.signal_every == 0;
  return queue.post(volley.request, signalled) && (!signalled || queue.wait_retired());
}

// The initiator's timed loop: `count` round trips, count + 1 stamps.
inline bool initiate(SendQueue& queue, Volley& volley, const TickClock& clock, std::uint64_t count,
                     std::uint64_t* stamps) {
  for (std::uint64_t i = 0; i < count; ++i) {
    stamps[i] = clock.ticks();
    if (!serve_ball(queue, volley, i + 1)) return false;
    if (!queue.wait_for_byte(volley.last_in, static_cast<std::uint8_t>(i + 1))) return false;
    if (volley.added_cost > 0) [[unlikely]]
      add_cost(clock, stamps[i], volley.added_cost);
  }
  stamps[count] = clock.ticks();
  return true;
}

// The target's side of it.
inline bool answer(SendQueue& queue, Volley& volley, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!queue.wait_for_byte(volley.last_in, static_cast<std::uint8_t>(i + 1))) return false;
    if (!serve_ball(queue, volley, i + 1)) return false;
  }
  return true;
}

}  // namespace railgauge::verbs
