// Threads for work that may wait (database reads, YAML), so that gRPC's threads and the event loop
// do not. The queue is bounded; a full queue refuses work.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace railgauge::fleet {

class WorkerPool {
 public:
  static constexpr std::size_t kMaxQueued = 64;

  explicit WorkerPool(std::size_t threads);
  // Finishes the queued work.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False: the queue is full and the work is dropped. Thread safe.
  [[nodiscard]] bool submit(std::function<void()> work);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace railgauge::fleet
