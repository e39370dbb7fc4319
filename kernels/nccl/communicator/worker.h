// Calls that may never return: a thread of their own, the worker, makes NCCL's and the driver's
// calls while the kernel's thread watches it. A worker that hangs between calls is stopped. One
// that hangs inside a library is left behind, and the task still ends with a line that names the
// place.
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

// How far the worker is, and whether it shall go on. Thread safe.
class Progress {
 public:
  // A new piece of work; an earlier stop() holds no more.
  void begin(std::string step);
  // The worker: something came to its end just now.
  void beat();
  // The watcher: `why` ends what the worker does, as soon as it looks.
  void stop(Error why);

  // Read by the worker in its waiting loops.
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  // The error of stop(), `act` (what was under way) in front of its words.
  [[nodiscard]] Status stopped_at(std::string_view act) const;
  // CLOCK_MONOTONIC, in ns; begin() counts as a beat.
  [[nodiscard]] double last_beat_ns() const { return last_beat_ns_.load(); }
  [[nodiscard]] std::string step() const;

 private:
  mutable std::mutex mutex_;
  std::string step_;
  Error why_;
  std::atomic<bool> stopped_{false};
  std::atomic<double> last_beat_ns_{0};  // CLOCK_MONOTONIC
};

// When a job is stopped.
struct Watch {
  double deadline_monotonic_ns = 0;  // of the job; words about it may take as long as they need
  double stall_ns = 0;               // the longest time without a beat
  std::string hint{};                // what may be wrong when it is; may be empty
  std::function<Status()> health{};  // asked some ten times a second and at the end; may be empty
};

// Its thread begins with the caller's CPUs and memory policy. Not thread safe.
class Worker {
 public:
  // Owns all that it touches: it may outlive whoever ordered it.
  using Job = std::function<Status()>;

  explicit Worker(std::shared_ptr<Progress> progress);
  ~Worker();

  // Returns when the job has ended, and with its error, or health()'s. A job that was stopped and
  // did not look up in kLeaveSeconds is left behind: kDeadlineExceeded or the stop's own code,
  // naming `step`.
  Status run(std::string step, Job job, const Watch& watch);
  // A job was left behind: nothing can be run any more.
  [[nodiscard]] bool lost() const { return lost_; }

  // How long a stopped job may take to come back, in seconds.
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
  // Nothing while the job may continue.
  std::optional<Error> reason_to_stop(const Watch& watch) const;
  Status leave_behind();

  std::shared_ptr<Progress> progress_;
  std::shared_ptr<Service> service_;
  std::thread thread_;
  bool lost_ = false;
};

}  // namespace railgauge::nccl
