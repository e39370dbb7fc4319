// How a task gives way to production work on its nodes, and comes back.
#include <algorithm>

#include "controller/run/task_machine.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::run {

void TaskMachine::node_busy(const std::string& node, std::string reason, double now,
                            TaskActions& out) {
  if (std::ranges::find(spec_.ranks, node, &RankSpec::node) == spec_.ranks.end()) return;
  give_way_.busy(node, std::move(reason));
  if (!give_way_.blocks() || state_ == TaskState::kEnded || !started_) return;
  give_way_.begin(now);
  if (state_ == TaskState::kWaiting || state_ == TaskState::kEnding) return;
  gave_way_ = true;
  const std::string why = give_way_.reason();
  add_cause(std::string(kCancelledOutcome), why);
  cancel_rest(kCancelledOutcome, why, now, out);
  settle(now, out);
}

void TaskMachine::node_idle(const std::string& node, double now, TaskActions& out) {
  give_way_.idle(node);
  try_begin(now, out);
}

// Before an attempt. The wait for nodes to be attached begins anew once they are idle.
void TaskMachine::wait_for_idle(double now, TaskActions& out) {
  give_way_.begin(now);
  wait_until_ = now + kMaxWaitSeconds;
  if (give_way_.over(now)) finish(std::string(kCancelledOutcome), give_way_.end_reason(), out);
}

// Whether the attempt that just ended gave way, and its task waits for another.
bool TaskMachine::comes_again(double now) {
  const bool again = gave_way_ && !cancelled_ && !unverified_ &&
                     last_.outcome == kCancelledOutcome && !give_way_.over(now);
  if (again) ++attempts_given_;
  return again;
}

}  // namespace railgauge::run
