#include "controller/run/task_outcome.h"

#include <algorithm>
#include <array>

#include "kernels/core/base/outcome.h"

namespace railgauge::run {
namespace {

// Outcomes by precedence: an attempt gets the first of these that any of its ranks has.
constexpr std::array kWorstFirst{kFailed, kCrashed, kTimedOut, kWaived, kCancelledOutcome};

}  // namespace

std::string_view known_outcome(std::string_view outcome) {
  if (outcome == kPassed) return kPassed;
  const auto found = std::ranges::find(kWorstFirst, outcome);
  return found == kWorstFirst.end() ? kCrashed : *found;
}

std::string_view bystander_outcome(std::string_view cause) {
  if (cause == kWaived || cause == kCancelledOutcome) return kCancelledOutcome;
  return cause == kTimedOut ? kTimedOut : kCrashed;
}

RankEnd worst_of(std::span<const RankEnd> ends) {
  for (const std::string_view outcome : kWorstFirst) {
    std::string reasons;
    for (const RankEnd& end : ends)
      if (end.outcome == outcome) reasons += (reasons.empty() ? "" : "; ") + end.reason;
    if (reasons.empty()) continue;
    reasons.resize(std::min(reasons.size(), kMaxReasonBytes));
    return {std::string(outcome), reasons};
  }
  return {std::string(kPassed), ""};
}

}  // namespace railgauge::run
