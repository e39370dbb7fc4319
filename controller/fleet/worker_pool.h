// Threads for blocking work (database reads, YAML), so that gRPC's threads and the event loop do
// not block. Owners take turns, and the queue of each is bounded: one peer's flood delays another
// peer's call by one piece of work. A full queue refuses work.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace railgauge::fleet {

class WorkerPool {
 public:
  static constexpr std::size_t kMaxQueued = 64;  // of the controller; of all peers together
  static constexpr std::size_t kMaxQueuedOfAnOwner = 32;  // of a peer

  // `viewers`: the pool of calls of viewers, which then take no thread of this one. It outlives
  // this pool; null: they have no pool of their own.
  explicit WorkerPool(std::size_t threads, WorkerPool* viewers = nullptr);
  ~WorkerPool();  // finishes the queued work
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // `owner`: the peer that asks, "" for the controller's own work and the unix socket, whose places
  // peers cannot take. False: the queue is full and the work is dropped. Thread safe.
  [[nodiscard]] bool submit(std::function<void()> work, const std::string& owner = "");
  // Whether nothing waits and nothing is under way. Thread safe.
  [[nodiscard]] bool is_idle();
  // The pool for a call of a viewer. Thread safe.
  [[nodiscard]] WorkerPool& of_viewers() { return viewers_ == nullptr ? *this : *viewers_; }

 private:
  void loop();

  WorkerPool* const viewers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::deque<std::function<void()>>> queues_;  // by owner, none empty
  std::deque<std::string> turns_;                                    // owners with work, once each
  std::size_t queued_ = 0;
  std::size_t under_way_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// A queue of run ids with its own thread, because the work for one run takes seconds to minutes.
class RunQueue {
 public:
  using Work = std::function<void(const std::string& run_id)>;
  // `work` is called on the queue's thread. The destructor finishes what waits.
  explicit RunQueue(Work work) : work_(std::move(work)) {}

  // A run that waits already is done once; one that is under way is done again. False: the queue is
  // full and the run is dropped. Thread safe.
  bool want(const std::string& run_id);
  // Whether no run waits and none is under way. Thread safe.
  [[nodiscard]] bool is_idle() { return pool_.is_idle(); }

 private:
  Work work_;
  // Guards waiting_.
  std::mutex mutex_;
  std::set<std::string> waiting_;
  // The last member: its thread uses all members above.
  WorkerPool pool_{1};
};

}  // namespace railgauge::fleet
