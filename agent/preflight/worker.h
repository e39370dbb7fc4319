// Preflights that the controller asks for, on a thread of their own: reading a node takes longer
// than the agent's loop may stand still.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "agent/preflight/preflight.h"

namespace railgauge::agent {

class PreflightWorker {
 public:
  static constexpr std::size_t kMaxWaiting = 8;  // orders; further ones are answered with an error

  // `ring` is called from the thread when an answer is there; must not block.
  PreflightWorker(PreflightOptions options, std::function<void()> ring);
  ~PreflightWorker();  // waits for the one under way
  PreflightWorker(const PreflightWorker&) = delete;
  PreflightWorker& operator=(const PreflightWorker&) = delete;

  void order(api::PreflightOrder order);
  // The answers since the last call.
  std::vector<api::PreflightAnswer> take();

 private:
  void work();
  api::PreflightAnswer answer(const api::PreflightOrder& order);

  const PreflightOptions options_;
  const std::function<void()> ring_;
  ProbeMemory memory_;
  std::mutex mutex_;
  std::deque<api::PreflightOrder> waiting_;
  std::vector<api::PreflightAnswer> answers_;
  bool working_ = false;
  std::thread thread_;  // lives while there are orders: an agent at rest has none
};

}  // namespace railgauge::agent
