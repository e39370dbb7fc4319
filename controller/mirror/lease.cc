#include "controller/mirror/lease.h"

#include <ctime>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railgauge::mirror {
namespace {

// Holders are hexadecimal digits: nothing in them has to be quoted.
std::string array_of(const std::vector<std::string>& holders) {
  return fmt::format("{{{}}}", fmt::join(holders, ","));
}

// PostgreSQL keeps 63 bytes of a session's name, and a site's may be longer.
std::string session_prefix(const std::string& site) {
  constexpr std::size_t kMostBytes = 24;
  std::uint32_t hash = 2'166'136'261U;  // FNV-1a
  for (const char letter : site) hash = (hash ^ static_cast<unsigned char>(letter)) * 16'777'619U;
  return fmt::format("railgauge {} {:08x} g", site.substr(0, kMostBytes), hash);
}

}  // namespace

LeaseTimes lease_times(double seconds) {
  return {.seconds = seconds, .renew_seconds = seconds / 5, .margin_seconds = seconds / 5};
}

double boot_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

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

void LeaseWatch::note(std::int64_t generation, const std::string& end, double now) {
  if (since_ >= 0 && generation == generation_ && end == end_) return;
  generation_ = generation;
  end_ = end;
  since_ = now;
}

double LeaseWatch::unchanged_seconds(double now) const { return since_ < 0 ? 0 : now - since_; }

// The time that is left is the server's; only its sign decides, and not before take_lease() has
// asked the server again.
Result<std::optional<LeaseRow>> read_lease(pq::Connection& archive, const std::string& site,
                                           const std::string& holder) {
  const pq::Answer row = RG_TRY(archive.query(
      "SELECT holder, address, generation, extract(epoch FROM expires_at - clock_timestamp()), "
      "holder=$2, $2=ANY(admitted), seconds, expires_at, expires_at='epoch' FROM railgauge.lease "
      "WHERE site_name=$1",
      {site, holder}));
  if (row.rows() == 0) return std::nullopt;
  return LeaseRow{
      .holder = {.holder = std::string(row.text(0, 0)), .address = std::string(row.text(0, 1))},
      .generation = row.integer(0, 2),
      .seconds_left = row.real(0, 3),
      .seconds = row.real(0, 6),
      .end = std::string(row.text(0, 7)),
      .is_released = row.text(0, 8) == "t",
      .is_mine = row.text(0, 4) == "t",
      .is_admitted = row.text(0, 5) == "t"};
}

Result<bool> has_live_lease(pq::Connection& archive, const std::string& site) {
  const pq::Answer live = RG_TRY(archive.query(
      "SELECT count(*) FROM railgauge.lease WHERE site_name=$1 AND expires_at > clock_timestamp()",
      {site}));
  return live.integer(0, 0) > 0;
}

// One statement, so that of two that ask at once one gets it. Sessions of earlier generations could
// hold locks of rows for as long as a dead host's connections live.
Result<std::optional<TakenLease>> take_lease(pq::Connection& archive, const LeaseWish& wish) {
  const pq::Answer taken = RG_TRY(archive.query(
      "INSERT INTO railgauge.lease AS old (site_name, holder, address, generation, expires_at, "
      "taken_at, seconds) VALUES ($1, $2, $3, $4::bigint + 1, clock_timestamp() + "
      "make_interval(secs => $5::double precision), clock_timestamp(), $5::double precision) ON "
      "CONFLICT (site_name) DO UPDATE SET holder=EXCLUDED.holder, address=EXCLUDED.address, "
      "generation=greatest(old.generation, $4::bigint) + 1, expires_at=EXCLUDED.expires_at, "
      "taken_at=EXCLUDED.taken_at, seconds=EXCLUDED.seconds, renewal=0 WHERE (old.holder=$2 AND "
      "$6::boolean) OR (old.expires_at < clock_timestamp() AND ($8='' OR "
      "old.expires_at::text=$8) AND (old.holder=$2 OR $2=ANY(old.admitted) OR $7::boolean)) "
      "RETURNING generation, admitted",
      {wish.site, wish.controller.holder, wish.controller.address, std::to_string(wish.above),
       fmt::format("{}", wish.seconds), wish.owns ? "true" : "false",
       wish.is_forced ? "true" : "false", wish.seen_end}));
  if (taken.rows() == 0) return std::nullopt;
  TakenLease lease{.generation = taken.integer(0, 0)};
  RG_TRY_OK(archive.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename=current_user AND "
      "pid<>pg_backend_pid() AND starts_with(application_name, $1) AND application_name<>$2",
      {session_prefix(wish.site), session_name(wish.site, lease.generation)}));
  const pq::Answer known =
      RG_TRY(archive.query("SELECT a, coalesce(c.address, '') FROM unnest($2::text[]) a LEFT JOIN "
                           "railgauge.controller c ON c.site_name=$1 AND c.holder=a WHERE a<>$3",
                           {wish.site, std::string(taken.text(0, 1)), wish.controller.holder}));
  for (int row = 0; row < known.rows(); ++row)
    lease.admitted.push_back(
        {.holder = std::string(known.text(row, 0)), .address = std::string(known.text(row, 1))});
  return lease;
}

