#include "controller/fleet/event_loop.h"

#include <chrono>

#include "controller/clock/wall_clock.h"

namespace railgauge::fleet {

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double unix_seconds() { return wall_seconds(); }

EventLoop::EventLoop() : thread_([this] { work(); }) {}

void EventLoop::post(Task task) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) wake_.notify_one();
}

void EventLoop::on_tick(Task tick) {
  const std::lock_guard lock(mutex_);
  tick_ = std::move(tick);
}

void EventLoop::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void EventLoop::work() {
  using Clock = std::chrono::steady_clock;
  const auto period =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kTickSeconds));
  Clock::time_point next_tick = Clock::now() + period;
  std::unique_lock lock(mutex_);
  while (!stopping_ || !tasks_.empty()) {
    wake_.wait_until(lock, next_tick, [this] { return stopping_ || !tasks_.empty(); });
    std::deque<Task> batch = std::exchange(tasks_, {});
    const bool due = Clock::now() >= next_tick && !stopping_;
    const Task tick = due ? tick_ : Task();
    if (due) next_tick = Clock::now() + period;
    lock.unlock();
    for (const Task& task : batch) task();
    if (tick) tick();
    batch.clear();
    lock.lock();
  }
}

}  // namespace railgauge::fleet
