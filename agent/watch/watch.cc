#include "agent/watch/watch.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <iterator>
#include <mutex>
#include <thread>

#include "agent/watch/kernel_log.h"
#include "agent/watch/remaps.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
constexpr double kFarewellSeconds = 2;
constexpr double kMostStartSeconds = 1;
constexpr double kReopenSeconds = 60;     // period of retries while the kernel's log cannot be read
constexpr std::size_t kMostEvents = 256;  // limit of events before take()

double now_seconds() { return monotonic_now_ns() / 1e9; }

// The event on the wire.
api::NodeEvent event_of(const Remark& remark) {
  api::NodeEvent event;
  event.set_kind(remark.kind);
  event.set_severity(remark.severity);
  event.set_subject(valid_utf8(remark.subject));
  event.set_text(valid_utf8(remark.text));
  event.set_unix_time_seconds(static_cast<double>(::time(nullptr)));
  return event;
}
}  // namespace

// The state that the thread owns, so that a hanging read may outlive the Watch.
struct Watch::Shared {
  Shared(WatchOptions given, std::function<void()> ring)
      : options(std::move(given)),
        wake(std::move(ring)),
        log(options.kernel_log, options.log_files) {}

  const WatchOptions options;
  const std::function<void()> wake;
  // Used by the thread only.
  Tracker tracker;
  RemapReader remaps;
  KernelLog log;
  double log_tried_at = -1e18;

  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  bool started = false;
  bool stopping = false;
  bool ended = false;
  bool quiet = false;
  bool looked = false;
  News news;

  std::vector<Remark> look(bool in_quiet, double now);
};

// One look at the log, the counters and the remaps. In quiet times only the log is read.
std::vector<Remark> Watch::Shared::look(bool in_quiet, double now) {
  std::vector<Remark> remarks;
  if (log.source().empty() && now - log_tried_at >= kReopenSeconds) {
    const bool first = log_tried_at < 0;
    log_tried_at = now;
    if (const Status opened = log.open(); !opened && first)
      remarks.push_back({"watch", "info", "kernel log", opened.error().message});
  }
  std::ranges::move(log.look(now), std::back_inserter(remarks));
  if (in_quiet) return remarks;
  std::vector<Reading> readings = read_counters(options.sysfs_root);
  std::ranges::move(remaps.look(options.proc_root), std::back_inserter(readings));
  std::ranges::move(tracker.update(readings, now), std::back_inserter(remarks));
  return remarks;
}

Watch::Watch(WatchOptions options, std::function<void()> wake)
    : shared_(std::make_shared<Shared>(std::move(options), std::move(wake))) {}

void Watch::watch_for_ever(std::shared_ptr<Shared> shared) {
  std::unique_lock lock(shared->mutex);
  // Waits at first, so that the agent can start, attach and answer for old tasks.
  shared->changed.wait_for(
      lock, std::chrono::duration<double>(std::min(shared->options.seconds, kMostStartSeconds)),
      [&shared] { return shared->stopping; });
  while (!shared->stopping) {
    const bool quiet = shared->quiet;
    lock.unlock();
    const std::vector<Remark> remarks = shared->look(quiet, now_seconds());
    std::vector<Tracker::Total> totals = shared->tracker.totals();
    lock.lock();
    for (const Remark& remark : remarks)
      if (shared->news.events.size() < kMostEvents) shared->news.events.push_back(event_of(remark));
    shared->news.totals = std::move(totals);
    shared->news.log_source = shared->log.source();
    shared->looked = true;
    if (shared->stopping) break;
    if (!remarks.empty()) shared->wake();
    shared->changed.wait_for(lock, std::chrono::duration<double>(shared->options.seconds),
                             [&shared] { return shared->stopping; });
  }
  shared->ended = true;
  shared->changed.notify_all();
}

// Starts the thread, unless the watch is switched off.
void Watch::start() {
  if (!(shared_->options.seconds > 0)) return;
  const std::lock_guard lock(shared_->mutex);
  shared_->started = true;
  std::thread(watch_for_ever, shared_).detach();
}

Watch::~Watch() {
  std::unique_lock lock(shared_->mutex);
  if (!shared_->started) return;
  shared_->stopping = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, std::chrono::duration<double>(kFarewellSeconds),
                            [this] { return shared_->ended; });
}

void Watch::set_quiet(bool quiet) {
  const std::lock_guard lock(shared_->mutex);
  shared_->quiet = quiet;
}

bool Watch::take(News& news) {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->looked) return false;
  shared_->looked = false;
  news = std::move(shared_->news);
  shared_->news = {};
  return true;
}

}  // namespace railgauge::agent