// A row whose time is over and that nobody took is still its holder's. One that the network delayed
// must not bring an older list of the admitted back.
Result<std::optional<std::vector<SiteController>>> renew_lease(pq::Connection& archive,
                                                               const LeaseRenewal& renewal) {
  const pq::Answer renewed = RG_TRY(archive.query(
      "WITH mine AS (UPDATE railgauge.lease SET expires_at=clock_timestamp() + make_interval(secs "
      "=> $4::double precision), admitted=$5::text[], renewal=$6::bigint WHERE site_name=$1 AND "
      "generation=$3::bigint AND renewal<$6::bigint RETURNING 1) SELECT c.holder, c.address FROM "
      "mine LEFT JOIN railgauge.controller c ON c.site_name=$1 AND c.holder<>$2 AND "
      "c.role='ready' AND c.seen_at > clock_timestamp() - make_interval(secs => 2 * $4::double "
      "precision)",
      {renewal.site, renewal.controller.holder, std::to_string(renewal.generation),
       fmt::format("{}", renewal.seconds), array_of(renewal.admitted),
       std::to_string(renewal.number)}));
  if (renewed.rows() == 0) return std::nullopt;
  std::vector<SiteController> ready;
  for (int row = 0; row < renewed.rows(); ++row)
    if (!renewed.is_null(row, 0))
      ready.push_back({.holder = std::string(renewed.text(row, 0)),
                       .address = std::string(renewed.text(row, 1))});
  return ready;
}

// The row stays, with its generation and its admitted controllers. The end is a time that no lease
// has: whoever waits need not watch it. No renewal counts after it.
Status end_lease(pq::Connection& archive, const std::string& site, std::int64_t generation) {
  return archive.execute(
      "UPDATE railgauge.lease SET expires_at='epoch', renewal=9223372036854775807 WHERE "
      "site_name=$1 AND generation=$2::bigint",
      {site, std::to_string(generation)});
}

// The time is the server's, as all times of leases are.
Status note_controller(pq::Connection& archive, const ControllerNote& note) {
  return archive.execute(
      "INSERT INTO railgauge.controller (site_name, holder, address, role, lag_seconds, seen_at) "
      "VALUES ($1, $2, $3, $4, $5::double precision, clock_timestamp()) ON CONFLICT (site_name, "
      "holder) DO UPDATE SET address=EXCLUDED.address, role=EXCLUDED.role, "
      "lag_seconds=EXCLUDED.lag_seconds, seen_at=EXCLUDED.seen_at",
      {note.site, note.controller.holder, note.controller.address, note.role,
       fmt::format("{}", note.lag_seconds)});
}

std::string session_name(const std::string& site, std::int64_t generation) {
  return fmt::format("{}{}", session_prefix(site), generation);
}

}  // namespace railgauge::mirror
