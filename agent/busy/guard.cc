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
// A runner that has just come is let start first: its own look costs the CPU that it starts with.
constexpr double kStartSeconds = 0.1;
constexpr double kLeastPauseSeconds = 0.05;
constexpr double kFarewellSeconds = 2;  // for a look that is under way when the agent ends
double now_seconds() { return monotonic_now_ns() / 1e9; }
std::chrono::duration<double> seconds(double count) { return std::chrono::duration<double>(count); }

// Behind a look that took so long: from its begin to the next one's answer it is one period,
// however slow the source.
double pause_seconds(double period_seconds, double look_seconds) {
  return std::max(period_seconds - 2 * look_seconds, std::min(period_seconds, kLeastPauseSeconds));
}
}  // namespace

struct BusyGuard::Eye {
  Eye(BusyOptions options, BusySources sources, double idle, double running,
      std::function<void()> ring)
      : idle_seconds(idle),
        running_seconds(running),
        wake(std::move(ring)),
        looker(std::move(options), std::move(sources), ::getpid()) {}

  const double idle_seconds;  // from look to look
  const double running_seconds;
  const std::function<void()> wake;
  Looker looker;  // the thread's alone

  mutable std::mutex mutex;  // guards all below
  std::condition_variable changed;
  bool stopping = false;
  bool ended = false;
  bool look_now = false;
  std::vector<int> runners;
  BusyReasons reasons;
  double looked_at = -1;  // when a look ended last; below 0: never
  double began_at = 0;    // the look under way, or the start
  const char* looking_at = "";

  // A reason from a source that was silent before: runners yield before the look has ended, because
  // the sources behind it may be slow. The look's end drops reasons that are over.
  void add(const BusyReasons& said) {
    const std::lock_guard lock(mutex);
    if (std::ranges::find(reasons, said.front().source, &BusyReason::source) != reasons.end())
      return;
    reasons.insert(reasons.end(), said.begin(), said.end());
    if (looked_at >= 0) wake();
  }

  // Its lack of knowledge, as a reason.
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
    BusyOptions at_each_look = options;  // the eye itself keeps the time
    at_each_look.slow_look_seconds = at_each_look.slow_look_seconds_running = 0;
    eyes_.push_back(
        std::make_shared<Eye>(std::move(at_each_look), std::move(own), idle, running, wake));
  };
  add({"marker", "slurm", "load"}, options.look_seconds, options.look_seconds_running);
  for (const char* slow : {"gpu", "kubernetes", "hook"})
    if (slow != std::string("hook") || !hook_words(options.hook).empty())
      add({slow}, options.slow_look_seconds, options.slow_look_seconds_running);
}

void BusyGuard::look_for_ever(std::shared_ptr<Eye> eye) {
  std::unique_lock lock(eye->mutex);
  while (!eye->stopping) {
    const std::vector<int> runners = eye->runners;
    eye->look_now = false;
    eye->began_at = now_seconds();
    lock.unlock();
    BusyReasons reasons = eye->looker.look(
        runners, now_seconds(),
        [&eye](const char* source) {
          const std::lock_guard inner(eye->mutex);
          eye->looking_at = source;
        },
        [&eye](const BusyReasons& said) { eye->add(said); });
    lock.lock();
    const bool news = reasons != eye->reasons || eye->looked_at < 0;
    eye->reasons = std::move(reasons);
    eye->looked_at = now_seconds();
    eye->changed.notify_all();
    if (eye->stopping) break;
    if (news) eye->wake();
    const double period = eye->runners.empty() ? eye->idle_seconds : eye->running_seconds;
    eye->changed.wait_for(lock, seconds(pause_seconds(period, eye->looked_at - eye->began_at)),
                          [&eye] { return eye->stopping || eye->look_now; });
    if (eye->look_now)
      eye->changed.wait_for(lock, seconds(kStartSeconds), [&eye] { return eye->stopping; });
  }
  eye->ended = true;
  eye->changed.notify_all();
}

void BusyGuard::start(double wait_seconds) {
  started_ = true;
  for (const auto& eye : eyes_) {
    const std::lock_guard lock(eye->mutex);
    eye->began_at = now_seconds();
    std::thread(look_for_ever, eye).detach();
  }
  const double end = now_seconds() + wait_seconds;
  for (const auto& eye : eyes_) {
    std::unique_lock lock(eye->mutex);
    eye->changed.wait_for(lock, seconds(end - now_seconds()),
                          [&eye] { return eye->looked_at >= 0; });
  }
}

BusyGuard::~BusyGuard() {
  if (!started_) return;
  for (const auto& eye : eyes_) {
    const std::lock_guard lock(eye->mutex);
    eye->stopping = true;
    eye->changed.notify_all();
  }
  const double end = now_seconds() + kFarewellSeconds;
  for (const auto& eye : eyes_) {
    std::unique_lock lock(eye->mutex);
    eye->changed.wait_for(lock, seconds(end - now_seconds()), [&eye] { return eye->ended; });
  }
}

void BusyGuard::set_runners(std::vector<int> pids) {
  for (const auto& eye : eyes_) {
    const std::lock_guard lock(eye->mutex);
    if (pids == eye->runners) continue;
    eye->look_now = pids.size() > eye->runners.size();
    eye->runners = pids;
    eye->changed.notify_all();
  }
}

BusyReasons BusyGuard::reasons() const {
  BusyReasons all;
  for (const auto& eye : eyes_) {
    const std::lock_guard lock(eye->mutex);
    if (const auto blind = eye->blindness(now_seconds())) all.push_back(*blind);
    all.insert(all.end(), eye->reasons.begin(), eye->reasons.end());
  }
  return all;
}

}  // namespace railgauge::agent
