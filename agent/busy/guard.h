// The busy guard: looks at the configured sources from a thread of its own, since a sick device may
// hold a look up, and fails closed: before the first look and when a look does not end, the node is
// busy.
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

  // `wake` is called from the guard's thread when reasons() has changed.
  BusyGuard(BusyOptions options, BusySources sources, std::function<void()> wake);
  // Leaves a thread behind that a driver does not let go.
  ~BusyGuard();
  BusyGuard(const BusyGuard&) = delete;
  BusyGuard& operator=(const BusyGuard&) = delete;

  // Begins to look; waits for the first answer, at most so long.
  void start(double wait_seconds);
  // The processes that the agent runs tasks in. Looks at once when there are new ones.
  void set_runners(std::vector<int> pids);
  [[nodiscard]] BusyReasons reasons() const;
  // Whether anything is looked at: without, nothing is said about the node.
  [[nodiscard]] bool looks() const { return looks_; }

 private:
  struct Shared;  // with the thread, which may outlive us
  static void look_for_ever(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
  bool looks_;
};

}  // namespace railgauge::agent
