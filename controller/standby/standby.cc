#include "controller/standby/standby.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/clock/wall_clock.h"
#include "controller/mirror/archive_schema.h"
#include "kernels/core/base/failpoint.h"

namespace railgauge::standby {
namespace {

constexpr double kPollSeconds = 0.5;
constexpr double kLookSeconds = 0.05;  // whether it is over
constexpr double kConnectSeconds = 3;

std::string of_seconds(double seconds) { return fmt::format("{:.1f} s", seconds); }

}  // namespace

// Random rather than the host's name: two controllers that are set up alike by mistake must not
// take each other for themselves. A copied database has no id beside it until its first start.
Result<std::string> controller_id(const std::string& database) {
  const std::string path = database + ".controller-id";
  std::string id;
  std::ifstream(path) >> id;
  const bool is_id = id.size() == 32 && id.find_first_not_of("0123456789abcdef") == id.npos;
  if (is_id) return id;
  std::random_device random;
  id.clear();
  for (int word = 0; word < 4; ++word) id += fmt::format("{:08x}", random());
  std::ofstream file(path);
  file << id << '\n';
  if (!file.flush())
    return fail(Code::kPermissionDenied,
                fmt::format("{}: the controller's id cannot be written", path));
  return id;
}

// Ports open before the archive is reached, so that agents and people get a sentence, and not
// silence, whatever this controller waits for.
Result<std::unique_ptr<Standby>> Standby::open(StandbyOptions options) {
  failpoint("standby.opening");
  WarmFile file = RG_TRY(WarmFile::open(options.database));
  std::unique_ptr<Standby> standby(new Standby(std::move(options), std::move(file)));
  const RoleAnswers answers{
      .role = [raw = standby.get()] { return raw->role(); },
      .promise = [raw = standby.get()](
                     const api::PromiseRequest& request) { return raw->promise(request); }};
  standby->front_ =
      RG_TRY(Front::start(standby->options_.front, answers,
                          {.sentence = [raw = standby.get()] { return raw->sentence(); },
                           .metrics = [raw = standby.get()] { return raw->metrics(); },
                           .remarks = [raw = standby.get()] { return raw->sentence() + '\n'; }}));
  return standby;
}

// After a restart nothing is taken for the length of this controller's own lease: a longer promise
// would be forgotten before its end.
api::PromiseAnswer Standby::promise(const api::PromiseRequest& request) {
  const double own_seconds = options_.lease.times.seconds;
  const bool is_too_long = request.seconds() > own_seconds;
  if (is_too_long && !is_told_of_length_.exchange(true))
    spdlog::warn(
        "standby: refuses to wait {} s by promise: its own lease_seconds are {}; give all "
        "controllers of site {} the same",
        request.seconds(), own_seconds, options_.lease.site);
  api::PromiseAnswer answer;
  answer.set_promised(
      !is_too_long && request.site() == options_.lease.site &&
      vows_.promise(request.generation(), request.seconds(), mirror::boot_seconds()));
  answer.set_generation(vows_.seen());
  return answer;
}

// Promises of an earlier life of this process last for the time of a lease at most.
Standby::Standby(StandbyOptions options, WarmFile file)
    : options_(std::move(options)),
      file_(std::move(file)),
      vows_(mirror::boot_seconds() + options_.lease.times.seconds),
      even_at_(mirror::boot_seconds()),
      is_forced_(options_.is_forced) {
  show(std::nullopt, "it has not reached the archive yet");
}

// Errors of the archive are reported once for each text and tried again for ever; a database of
// another site is the one error that waiting cannot heal.
Result<std::unique_ptr<LeaseKeeper>> Standby::wait(const std::function<bool()>& is_over) {
  spdlog::info("standby: waits for the lease of site {}", options_.lease.site);
  while (!is_over()) {
    Result<std::unique_ptr<LeaseKeeper>> keeper = step(is_over);
    if (keeper && *keeper) {
      front_.reset();
      file_.close();
      return keeper;
    }
    if (!keeper) {
      report(keeper.error());
      archive_.reset();
      if (is_fatal_) return keeper;
    } else if (!reported_.empty()) {
      spdlog::info("standby: the archive answers again");
      reported_.clear();
    }
    front_->tick();
    for (double waited = 0; waited < kPollSeconds && !is_over(); waited += kLookSeconds)
      std::this_thread::sleep_for(std::chrono::duration<double>(kLookSeconds));
  }
  return nullptr;
}

// A session of its own name: a takeover ends sessions of earlier generations, and no standby's.
Status Standby::connect() {
  if (archive_) return {};
  auto opened =
      RG_TRY(pq::Connection::open({.url = options_.lease.url,
                                   .application = "railgauge standby " + options_.lease.site,
                                   .connect_seconds = kConnectSeconds,
                                   .answer_seconds = 60}));
  archive_ = std::move(opened);
  RG_TRY_OK(archive_->script("SET TimeZone='UTC'; SET client_min_messages=warning"));
  return mirror::commit_durably(*archive_);
}

// The active controller raises the schema: raised by this one, it would shut an older one out.
// An older program waits too: a newer schema may have columns that it would leave empty.
Status Standby::check_schema() {
  const std::int64_t version = RG_TRY(mirror::schema_version_of(*archive_));
  if (version == mirror::kSchemaVersion) return {};
  if (version > 0 && version < mirror::kSchemaVersion) {
    if (RG_TRY(mirror::has_live_lease(*archive_, options_.lease.site)))
      return fail(Code::kUnavailable,
                  fmt::format("the archive's schema has version {}, this program {}: update the "
                              "active controller first",
                              version, mirror::kSchemaVersion));
  }
  return mirror::ensure_schema(*archive_);
}

// The lag counts from the begin of the look: what the archive got since may be missing.
Result<bool> Standby::follow(Kinship kinship, const std::function<bool()>& is_over) {
  if (kinship == Kinship::kOwn) return true;
  const double begin = mirror::boot_seconds();
  const Followed followed = RG_TRY(file_.follow(*archive_, options_.lease.site, is_over));
  if (followed.is_whole) even_at_ = begin;
  return followed.is_whole;
}

// One look, in this order: the relation of the database to the site, the copy, this controller's
// own row, and the lease. A site without a lease is begun by the controller that has its database,
// never by a copy: a controller without --standby may be at work. The holder of the last lease
// continues at once; all others wait for the end of the lease, and for the holder's admission.
Result<std::unique_ptr<LeaseKeeper>> Standby::step(const std::function<bool()>& is_over) {
  RG_TRY_OK(connect());
  RG_TRY_OK(check_schema());
  const LeaseKeeperOptions& own = options_.lease;
  const auto site = RG_TRY(mirror::read_archived_site(*archive_, own.site));
  Kinship kinship = RG_TRY(file_.kinship(site));
  if (kinship == Kinship::kStranger) {
    is_fatal_ = true;
    return fail(Code::kFailedPrecondition,
                fmt::format("the archive has a site {} of another database than {}; give this "
                            "controller another --site, or an empty database",
                            own.site, options_.database));
  }
  if (kinship == Kinship::kDeposed) {
    spdlog::warn(
        "standby: another controller has continued site {}; this database is set aside, and a copy "
        "of the site begins",
        own.site);
    RG_TRY_OK(file_.set_aside());
    kinship = Kinship::kCopy;
  }
  const bool is_whole = RG_TRY(follow(kinship, is_over));
  RG_TRY_OK(mirror::note_controller(*archive_, {.site = own.site,
                                                .controller = own.self,
                                                .role = is_whole ? "ready" : "copying",
                                                .lag_seconds = mirror::boot_seconds() - even_at_}));
  const auto lease = RG_TRY(mirror::read_lease(*archive_, own.site, own.self.holder));
  if (lease) {
    vows_.see(lease->generation);
    watch_.note(lease->generation, lease->end, mirror::boot_seconds());
  }
  // A person was wrong, or another one has taken over since: promises do not know this controller.
  if (lease && lease->seconds_left > 0 && !lease->is_mine) is_forced_ = false;
  show(lease, is_whole ? "" : "its copy of the site is not whole yet");
  const bool is_own = kinship == Kinship::kOwn;
  const mirror::LeaseWish wish{.site = own.site,
                               .controller = own.self,
                               .seconds = own.times.seconds,
                               .seen_end = lease ? lease->end : "",
                               .above = std::max(RG_TRY(file_.generation()), vows_.seen()),
                               .owns = is_own && (!lease || lease->is_mine),
                               .is_forced = is_forced_};
  if (wish.owns) return take(kinship, wish, is_over);
  const bool may_take =
      lease && has_ended(*lease) && (lease->is_mine || lease->is_admitted || is_forced_);
  if (!may_take || !is_whole) return nullptr;
  return take(kinship, wish, is_over);
}

// The server's clock may be set forward while the holder acts. A holder that died changes nothing
// for the length of its lease by this controller's clock either, so the wait costs one look.
bool Standby::has_ended(const mirror::LeaseRow& lease) const {
  if (lease.is_released) return true;
  const double seconds = std::max(options_.lease.times.seconds, lease.seconds);
  return lease.seconds_left < 0 && watch_.unchanged_seconds(mirror::boot_seconds()) >= seconds;
}

// From the lease on nobody else writes to the archive, so the last look at it is the end of what
// the site has. The lease is renewed meanwhile.
Result<std::unique_ptr<LeaseKeeper>> Standby::take(Kinship kinship, const mirror::LeaseWish& wish,
                                                   const std::function<bool()>& is_over) {
  const LeaseKeeperOptions& own = options_.lease;
  const double asked_at = mirror::boot_seconds();
  Result<std::optional<mirror::TakenLease>> taken = std::optional<mirror::TakenLease>();
  // The promises of a holder were all given before it became one.
  vows_.take_if_free(wish.owns ? std::numeric_limits<double>::max() : asked_at,
                     [&]() -> std::int64_t {
                       taken = mirror::take_lease(*archive_, wish);
                       return taken && *taken ? (*taken)->generation : 0;
                     });
  if (!taken) return tl::unexpected(taken.error());
  if (!*taken) return nullptr;
  auto keeper = std::make_unique<LeaseKeeper>(own, **taken, asked_at);
  // Between the look and the lease another controller may have acted and given the lease back.
  const auto site = RG_TRY(mirror::read_archived_site(*archive_, own.site));
  if (RG_TRY(file_.kinship(site)) != kinship) {
    keeper->release();
    return fail(Code::kUnavailable,
                "another controller has continued the site meanwhile, so nothing is taken over");
  }
  if (!RG_TRY(follow(kinship, is_over)))
    return fail(Code::kUnavailable, "the archive is not complete, so nothing is taken over");
  RG_TRY_OK(file_.take_over(*archive_, own.site, keeper->generation()));
  has_taken_over_ = kinship == Kinship::kCopy;
  spdlog::warn("standby: this controller is active for site {} from now on, generation {}",
               own.site, keeper->generation());
  return keeper;
}

// --- what is shown -----------------------------------------------------------------------------

// For the threads of the ports, which must not wait for the archive.
void Standby::show(const std::optional<mirror::LeaseRow>& lease, std::string detail) {
  const std::lock_guard lock(mutex_);
  shown_.set_role("standby");
  shown_.set_site(options_.lease.site);
  shown_.set_address(options_.lease.self.address);
  shown_.set_generation(lease ? static_cast<double>(lease->generation) : 0);
  const bool is_live = lease && lease->seconds_left > 0 && !lease->is_mine;
  shown_.set_active(is_live ? lease->holder.address : "");
  shown_.set_detail(std::move(detail));
  shown_even_at_ = even_at_;
}

// The detail stays until the next look succeeds.
void Standby::report(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    shown_.set_detail(error.message);
  }
  if (reported_ == error.message) return;
  reported_ = error.message;
  spdlog::warn("standby: {}", error.message);
}

api::ControllerRole Standby::role() {
  const std::lock_guard lock(mutex_);
  api::ControllerRole role = shown_;
  role.set_lag_seconds(std::max(0.0, mirror::boot_seconds() - shown_even_at_));
  return role;
}

// The answer to every call: the part of this controller, the active one, and how far the copy is.
std::string Standby::sentence() {
  const api::ControllerRole role = this->role();
  const std::string active = role.active().empty() ? std::string("no active one is known")
                                                   : fmt::format("{} is active, generation {:.0f}",
                                                                 role.active(), role.generation());
  return fmt::format("this controller is a standby of site {}: {}; its copy is {} behind{}{}",
                     role.site(), active, of_seconds(role.lag_seconds()),
                     role.detail().empty() ? "" : "; ", role.detail());
}

// A registry for each scrape: a standby has three series, and none that counts.
std::string Standby::metrics() {
  const api::ControllerRole role = this->role();
  metric::Registry series(metric::Owner::kController);
  series.set("railgauge_controller_active", {}, 0);
  series.set("railgauge_controller_generation", {}, role.generation());
  series.set("railgauge_standby_lag_seconds", {}, role.lag_seconds());
  return series.text();
}

}  // namespace railgauge::standby
