#include "agent/busy/guard.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "agent/busy/looker.h"
#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {
// The delay of the look that a new runner causes: a look at once would slow the runner's start.
constexpr double kStartSeconds = 0.1;
constexpr double kLeastPauseSeconds = 0.05;
constexpr double kFarewellSeconds = 2;  // for a running look when the agent ends
double now_seconds() { return monotonic_now_ns() / 1e9; }
std::chrono::duration<double> seconds(double count) { return std::chrono::duration<double>(count); }

// Returns the pause after a look, so that one period passes from its start to the next look's
// answer, however slow the source is.
double pause_seconds(double period_seconds, double look_seconds) {
  return std::max(period_seconds - 2 * look_seconds, std::min(period_seconds, kLeastPauseSeconds));
}
}  // namespace

struct BusyGuard::SourceThread {
  SourceThread(BusyOptions options, BusySources sources, double idle, double running,
               std::function<void()> ring)
      : idle_seconds(idle),
        running_seconds(running),
        wake(std::move(ring)),
        looker(std::move(options), std::move(sources), ::getpid()) {}

  const double idle_seconds;  // from look to look
  const double running_seconds;
  const std::function<void()> wake;
  Looker looker;  // used by the thread only

  mutable std::mutex mutex;  // guards all below
  std::condition_variable changed;
  bool stopping = false;
  bool ended = false;
  bool look_now = false;
  std::vector<int> runners;
  BusyReasons reasons;
  double looked_at = -1;  // end of the last look; below 0: none yet
  double began_at = 0;    // start of the current look, or of the thread
  const char* looking_at = "";

  // Adds a new reason before the look has ended, so that runners yield at once: later sources of
  // the look may be slow. The end of the look drops obsolete reasons.
  void add(const BusyReasons& said) {
    const std::lock_guard lock(mutex);
    if (std::ranges::find(reasons, said.front().source, &BusyReason::source) != reasons.end())
      return;
    reasons.insert(reasons.end(), said.begin(), said.end());
    if (looked_at >= 0) wake();
  }

  // Returns the reason that no recent look has ended; absent if one has.
  [[nodiscard]] std::optional<BusyReason> blindness(double now) const {
    if (looked_at < 0)
      return BusyReason{"guard", fmt::format("the first look has not ended yet{}{}",
                                             *looking_at == 0 ? "" : ", it is at ", looking_at)};
    const double waited = now - began_at;
    if (looked_at >= began_at || waited <= kStuckSeconds) return std::nullopt;
    return BusyReason{"guard",
                      fmt::format("{} has not answered for {:.0f} s; the node counts as busy",
                                  *looking_at == 0 ? "a source" : looking_at, waited)};
  }
};

BusyGuard::BusyGuard(BusyOptions options, BusySources sources, std::function<void()> wake) {
  const auto add = [&](std::set<std::string> group, double idle, double running) {
    BusySources own = sources;
    std::erase_if(group, [&](const std::string& source) { return !sources.wants(source); });
    if (group.empty()) return;
    own.only = std::move(group);
    threads_.push_back(
        std::make_shared<SourceThread>(options, std::move(own), idle, running, wake));
  };
  std::set<std::string> cheap;
  for (const auto& [name, slow] : kBusySources)
    if (!slow) cheap.insert(name);
  add(cheap, options.look_seconds, options.look_seconds_running);
  for (const auto& [name, slow] : kBusySources)
    if (slow && (name != std::string("hook") || !hook_words(options.hook).empty()))
      add({name}, options.slow_look_seconds, options.slow_look_seconds_running);
}

void BusyGuard::look_for_ever(std::shared_ptr<SourceThread> self) {
  std::unique_lock lock(self->mutex);
  while (!self->stopping) {
    const std::vector<int> runners = self->runners;
    self->look_now = false;
    self->began_at = now_seconds();
    lock.unlock();
    BusyReasons reasons = self->looker.look(
        runners, now_seconds(),
        [&self](const char* source) {
          const std::lock_guard inner(self->mutex);
          self->looking_at = source;
        },
        [&self](const BusyReasons& said) { self->add(said); });
    lock.lock();
    const bool news = reasons != self->reasons || self->looked_at < 0;
    self->reasons = std::move(reasons);
    self->looked_at = now_seconds();
    self->changed.notify_all();
    if (self->stopping) break;
    if (news) self->wake();
    const double period = self->runners.empty() ? self->idle_seconds : self->running_seconds;
    self->changed.wait_for(lock, seconds(pause_seconds(period, self->looked_at - self->began_at)),
                           [&self] { return self->stopping || self->look_now; });
    if (self->look_now)
      self->changed.wait_for(lock, seconds(kStartSeconds), [&self] { return self->stopping; });
  }
  self->ended = true;
  self->changed.notify_all();
}

void BusyGuard::start(double wait_seconds) {
  started_ = true;
  for (const auto& thread : threads_) {
    const std::lock_guard lock(thread->mutex);
    thread->began_at = now_seconds();
    std::thread(look_for_ever, thread).detach();
  }
  const double end = now_seconds() + wait_seconds;
  for (const auto& thread : threads_) {
    std::unique_lock lock(thread->mutex);
    thread->changed.wait_for(lock, seconds(end - now_seconds()),
                             [&thread] { return thread->looked_at >= 0; });
  }
}

BusyGuard::~BusyGuard() {
  if (!started_) return;
  for (const auto& thread : threads_) {
    const std::lock_guard lock(thread->mutex);
    thread->stopping = true;
    thread->changed.notify_all();
  }
  const double end = now_seconds() + kFarewellSeconds;
  for (const auto& thread : threads_) {
    std::unique_lock lock(thread->mutex);
    thread->changed.wait_for(lock, seconds(end - now_seconds()),
                             [&thread] { return thread->ended; });
  }
}

void BusyGuard::set_runners(const std::vector<int>& pids) {
  for (const auto& thread : threads_) {
    const std::lock_guard lock(thread->mutex);
    if (pids == thread->runners) continue;
    thread->look_now = pids.size() > thread->runners.size();
    thread->runners = pids;
    thread->changed.notify_all();
  }
}

BusyReasons BusyGuard::reasons() const {
  BusyReasons all;
  for (const auto& thread : threads_) {
    const std::lock_guard lock(thread->mutex);
    if (const auto blind = thread->blindness(now_seconds())) all.push_back(*blind);
    all.insert(all.end(), thread->reasons.begin(), thread->reasons.end());
  }
  return all;
}

}  // namespace railgauge::agent
