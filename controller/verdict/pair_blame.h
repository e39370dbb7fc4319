// Which end of a pair is behind what the pair lost, where both of them changed. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace railgauge::analysis {

// The loss of one pair.
struct PairLoss {
  std::string node{};
  // "" where there is none.
  std::string other_node{};
  // Else only the first end can be blamed.
  bool other_changed = false;
  // Loss as a logarithm; positive is worse.
  double loss = 0;
};

// The end of a pair that is behind its loss.
enum class End { kFirst, kOther, kEither };

// Decided by the losses of the two ends in their other pairs, half as much as here at least.
// kEither where both did or neither, and where an end has no other pair that could decide.
End blamed_end(std::span<const PairLoss> pairs, std::size_t which);

}  // namespace railgauge::analysis
