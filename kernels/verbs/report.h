// From samples to points, and what makes a figure void.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/core/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"
#include "kernels/core/sampling.h"

namespace railgauge::verbs {

// make_point of kernels/core/sampling.h, marked as the loaded library is.
Point make_verbs_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
                       bool raw_samples);

// Waits until the time since `begin_ticks` has grown by `fraction` of itself: the added cost of a
// test control.
inline void add_cost(const TickClock& clock, std::uint64_t begin_ticks, double fraction) {
  const std::uint64_t spent = clock.ticks() - begin_ticks;
  const std::uint64_t end =
      begin_ticks + spent + static_cast<std::uint64_t>(static_cast<double>(spent) * fraction);
  while (clock.ticks() < end) {
  }
}

// Where the writes of one size go: slot k begins k * stride_bytes into the area.
struct Slots {
  std::size_t bytes = 0;  // of a message
  std::size_t stride_bytes = 0;
  std::size_t count = 1;
};
// Small messages move through one page, as perftest's do: all writes to one cache line would
// measure that line. Both ranks come to the same slots, whatever their page sizes, when both give
// the smaller one of their areas.
Slots slots_in(std::size_t area_bytes, std::size_t message_bytes);

// Fills the slots' bytes with what `rank` writes for size number `size_index`; the gaps stay.
void fill_slots(std::span<std::byte> area, const Slots& slots, std::size_t size_index,
                std::uint32_t rank);
void clear_slots(std::span<std::byte> area, const Slots& slots);
// Compares `slots.count` slots with what `rank` wrote; `uncompared` bytes at a message's end are
// left out. Wrong bytes are kDataLoss, with their offset in the area.
Status verify_slots(std::span<const std::byte> area, const Slots& slots, std::size_t size_index,
                    std::uint32_t rank, std::size_t uncompared, const std::string& who);

}  // namespace railgauge::verbs
