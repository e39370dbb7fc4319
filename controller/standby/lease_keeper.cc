#include "controller/standby/lease_keeper.h"

#include <chrono>
#include <utility>

#include <spdlog/spdlog.h>

#include "controller/mirror/archive_schema.h"

namespace railgauge::standby {

// A program that ends promises nothing more and asks nobody.
LeaseKeeper::LeaseKeeper(LeaseKeeperOptions options, mirror::TakenLease lease, double asked_at)
    : options_(std::move(options)),
      term_({.site = options_.site, .self = options_.self, .times = options_.times},
            {.renew = [this](const mirror::LeaseRenewal& renewal) { return renew(renewal); },
             .ask_promise =
                 [this](const mirror::SiteController& other, std::int64_t generation,
                        double seconds) {
                   return !ending_ && options_.ask_promise &&
                          options_.ask_promise(other, generation, seconds);
                 }},
            std::move(lease), asked_at) {
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

// Any agent may say so, a lying one too: its word costs a renewal, and neither the lease nor a run.
void LeaseKeeper::doubt() {
  constexpr double kDoubtSeconds = 1;
  {
    const std::lock_guard lock(mutex_);
    const double now = mirror::boot_seconds();
    if (now - doubted_at_ < kDoubtSeconds) return;
    doubted_at_ = now;
    is_doubted_ = true;
  }
  changed_.notify_all();
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
  term_.end();
  const Status ended = [this]() -> Status {
    auto archive = RG_TRY(
        pq::Connection::open({.url = options_.url,
                              .application = mirror::session_name(options_.site, generation()),
                              .connect_seconds = 2,
                              .answer_seconds = 2}));
    RG_TRY_OK(mirror::commit_durably(*archive));
    return mirror::end_lease(*archive, options_.site, generation());
  }();
  if (!ended) spdlog::warn("lease: it is left to its end: {}", ended.error().message);
}

// A look is short beside a renewal's period, so that neither the end of the lease nor that of the
// process is noticed late.
void LeaseKeeper::work() {
  for (bool is_doubted = false;;) {
    const Result<double> pause = term_.step(is_doubted);
    if (!pause) {
      if (options_.deposed) options_.deposed(pause.error().message);
      return;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(*pause),
                      [this] { return ending_ || is_doubted_; });
    if (ending_) return;
    is_doubted = std::exchange(is_doubted_, false);
  }
}

// A connection without an answer is given up: the next renewal makes another one. The note of this
// controller's own row decides nothing.
Result<std::optional<std::vector<mirror::SiteController>>> LeaseKeeper::renew(
    const mirror::LeaseRenewal& renewal) {
  if (!archive_) {
    const double wait_seconds = options_.times.renew_seconds;
    auto opened = RG_TRY(
        pq::Connection::open({.url = options_.url,
                              .application = mirror::session_name(options_.site, generation()),
                              .connect_seconds = wait_seconds,
                              .answer_seconds = wait_seconds,
                              .is_over = [this] { return ending_.load(); }}));
    RG_TRY_OK(mirror::commit_durably(*opened));
    archive_ = std::move(opened);
  }
  auto ready = mirror::renew_lease(*archive_, renewal);
  if (ready && *ready) {
    const Status noted = mirror::note_controller(
        *archive_, {.site = options_.site, .controller = options_.self, .role = "active"});
    if (!noted) archive_.reset();
  }
  if (!ready) archive_.reset();
  return ready;
}

}  // namespace railgauge::standby
