// Which controller of a site is active: a row of the archive with a holder, a generation and an
// end. The decisions are pure; callers pass the time of a clock that never goes back, in seconds.
// Nothing acts on it yet: a standby will (decision 155).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controller/mirror/pq/connection.h"
#include "kernels/core/base/result.h"

namespace railgauge::mirror {

struct LeaseTimes {
  double seconds = 15;        // for which a lease is given
  double renew_seconds = 5;   // between two renewals
  double margin_seconds = 3;  // before its end from which on its holder does not act any more
};

enum class LeaseStep : std::uint8_t { kWait, kTake, kRenew };

// The side of one controller. A holder counts its lease from the moment at which it asked, so that
// it stops before the row's end whatever the answer's way took. Not thread safe.
class LeaseHolder {
 public:
  explicit LeaseHolder(LeaseTimes times) : times_(times) {}

  // The step that is due at `now`.
  [[nodiscard]] LeaseStep due(double now) const;
  // Whether this controller may act at `now`.
  [[nodiscard]] bool may_act(double now) const { return generation_ && now < acts_until_; }
  // The generation that others check; absent: it holds none.
  [[nodiscard]] std::optional<std::int64_t> generation() const { return generation_; }

  // A step that began at `asked_at` gave or prolonged the lease.
  void granted(double asked_at, std::int64_t generation);
  // Somebody else has it. Whoever lost it acts no more, also when its own time is not over.
  void refused(double asked_at);
  // There was no answer: the lease holds as long as it was given.
  void unanswered(double asked_at);

 private:
  LeaseTimes times_;
  std::optional<std::int64_t> generation_{};
  double acts_until_ = 0;
  double next_ = 0;
};

// Takes the lease of a site whose lease has ended, or that has none, by the server's clock. Returns
// the new generation; absent: another one holds it.
Result<std::optional<std::int64_t>> take_lease(pq::Connection& archive, const std::string& site,
                                               const std::string& holder, double seconds);
// Prolongs it. False: it is another generation's.
Result<bool> renew_lease(pq::Connection& archive, const std::string& site, std::int64_t generation,
                         double seconds);

}  // namespace railgauge::mirror
