// Outcome words of ranks and what they mean for their task. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace railgauge::run {

// How a rank or an attempt ended: an outcome word and one line.
struct RankEnd {
  std::string outcome{};
  std::string reason{};
};

inline constexpr std::size_t kMaxReasonBytes = 512;

// The contract's word, or "crashed" for a word that it does not know.
std::string_view known_outcome(std::string_view outcome);
// The outcome of ranks that must stop because another rank ended as `cause`: a bystander of a
// waived rank did not crash.
std::string_view bystander_outcome(std::string_view cause);
// The worst of several ends, with all reasons that have its outcome; "passed" of none.
RankEnd worst_of(std::span<const RankEnd> ends);

}  // namespace railgauge::run
