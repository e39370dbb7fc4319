// Calls that may never return: a separate thread, the worker, makes the calls of NCCL and the
// driver while the kernel's thread watches it. A worker that hangs between calls is stopped. A
// worker that hangs inside a library is abandoned, and the task still ends with a line that names
// the place.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "kernels/core/base/result.h"

namespace railgauge::nccl {

// The worker's progress, and the order to stop. Thread safe.
class Progress {
 public:
  // Begins a new piece of work; cancels an earlier stop().
  void begin(std::string step);
  // Called by the worker: some work has just ended.
  void beat();
  // Called by the watcher: stops the worker with the error `why` as soon as it looks.
  void stop(Error why);

  // Polled by the worker in its waiting loops.
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // Returns the error of stop() with the current action `act` in front. Call after stop().
  [[nodiscard]] Status stopped_at(std::string_view act) const;
  // Returns the time of the last beat, CLOCK_MONOTONIC in ns; begin() counts as a beat.
  [[nodiscard]] double last_beat_ns() const { return last_beat_ns_.load(); }
  [[nodiscard]] std::string step() const;

 private:
  mutable std::mutex mutex_;
  std::string step_;
  Error why_;
  std::atomic<bool> stopped_{false};
  std::atomic<double> last_beat_ns_{0};  // CLOCK_MONOTONIC
};

// The limits of a job.
struct Watch {
  double deadline_monotonic_ns = 0;  // of the job; messages about it may take longer
  double stall_ns = 0;               // the longest time without a beat
  std::string hint{};                // likely cause of a stall; may be empty
  std::function<Status()> health{};  // called some ten times a second and at the end; may be empty
};

// Runs jobs on a thread with the caller's CPUs and memory policy. Not thread safe.
class Worker {
 public:
  // Owns all memory that it touches, because it may outlive its caller.
  using Job = std::function<Status()>;

  explicit Worker(std::shared_ptr<Progress> progress);
  ~Worker();

  // Runs a job and returns its error, or health()'s. A stopped job that does not react within
  // kLeaveSeconds is abandoned: kDeadlineExceeded or the stop's own code, naming `step`.
  Status run(std::string step, Job job, const Watch& watch);
  // Reports whether a job was abandoned; nothing can run any more.
  [[nodiscard]] bool lost() const { return lost_; }

  // Seconds that a stopped job may take to return.
  static constexpr double kLeaveSeconds = 0.5;

 private:
  // The state that both threads share, guarded by `mutex`.
  struct Service {
    std::mutex mutex;
    std::condition_variable changed;
    Job job;
    std::optional<Status> ended;
    bool quit = false;
  };
  // The thread's loop: takes a job, runs it without the lock, reports its end.
  static void work(const std::shared_ptr<Service>& service);
  // Returns the reason to stop the job; absent while it may continue.
  std::optional<Error> reason_to_stop(const Watch& watch) const;
  Status leave_behind();

  std::shared_ptr<Progress> progress_;
  std::shared_ptr<Service> service_;
  std::thread thread_;
  bool lost_ = false;
};

}  // namespace railgauge::nccl
