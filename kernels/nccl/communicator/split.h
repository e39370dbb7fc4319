// The division of a task's ranks into groups that work at once, each in a communicator of its own,
// in the words of nccl-tests' NCCL_TESTS_SPLIT. Pure; thread safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/core/base/result.h"

namespace railgauge::nccl {

// Ranks with the same color are a group.
struct Split {
  enum class By : std::uint8_t { kNothing, kAnd, kOr, kModulo, kQuotient };
  By by = By::kNothing;
  std::uint32_t value = 0;

  [[nodiscard]] std::uint32_t color(std::uint32_t rank) const;
  // Reports whether there is any division.
  explicit operator bool() const { return by != By::kNothing; }
};

// Reads "mod 2", "div 8", "and 0x7", "or 0b11", or a sign in place of the word: %, /, &, |. "" is
// no division. kInvalidArgument.
Result<Split> parse_split(std::string_view text);

// One rank's place.
struct GroupPlace {
  std::uint32_t groups = 1;
  std::uint32_t ranks = 1;  // of each group
  std::uint32_t rank = 0;   // in its group, in the order of the task's ranks
};
// Returns the place of `rank` of `ranks`. kInvalidArgument where the groups are not equally large.
Result<GroupPlace> place_of(const Split& split, std::uint32_t ranks, std::uint32_t rank);

}  // namespace railgauge::nccl
