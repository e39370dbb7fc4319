#include "controller/fleet/worker_pool.h"

#include <utility>

namespace railgauge::fleet {

WorkerPool::WorkerPool(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

// The threads finish the queue before they end.
WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

// Never blocks: gRPC's threads call it.
bool WorkerPool::submit(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || queue_.size() >= kMaxQueued) return false;
  queue_.push_back(std::move(work));
  wake_.notify_one();
  return true;
}

// The body of each thread. The lock is released while work runs.
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

}  // namespace railgauge::fleet
