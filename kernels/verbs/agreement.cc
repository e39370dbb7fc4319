#include "kernels/verbs/agreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/core/clock.h"
#include "kernels/verbs/peer.pb.h"

namespace railgauge::verbs {

double seconds_left(const Context& context) {
  return std::max(0.0, (context.deadline_monotonic_ns - monotonic_now_ns()) / 1e9);
}

Status agree(Group& group, const Status& mine, double timeout_seconds) {
  std::uint64_t none = 0;
  return agree_on(group, mine, none, timeout_seconds);
}

Status agree_on(Group& group, const Status& mine, std::uint64_t& number, double timeout_seconds) {
  PeerStatus told;
  told.set_number(number);
  if (!mine) {
    told.set_code(static_cast<int>(mine.error().code));
    told.set_message(mine.error().message);
  }
  const double patience = mine ? timeout_seconds : std::min(timeout_seconds, kTellSeconds);
  const auto all = group.exchange(told.SerializeAsString(), patience);
  const bool own_words = !mine && mine.error().code != Code::kAborted;
  if (own_words || (!mine && !all)) return mine;
  if (!all) return tl::unexpected(all.error());
  for (std::size_t rank = 0; rank < all->size(); ++rank) {
    PeerStatus theirs;
    if (!theirs.ParseFromString((*all)[rank]))
      return fail(Code::kInternal, fmt::format("rank {}: its status is no status", rank));
    if (theirs.code() != 0 && static_cast<Code>(theirs.code()) != Code::kAborted)
      return fail(static_cast<Code>(theirs.code()),
                  fmt::format("rank {}: {}", rank, theirs.message()));
    if (rank == 0) number = theirs.number();
  }
  return mine;
}

}  // namespace railgauge::verbs
