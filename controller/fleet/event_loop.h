// The controller's one thread of decisions: fleet, runs and state machines live on it, so none of
// them needs a lock. Its queue is bounded by its producers: an agent's stream has one message in it
// at most, the worker pool and the store are bounded themselves.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

namespace railgauge::fleet {

// One thread that owns the fleet and the runs.
class EventLoop {
 public:
  using Task = std::function<void()>;
  static constexpr double kTickSeconds = 0.25;

  EventLoop();
  ~EventLoop() { stop(); }
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Thread safe. Tasks run in order; after stop() they are dropped.
  void post(Task task);
  // Runs `function` on the loop and returns its value; at once if called on the loop. Not allowed
  // after stop().
  template <class Function>
  auto call(Function function) -> decltype(function()) {
    if (std::this_thread::get_id() == thread_.get_id()) return function();
    std::packaged_task<decltype(function())()> task(std::move(function));
    auto value = task.get_future();
    post([&task] { task(); });
    return value.get();
  }
  // Sets the function that runs every kTickSeconds on the loop. Set it before anything is posted.
  void on_tick(Task tick);
  // Finishes the queued tasks, then ends the thread. Idempotent.
  void stop();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  Task tick_;
  bool stopping_ = false;
  std::thread thread_;
};

// CLOCK_MONOTONIC in seconds.
double monotonic_seconds();
// Seconds since 1970, UTC.
double unix_seconds();

}  // namespace railgauge::fleet
