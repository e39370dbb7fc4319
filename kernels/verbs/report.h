// From samples to points, and what makes a figure void.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "kernels/core/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"

namespace railgauge::verbs {

// The clock that stamps: the runner's own. CHECKs that the context's clock is one.
const TickClock& tick_clock(const Context& context);

struct PointNames {
  std::string metric;
  std::string meaning;
  std::string unit;
  bool larger_is_better = false;
};

// Statistics of one size.
Point make_point(const PointNames& names, std::uint64_t message_bytes, const Sampled& sampled,
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

// Wrong bytes found by this rank. `seed` is what the pattern was made of.
Status verify_area(std::span<const std::byte> area, std::uint64_t seed, const std::string& who);

// The seed of what `rank` writes for size number `size_index`.
std::uint64_t pattern_seed(std::size_t size_index, std::uint32_t rank);

}  // namespace railgauge::verbs
