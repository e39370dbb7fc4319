#include "controller/fleet/worker_pool.h"

#include <utility>

namespace railgauge::fleet {

WorkerPool::WorkerPool(std::size_t threads, WorkerPool* viewers) : viewers_(viewers) {
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

bool WorkerPool::submit(std::function<void()> work, const std::string& owner) {
  const std::lock_guard lock(mutex_);
  const auto queued_of = [this](const std::string& one) {
    const auto found = queues_.find(one);
    return found == queues_.end() ? 0 : found->second.size();
  };
  const std::size_t own = queued_of("");
  const bool is_full = owner.empty()
                           ? own >= kMaxQueued
                           : queued_ - own >= kMaxQueued || queued_of(owner) >= kMaxQueuedOfAnOwner;
  if (stopping_ || is_full) return false;
  auto& queue = queues_[owner];
  if (queue.empty()) turns_.push_back(owner);
  queue.push_back(std::move(work));
  ++queued_;
  wake_.notify_one();
  return true;
}

bool WorkerPool::is_idle() {
  const std::lock_guard lock(mutex_);
  return queued_ == 0 && under_way_ == 0;
}

void WorkerPool::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || queued_ > 0; });
    if (queued_ == 0) return;
    const auto next = queues_.find(turns_.front());
    turns_.pop_front();
    const std::function<void()> work = std::move(next->second.front());
    next->second.pop_front();
    if (next->second.empty())
      queues_.erase(next);
    else
      turns_.push_back(next->first);
    --queued_;
    ++under_way_;
    lock.unlock();
    work();
    lock.lock();
    --under_way_;
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
