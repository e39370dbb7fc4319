#include "kernels/verbs/agreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/core/clock.h"

namespace railgauge::verbs {

double seconds_left(const Context& context) {
  return std::max(0.0, (context.deadline_monotonic_ns - monotonic_now_ns()) / 1e9);
}

Status agree(Group& group, const Status& mine, double timeout_seconds) {
  RG_TRY(agree_on(group, mine, {}, timeout_seconds));
  return {};
}

Result<std::vector<PeerStatus>> agree_on(Group& group, const Status& mine, PeerStatus told,
                                         double timeout_seconds) {
  if (!mine) {
    told.set_code(static_cast<int>(mine.error().code));
    told.set_message(mine.error().message);
  }
  const double patience = mine ? timeout_seconds : std::min(timeout_seconds, kTellSeconds);
  const auto all = group.exchange(told.SerializeAsString(), patience);
  const bool own_words = !mine && mine.error().code != Code::kAborted;
  if (own_words || (!mine && !all)) return tl::unexpected(mine.error());
  if (!all) return tl::unexpected(all.error());
  std::vector<PeerStatus> statuses(all->size());
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    PeerStatus& theirs = statuses[rank];
    if (!theirs.ParseFromString((*all)[rank]))
      return fail(Code::kInternal, fmt::format("rank {}: its status is no status", rank));
    if (theirs.code() != 0 && static_cast<Code>(theirs.code()) != Code::kAborted)
      return fail(static_cast<Code>(theirs.code()),
                  fmt::format("rank {}: {}", rank, theirs.message()));
  }
  if (!mine) return tl::unexpected(mine.error());
  return statuses;
}

}  // namespace railgauge::verbs
