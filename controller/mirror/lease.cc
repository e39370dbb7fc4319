#include "controller/mirror/lease.h"

#include <fmt/format.h>

namespace railgauge::mirror {

LeaseStep LeaseHolder::due(double now) const {
  if (now < next_) return LeaseStep::kWait;
  // One that let its time pass has to take it anew: meanwhile another one may have had it.
  return may_act(now) ? LeaseStep::kRenew : LeaseStep::kTake;
}

// The time of the request counts, not that of the answer.
void LeaseHolder::granted(double asked_at, std::int64_t generation) {
  generation_ = generation;
  acts_until_ = asked_at + times_.seconds - times_.margin_seconds;
  next_ = asked_at + times_.renew_seconds;
}

// It asks again at the pace of renewals: a lease that ends is taken within one of them.
void LeaseHolder::refused(double asked_at) {
  generation_.reset();
  acts_until_ = 0;
  next_ = asked_at + times_.renew_seconds;
}

void LeaseHolder::unanswered(double asked_at) { next_ = asked_at + times_.renew_seconds / 2; }

// One statement, so that of two that ask at once one gets it.
Result<std::optional<std::int64_t>> take_lease(pq::Connection& archive, const std::string& site,
                                               const std::string& holder, double seconds) {
  const pq::Answer taken = RG_TRY(archive.query(
      "INSERT INTO railgauge.lease AS old (site_name, holder, generation, expires_at) VALUES ($1, "
      "$2, 1, clock_timestamp() + make_interval(secs => $3::double precision)) ON CONFLICT "
      "(site_name) DO UPDATE SET holder=EXCLUDED.holder, generation=old.generation + 1, "
      "expires_at=EXCLUDED.expires_at WHERE old.expires_at < clock_timestamp() RETURNING "
      "generation",
      {site, holder, fmt::format("{}", seconds)}));
  if (taken.rows() == 0) return std::nullopt;
  return taken.integer(0, 0);
}

// A row whose time is over and that nobody took is still its holder's.
Result<bool> renew_lease(pq::Connection& archive, const std::string& site, std::int64_t generation,
                         double seconds) {
  const pq::Answer renewed = RG_TRY(archive.query(
      "UPDATE railgauge.lease SET expires_at=clock_timestamp() + make_interval(secs => $3::double "
      "precision) WHERE site_name=$1 AND generation=$2::bigint RETURNING 1",
      {site, std::to_string(generation), fmt::format("{}", seconds)}));
  return renewed.rows() == 1;
}

}  // namespace railgauge::mirror
