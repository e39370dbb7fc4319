// Joint end of a step: every rank learns the other ranks' results. For kernels of several ranks,
// between their timed regions. As thread safe as the group.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"

namespace railgauge {

// Returns the seconds until the task's deadline, at least 0.
inline double seconds_left(const Context& context) {
  return std::max(0.0, (context.deadline_monotonic_ns - monotonic_now_ns()) / 1e9);
}

// Most seconds that a failed rank waits for the others: one of them may be the cause of the
// failure.
inline constexpr double kTellSeconds = 5;

// Returns how much the other ranks need this rank's state. An abort or a timeout yields to its
// cause.
inline Group::Loudness loudness_of(const Status& mine) {
  if (mine || mine.error().code == Code::kAborted) return Group::Loudness::kQuiet;
  return mine.error().code == Code::kDeadlineExceeded ? Group::Loudness::kWaitedInVain
                                                      : Group::Loudness::kCause;
}

// The reports that a rank needs: every rank's, or (all but rank 0) only rank 0's and the errors.
enum class Hear : std::uint8_t { kAll, kFirst };

// Shares this rank's status with all ranks, together with `told`, a message of the family with the
// fields `code` and `message`. Returns each rank's report in rank order; silent ranks have empty
// ones. Ok only when all ranks are ok. The error is this rank's own, or the first other rank's with
// the rank's number in front. kAborted only means that the other side gave up, so it yields to the
// other side's error.
template <class Told>
Result<std::vector<Told>> agree_on(Group& group, const Status& mine, Told told,
                                   double timeout_seconds, Hear hear = Hear::kAll) {
  if (!mine) {
    told.set_code(static_cast<int>(mine.error().code));
    told.set_message(mine.error().message);
  }
  const double patience = mine ? timeout_seconds : std::min(timeout_seconds, kTellSeconds);
  const auto all = hear == Hear::kAll
                       ? group.exchange(told.SerializeAsString(), patience)
                       : group.gather(told.SerializeAsString(), loudness_of(mine), patience);
  const bool own_words = !mine && mine.error().code != Code::kAborted;
  if (own_words || (!mine && !all)) return tl::unexpected(mine.error());
  if (!all) return tl::unexpected(all.error());
  std::vector<Told> statuses(all->size());
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    Told& theirs = statuses[rank];
    if (!theirs.ParseFromString((*all)[rank]))
      return fail(Code::kInternal, "rank {}: its status is no status", rank);
    if (theirs.code() != 0 && static_cast<Code>(theirs.code()) != Code::kAborted)
      return fail(static_cast<Code>(theirs.code()), "rank {}: {}", rank, theirs.message());
  }
  if (!mine) return tl::unexpected(mine.error());
  return statuses;
}

// Shares only the status and returns the common result.
template <class Told>
Status agree(Group& group, const Status& mine, double timeout_seconds) {
  RG_TRY_OK(agree_on(group, mine, Told{}, timeout_seconds));
  return {};
}

}  // namespace railgauge
