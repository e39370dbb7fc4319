#include "agent/busy/guard.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "agent/busy/looker.h"
#include "kernels/core/clock.h"

namespace railgauge::agent {
namespace {
// A runner that has just come is let start first: its own look costs the CPU that it starts with.
constexpr double kStartSeconds = 0.1;
constexpr double kFarewellSeconds = 2;  // for a look that is under way when the agent ends
double now_seconds() { return monotonic_now_ns() / 1e9; }
std::chrono::duration<double> seconds(double count) { return std::chrono::duration<double>(count); }
}  // namespace

struct BusyGuard::Shared {
  Shared(BusyOptions given, BusySources sources, std::function<void()> ring)
      : options(given),
        wake(std::move(ring)),
        looker(std::move(given), std::move(sources), ::getpid()) {}

  const BusyOptions options;
  const std::function<void()> wake;
  Looker looker;  // the thread's alone

  mutable std::mutex mutex;  // guards all below
  std::condition_variable changed;
  bool started = false;
  bool stopping = false;
  bool ended = false;
  bool look_now = false;
  std::vector<int> runners;
  BusyReasons reasons;
  double looked_at = -1;  // when a look ended last; below 0: never
  double began_at = 0;    // the look under way, or the start
  const char* looking_at = "";

  // What a source said that was silent before: runners give way before the look has ended, since
  // the sources behind it may be slow. The look's end tells what stands no more.
  void add(const BusyReasons& said) {
    const std::lock_guard lock(mutex);
    if (std::ranges::find(reasons, said.front().source, &BusyReason::source) != reasons.end())
      return;
    reasons.insert(reasons.end(), said.begin(), said.end());
    if (looked_at >= 0) wake();
  }
};

BusyGuard::BusyGuard(BusyOptions options, BusySources sources, std::function<void()> wake)
    : looks_(!sources.none) {
  shared_ = std::make_shared<Shared>(std::move(options), std::move(sources), std::move(wake));
}

void BusyGuard::look_for_ever(std::shared_ptr<Shared> shared) {
  std::unique_lock lock(shared->mutex);
  while (!shared->stopping) {
    const std::vector<int> runners = shared->runners;
    shared->look_now = false;
    shared->began_at = now_seconds();
    lock.unlock();
    BusyReasons reasons = shared->looker.look(
        runners, now_seconds(),
        [&shared](const char* source) {
          const std::lock_guard inner(shared->mutex);
          shared->looking_at = source;
        },
        [&shared](const BusyReasons& said) { shared->add(said); });
    lock.lock();
    const bool news = reasons != shared->reasons || shared->looked_at < 0;
    shared->reasons = std::move(reasons);
    shared->looked_at = now_seconds();
    shared->changed.notify_all();
    if (shared->stopping) break;
    if (news) shared->wake();
    shared->changed.wait_for(
        lock,
        seconds(shared->runners.empty() ? shared->options.look_seconds
                                        : shared->options.look_seconds_running),
        [&shared] { return shared->stopping || shared->look_now; });
    if (shared->look_now)
      shared->changed.wait_for(lock, seconds(kStartSeconds),
                               [&shared] { return shared->stopping; });
  }
  shared->ended = true;
  shared->changed.notify_all();
}

void BusyGuard::start(double wait_seconds) {
  if (!looks_) return;
  std::unique_lock lock(shared_->mutex);
  shared_->started = true;
  shared_->began_at = now_seconds();
  std::thread(look_for_ever, shared_).detach();
  shared_->changed.wait_for(lock, seconds(wait_seconds),
                            [this] { return shared_->looked_at >= 0; });
}

BusyGuard::~BusyGuard() {
  std::unique_lock lock(shared_->mutex);
  if (!shared_->started) return;
  shared_->stopping = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, seconds(kFarewellSeconds), [this] { return shared_->ended; });
}

void BusyGuard::set_runners(std::vector<int> pids) {
  const std::lock_guard lock(shared_->mutex);
  if (pids == shared_->runners) return;
  shared_->look_now = pids.size() > shared_->runners.size();
  shared_->runners = std::move(pids);
  shared_->changed.notify_all();
}

BusyReasons BusyGuard::reasons() const {
  if (!looks_) return {};
  const std::lock_guard lock(shared_->mutex);
  const double waited = now_seconds() - shared_->began_at;
  if (shared_->looked_at < 0)
    return {{"guard",
             fmt::format("the first look has not ended yet{}{}",
                         *shared_->looking_at == 0 ? "" : ", it is at ", shared_->looking_at)}};
  if (shared_->looked_at < shared_->began_at && waited > kStuckSeconds)
    return {{"guard",
             fmt::format("{} has not answered for {:.0f} s; the node counts as busy",
                         *shared_->looking_at == 0 ? "a source" : shared_->looking_at, waited)}};
  return shared_->reasons;
}

}  // namespace railgauge::agent
