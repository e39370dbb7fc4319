#include "controller/fleet/worker_pool.h"

#include <utility>

namespace railgauge::fleet {

WorkerPool::WorkerPool(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::submit(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= kMaxQueued) return false;
  queue_.push_back(std::move(work));
  wake_.notify_one();
  return true;
}

void WorkerPool::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

// The run leaves the set before its work begins, so that figures that arrive meanwhile queue it
// again.
bool RunQueue::want(const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  if (!waiting_.insert(run_id).second) return true;
  const bool taken = pool_.submit([this, run_id] {
    {
      const std::lock_guard begun(mutex_);
      waiting_.erase(run_id);
    }
    work_(run_id);
  });
  if (!taken) waiting_.erase(run_id);
  return taken;
}

}  // namespace railgauge::fleet
