// Which end of a pair is behind what the pair lost, where both of them changed. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace railgauge::analysis {

struct PairLoss {
  std::string node{};
  std::string other_node{};    // "" where there is none
  bool other_changed = false;  // else only the first end can be blamed
  double loss = 0;             // of the logarithm, positive is worse
};

enum class End { kFirst, kOther, kEither };

// Decided by the losses of the two ends in their other pairs, half as much as here at least.
// kEither where both did or neither, and where an end has no other pair that could decide.
End blamed_end(std::span<const PairLoss> pairs, std::size_t which);

}  // namespace railgauge::analysis
