// Preflights that the controller orders, run on their own thread: reading a node takes longer than
// the agent's loop may block.
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
  static constexpr std::size_t kMaxWaiting = 8;  // orders; further ones are refused

  // `ring` is called when take() has an answer, by the worker's thread or within order(). It must
  // not block or call back.
  PreflightWorker(PreflightOptions options, std::function<void()> ring);
  ~PreflightWorker();  // waits for the running preflight
  PreflightWorker(const PreflightWorker&) = delete;
  PreflightWorker& operator=(const PreflightWorker&) = delete;

  void order(api::PreflightOrder order);
  // Returns the answers since the last call.
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
  std::thread thread_;  // exists only while there are orders
};

}  // namespace railgauge::agent
