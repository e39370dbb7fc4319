// The busy guard: looks at the configured sources from threads of its own, and fails closed: before
// the first look and when a look does not end, the node is busy. A source that a driver, the
// kubelet or a command of the site may hold up has a thread of its own, so that none hides the
// others.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "agent/busy/judge.h"
#include "agent/busy/options.h"

namespace railgauge::agent {

class BusyGuard {
 public:
  static constexpr double kStuckSeconds = 5;  // without a look: busy

  // `wake` is called from the guard's threads when reasons() has changed.
  BusyGuard(BusyOptions options, BusySources sources, std::function<void()> wake);
  // Leaves threads behind that a driver does not let go.
  ~BusyGuard();
  BusyGuard(const BusyGuard&) = delete;
  BusyGuard& operator=(const BusyGuard&) = delete;

  // Begins to look; waits for all first answers, at most so long.
  void start(double wait_seconds);
  // The processes that the agent runs tasks in. Looks at once when there are new ones.
  void set_runners(std::vector<int> pids);
  [[nodiscard]] BusyReasons reasons() const;
  // Whether anything is looked at: without, nothing is said about the node.
  [[nodiscard]] bool looks() const { return !eyes_.empty(); }

 private:
  struct Eye;  // with its thread, which may outlive us
  static void look_for_ever(std::shared_ptr<Eye> eye);
  std::vector<std::shared_ptr<Eye>> eyes_;  // none: nothing is looked at
  bool started_ = false;
};

}  // namespace railgauge::agent
