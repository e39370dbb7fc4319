// Outcome words of ranks, and the outcome of their task. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace railgauge::run {

// End of a rank or an attempt: an outcome word, and a reason in one line.
struct RankEnd {
  std::string outcome{};
  std::string reason{};
};

inline constexpr std::size_t kMaxReasonBytes = 512;

// Returns the outcome word if the contract has it, else "crashed".
std::string_view known_outcome(std::string_view outcome);
// Returns the outcome of ranks that must stop because another rank ended as `cause`: a bystander of
// a waived rank did not crash.
std::string_view bystander_outcome(std::string_view cause);
// Returns the worst of several ends, with the reasons of all ends of that outcome; "passed" for an
// empty list.
RankEnd worst_of(std::span<const RankEnd> ends);

}  // namespace railgauge::run
