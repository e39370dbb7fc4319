#include "controller/standby/lease_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace railgauge::standby {
namespace {

constexpr double kKeeperLookSeconds = 0.2;
// Without an answer of the archive for this share of the lease, promises are asked for.
constexpr double kPatience = 0.5;

}  // namespace

LeaseKeeper::LeaseKeeper(LeaseKeeperOptions options, mirror::TakenLease lease, double asked_at)
    : options_(std::move(options)), generation_(lease.generation), holder_(options_.times) {
  holder_.granted(asked_at, generation_);
  acts_until_ = holder_.acts_until();
  for (const mirror::SiteController& other : lease.admitted) takers_[other.holder] = other;
  ready_ = std::move(lease.admitted);
  thread_ = std::thread([this] { work(); });
}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// The thread ends first: a renewal after the release would keep the lease for nobody. A lease that
// cannot be ended is left to its end, so that the next controller waits for as long as after a
// kill.
void LeaseKeeper::release() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  acts_until_ = 0;
  const Status ended = [this]() -> Status {
    auto archive = RG_TRY(
        pq::Connection::open({.url = options_.url,
                              .application = mirror::session_name(options_.site, generation_),
                              .connect_seconds = 2,
                              .answer_seconds = 2}));
    return mirror::end_lease(*archive, options_.site, generation_);
  }();
  if (!ended) spdlog::warn("lease: it is left to its end: {}", ended.error().message);
}

// A look is short beside a renewal's period, so that neither the end of the lease nor that of the
// process is noticed late.
void LeaseKeeper::work() {
  for (;;) {
    const double pause = step();
    if (pause < 0) return;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(pause),
                      [this] { return ending_.load(); });
    if (ending_) return;
  }
}

// Three outcomes of a renewal count: granted, refused, and no answer. Refused ends the lease at
// once. Without an answer the lease holds for as long as it was given; promises are asked for once
// half of it is over, so that a single slow answer costs the other controllers nothing. A holder
// whose host slept asks the archive before it gives up: a row that nobody took is still its own.
double LeaseKeeper::step() {
  double now = mirror::boot_seconds();
  if (holder_.may_act(now) && holder_.due(now) == mirror::LeaseStep::kWait)
    return kKeeperLookSeconds;
  const Result<bool> renewed = renew(now);
  if (renewed && !*renewed) {
    depose("another controller has taken the lease");
    return -1;
  }
  now = mirror::boot_seconds();
  if (!renewed) {
    holder_.unanswered(now);
    archive_.reset();
    const bool is_late = holder_.acts_until() - now < options_.times.seconds * kPatience;
    if (is_late && ask_all(now)) {
      if (!is_by_promise_.exchange(true))
        spdlog::warn(
            "lease: the archive does not answer ({}); {} other controllers wait by "
            "promise, and this one stays active",
            renewed.error().message, takers_.size());
      holder_.granted(now, generation_);
    }
  } else if (is_by_promise_.exchange(false)) {
    spdlog::info("lease: the archive answers again");
  }
  acts_until_ = holder_.acts_until();
  if (holder_.may_act(mirror::boot_seconds())) return kKeeperLookSeconds;
  depose(fmt::format("it could not be renewed in time: {}",
                     renewed ? "the host slept" : renewed.error().message));
  return -1;
}

// The archive's clock decides whether it was in time: a row that nobody took is still ours. The
// list of admitted controllers counts from the moment at which it is sent, since its answer may be
// lost; those of the list before count until an answer came.
Result<bool> LeaseKeeper::renew(double now) {
  if (!archive_) {
    const double wait_seconds = options_.times.renew_seconds;
    archive_ = RG_TRY(
        pq::Connection::open({.url = options_.url,
                              .application = mirror::session_name(options_.site, generation_),
                              .connect_seconds = wait_seconds,
                              .answer_seconds = wait_seconds,
                              .is_over = [this] { return ending_.load(); }}));
  }
  mirror::LeaseRenewal renewal{.site = options_.site,
                               .controller = options_.self,
                               .generation = generation_,
                               .seconds = options_.times.seconds};
  for (const mirror::SiteController& other : ready_) {
    renewal.admitted.push_back(other.holder);
    takers_[other.holder] = other;  // from now on, whether the answer arrives or not
  }
  const auto ready = RG_TRY(mirror::renew_lease(*archive_, renewal));
  if (!ready) return false;
  takers_.clear();
  for (const mirror::SiteController& other : ready_) takers_[other.holder] = other;
  ready_ = *ready;
  ready_count_ = ready_.size();
  holder_.granted(now, generation_);
  const Status noted = mirror::note_controller(
      *archive_, {.site = options_.site, .controller = options_.self, .role = "active"});
  if (!noted) archive_.reset();
  return true;
}

// One refusal, or one silent controller, is enough: it could have the lease already. An address
// that is not known cannot be asked. Controllers that were never admitted cannot take the lease, so
// that a site without a ready standby needs no promise.
bool LeaseKeeper::ask_all(double now) {
  static_cast<void>(now);
  return std::ranges::all_of(takers_, [this](const auto& taker) {
    const mirror::SiteController& other = taker.second;
    return !ending_ && !other.address.empty() && options_.ask_promise &&
           options_.ask_promise(other, generation_, options_.times.seconds);
  });
}

// Others may act from here on: the answer of may_act() comes first.
void LeaseKeeper::depose(const std::string& why) {
  acts_until_ = 0;
  if (options_.deposed) options_.deposed(why);
}

}  // namespace railgauge::standby
