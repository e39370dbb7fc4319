// The busy guard looks at the configured sources from its own threads. It fails closed: before the
// first look, and while a look does not end, the node is busy. A source that a driver, the kubelet
// or a site's command may block has its own thread, so that it does not hide the others.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "agent/busy/judge.h"
#include "agent/busy/options.h"

namespace railgauge::agent {

// Thread safe.
class BusyGuard {
 public:
  // Seconds without a finished look after which the node counts as busy.
  static constexpr double kStuckSeconds = 5;

  // `wake` is called from the guard's threads when reasons() has changed.
  BusyGuard(BusyOptions options, BusySources sources, std::function<void()> wake);
  // Leaves threads behind that a driver blocks.
  ~BusyGuard();
  BusyGuard(const BusyGuard&) = delete;
  BusyGuard& operator=(const BusyGuard&) = delete;

  // Starts the threads and waits for the first answers of all sources, at most `wait_seconds`.
  void start(double wait_seconds);
  // Sets the processes that run tasks of the agent. A new one causes a look at once.
  void set_runners(const std::vector<int>& pids);
  [[nodiscard]] BusyReasons reasons() const;
  // Whether any source is configured. Without one the agent reports nothing about the node's work.
  [[nodiscard]] bool looks() const { return !threads_.empty(); }

 private:
  // One source with its thread, which may outlive the guard.
  struct SourceThread;
  static void look_for_ever(std::shared_ptr<SourceThread> source);
  std::vector<std::shared_ptr<SourceThread>> threads_;  // empty: no source is configured
  bool started_ = false;
};

}  // namespace railgauge::agent
