// A few threads for what may wait (database reads, YAML): gRPC's own threads and the event loop
// must not. The queue is bounded; a full one refuses.
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
  ~WorkerPool();  // what is queued is still done
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when the queue is full; the work is not done then. Thread safe.
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
