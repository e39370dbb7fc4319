#include "agent/inventory/timed_reads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kReaders = 3;
constexpr double kReplaceNs = 20e6;  // a reader that takes longer for one read gets a substitute
constexpr std::chrono::milliseconds kLook{5};

// Names of reads that hang in this process.
struct Stuck {
  std::mutex mutex;
  std::set<std::string> names;
};
Stuck& stuck() {
  static auto* const kept = new Stuck;  // a reader may end after main did
  return *kept;
}

struct Work {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::string> names;
  std::vector<Read> reads;
  std::vector<std::optional<std::function<void()>>> results;
  std::vector<double> took_ns;
  std::vector<double> begun_ns;  // 0: not begun
  std::size_t next = 0;
  std::size_t ended = 0;
  std::size_t readers = 0;
  bool is_over = false;  // the caller has stopped waiting
};

// Runs reads until none is left. A slow reader that returns continues beside its substitute.
void read_all(const std::shared_ptr<Work>& work) {
  std::unique_lock lock(work->mutex);
  while (!work->is_over && work->next < work->reads.size()) {
    const std::size_t index = work->next++;
    work->begun_ns[index] = monotonic_now_ns();
    const Read read = std::move(work->reads[index]);
    const std::string name = work->names[index];
    lock.unlock();
    std::function<void()> result = read();
    lock.lock();
    work->took_ns[index] = monotonic_now_ns() - work->begun_ns[index];
    work->results[index] = std::move(result);
    ++work->ended;
    Stuck& all = stuck();
    const std::scoped_lock guard(all.mutex);  // inside the other lock, as in wait_for()
    all.names.erase(name);
    work->changed.notify_all();
  }
}

void start_reader(const std::shared_ptr<Work>& work) {
  ++work->readers;
  std::thread([work] { read_all(work); }).detach();
}

// Returns for each name whether its read may start: no read of that name hangs.
std::vector<bool> free_places(const std::vector<std::string>& names) {
  Stuck& all = stuck();
  const std::scoped_lock guard(all.mutex);
  std::vector<bool> free;
  for (const std::string& name : names)
    free.push_back(all.names.size() < kMostStuckReaders && !all.names.contains(name));
  return free;
}

// Returns the number of readers that are not slow with their current read.
std::size_t quick_readers(const Work& work, double now_ns) {
  std::size_t slow = 0;
  for (std::size_t i = 0; i < work.results.size(); ++i)
    if (work.begun_ns[i] > 0 && !work.results[i] && now_ns - work.begun_ns[i] > kReplaceNs) ++slow;
  return work.readers - std::min(slow, work.readers);
}

void wait_for(const std::shared_ptr<Work>& work, double seconds) {
  const double until_ns = monotonic_now_ns() + seconds * 1e9;
  std::unique_lock lock(work->mutex);
  for (std::size_t i = 0; i < std::min(kReaders, work->reads.size()); ++i) start_reader(work);
  while (work->ended < work->results.size()) {
    const double now_ns = monotonic_now_ns();
    if (now_ns >= until_ns) break;
    if (work->next < work->results.size() && work->readers < kMostStuckReaders &&
        quick_readers(*work, now_ns) < kReaders)
      start_reader(work);
    work->changed.wait_for(lock, kLook);
  }
  work->is_over = true;
  Stuck& all = stuck();
  const std::scoped_lock guard(all.mutex);
  for (std::size_t i = 0; i < work->results.size(); ++i)
    if (work->begun_ns[i] > 0 && !work->results[i]) all.names.insert(work->names[i]);
}

}  // namespace

TimedResult read_in_time(const std::vector<std::string>& names, const std::vector<Read>& reads,
                         double seconds) {
  TimedResult result;
  auto work = std::make_shared<Work>();
  const std::vector<bool> free = free_places(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!free[i]) {
      result.late.push_back(names[i]);
      continue;
    }
    work->names.push_back(names[i]);
    work->reads.push_back(reads[i]);
  }
  work->results.resize(work->reads.size());
  work->took_ns.resize(work->reads.size());
  work->begun_ns.resize(work->reads.size());
  wait_for(work, seconds);
  const std::scoped_lock guard(work->mutex);
  for (std::size_t i = 0; i < work->results.size(); ++i) {
    if (!work->results[i]) {
      result.late.push_back(work->names[i]);
      continue;
    }
    result.milliseconds[work->names[i]] = work->took_ns[i] / 1e6;
    if (*work->results[i]) (*work->results[i])();
  }
  std::ranges::sort(result.late);
  return result;
}

std::size_t stuck_readers() {
  Stuck& all = stuck();
  const std::scoped_lock guard(all.mutex);
  return all.names.size();
}

}  // namespace railgauge::agent
