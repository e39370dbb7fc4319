// Which controller of a site is active: a row of the archive with a holder, a generation and an
// end. The decisions are pure; callers pass the time of a clock that never goes back and counts
// while the host sleeps (boot_seconds), in seconds. Decisions 155 and 162 have the rules.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/mirror/pq/connection.h"
#include "kernels/core/base/result.h"

namespace railgauge::mirror {

struct LeaseTimes {
  double seconds = 10;        // for which a lease is given
  double renew_seconds = 2;   // between two renewals
  double margin_seconds = 2;  // before its end from which on its holder does not act any more
};
// The same in proportion for another length.
LeaseTimes lease_times(double seconds);

// CLOCK_BOOTTIME: a holder whose host slept must not believe that it still holds.
double boot_seconds();

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
  [[nodiscard]] double acts_until() const { return generation_ ? acts_until_ : 0; }
  // The generation that others check; absent: it holds none.
  [[nodiscard]] std::optional<std::int64_t> generation() const { return generation_; }

  // A step that began at `asked_at` gave or prolonged the lease; likewise the promises of all who
  // could take it.
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

// The side of a controller that waits: for how long it has seen a lease unchanged, by its own
// clock, since the server's may be set while a holder acts. Not thread safe.
class LeaseWatch {
 public:
  // A look that was answered at `now`.
  void note(std::int64_t generation, const std::string& end, double now);
  // Since the first look that saw it as the last one did; 0: there was no look.
  [[nodiscard]] double unchanged_seconds(double now) const;

 private:
  std::int64_t generation_ = 0;
  std::string end_{};
  double since_ = -1;
};

// A controller of a site. `holder` is its random id, `address` how others reach it.
struct SiteController {
  std::string holder{};
  std::string address{};
};

// The row of a site as one controller sees it.
struct LeaseRow {
  SiteController holder{};
  std::int64_t generation = 0;
  double seconds_left = 0;   // below 0: it has ended
  double seconds = 0;        // for which its holder takes it; 0: an older program took it
  std::string end{};         // as the server writes it
  bool is_released = false;  // its holder gave it back
  bool is_mine = false;      // the asking controller is the holder
  bool is_admitted = false;  // the holder knows that the asking one may take it
};
Result<std::optional<LeaseRow>> read_lease(pq::Connection& archive, const std::string& site,
                                           const std::string& holder);

// Whether some controller holds the lease now; also in the archive of an earlier version.
Result<bool> has_live_lease(pq::Connection& archive, const std::string& site);

struct LeaseWish {
  std::string site{};
  SiteController controller{};
  double seconds = 0;
  std::string seen_end{};  // the row's end must still be this one, but for an owner; "": any
  std::int64_t above = 0;  // the new generation is higher than this one
  // Its database is the site's own: a holder that was started anew need not wait for the end.
  bool owns = false;
  // A person says that no other controller is alive: an ended lease is taken without admission.
  bool is_forced = false;
};
// A lease that was taken, with those who may take it after its end without a word of the holder.
struct TakenLease {
  std::int64_t generation = 0;
  std::vector<SiteController> admitted{};  // without an address where it is not known
};
// Takes a lease that has ended, or that the site lacks, by the server's clock, and ends the
// sessions of earlier generations. Absent: another one holds it, or has not admitted this one.
Result<std::optional<TakenLease>> take_lease(pq::Connection& archive, const LeaseWish& wish);

struct LeaseRenewal {
  std::string site{};
  SiteController controller{};
  std::int64_t generation = 0;
  double seconds = 0;
  std::int64_t number = 0;              // 1 for the first one; a late one changes nothing
  std::vector<std::string> admitted{};  // who may take it from now on
};
// Prolongs it. Returns the controllers that could take the site over, to be admitted by the next
// renewal; absent: it is another generation's, or a later renewal came first.
Result<std::optional<std::vector<SiteController>>> renew_lease(pq::Connection& archive,
                                                               const LeaseRenewal& renewal);
// Ends it at once, so that another one may take it.
Status end_lease(pq::Connection& archive, const std::string& site, std::int64_t generation);

// A controller's own row in the archive.
struct ControllerNote {
  std::string site{};
  SiteController controller{};
  std::string role{};  // "active", "ready": a standby with a whole copy; "copying"
  double lag_seconds = 0;
};
Status note_controller(pq::Connection& archive, const ControllerNote& note);

// The name of a session, by which a later generation ends it.
std::string session_name(const std::string& site, std::int64_t generation);

}  // namespace railgauge::mirror
