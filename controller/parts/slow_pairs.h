// Single pairs that are slow although their ends are not. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "controller/localise/localise.h"
#include "controller/parts/levels.h"

namespace railgauge::parts {

// A slow pair.
struct SlowPair {
  localise::Element element{};
  // Logarithm; see Level.
  double loss = 0;
  // True: by several figures, or by one that no other figure of any night comes near.
  bool confirmed = false;
  std::size_t figures = 0;
  // Nights that show it.
  std::size_t nights = 0;
};

// Loss from which on one visit is enough: about half.
inline constexpr double kHalf = 0.6;

// Returns the slow pairs of the last night, the worst first, at most 16. `is_explained` reports
// whether a slow part explains the figure. Pairs of a port with several slow partners are left out:
// the port itself is suspected.
std::vector<SlowPair> slow_pairs(std::span<const Levels* const> nights,
                                 const std::function<bool(const PairLoss&)>& is_explained);

}  // namespace railgauge::parts
