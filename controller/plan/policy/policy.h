// Policy of a run's rounds: when a round closes, which tasks may run together, when the run gives
// up. Plain values with units and defaults, read from the suite's mapping `rounds:`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace railgauge::run {

// Effect of a task that ended as failed, crashed or timed_out (its last attempt) on tasks that have
// not begun.
enum class OnFailure {
  // No effect: the other tasks are measured.
  kContinue,
  // The stage's other tasks are not started; the next stage is.
  kStopStage,
  // Nothing more is started.
  kStopRun,
};

// The suite's words "continue", "stop_stage", "stop_run".
constexpr std::string_view name_of(OnFailure policy) {
  constexpr std::array<std::string_view, 3> kNames{"continue", "stop_stage", "stop_run"};
  return kNames.at(static_cast<std::size_t>(policy));
}

// Limits while any node of the fabric is busy with production work. --exclusive lifts them.
struct Kindness {
  // The fabric is reserved for us: no limit applies.
  bool exclusive = false;
  // Tasks that load the fabric (RunTaskSpec::loads_fabric) at one time, for each leaf that they
  // touch.
  std::uint32_t bandwidth_tasks_per_leaf = 1;
  // Share of a leaf's uplinks that our tasks which leave the leaf may load at line rate; 0 to 1. On
  // a leaf whose uplinks are not known no such task is started.
  double cross_leaf_share = 0.05;
  // A task over more nodes than this is not started.
  std::uint32_t max_collective_nodes = 16;
  // Seconds that a task which may not start while the fabric is busy waits after all others have
  // run. Then it ends as waived.
  double wait_seconds = 600;
};

// Bounds on tasks that ended as failed, crashed or timed_out; beyond one, the run stops by itself.
struct StopBudget {
  // Number of allowed failures; 0: any number.
  std::uint32_t failures = 0;
  // Allowed share of the tasks that ended so far, 0 to 1; 1: any share.
  double failed_share = 1;
  // Number of ended tasks from which the share counts: one bad task of two proves little.
  std::uint32_t share_after = 20;
};

// Values of the suite's mapping `rounds:`. suite_keys.cc has the allowed ranges.
struct RoundPolicy {
  // Share of a round's tasks, 0 to 1, whose end starts the straggler time of the others. The count
  // is rounded up, but below 1 it is at most all but one: a hung pair never holds a small round. 1:
  // the round waits for all.
  double quorum = 0.98;
  // Straggler time, in seconds: this factor times the quorum's duration, at least the slack. It
  // counts from the quorum's end, or from the start of a task that a cap delayed. No task is a
  // straggler before its own expected time plus the slack.
  double straggler_factor = 0.5;
  double straggler_slack_seconds = 5;
  // Seconds from the start of a round's last task to the round's forced end; 0: the longest
  // deadline of its tasks plus 15 s.
  double round_deadline_seconds = 0;
  // Pause between the end of a round's last task and the next round, in seconds.
  double settle_seconds = 0;
  // Most attempts of one task. A task is tried again after all rounds when its round closed without
  // it, when it was lost with its node, or when it timed out.
  std::uint32_t max_attempts = 2;
  // Most tasks under way at one time, in all and on each leaf; 0: no cap.
  std::uint32_t max_tasks = 0;
  std::uint32_t max_tasks_per_leaf = 0;
  // After all rounds, measures suspects with known-good partners, and failed groups by halves.
  bool drill_down = false;
  StopBudget stop{};
  Kindness kindness{};
  // By stage; a stage beyond the end continues.
  std::vector<OnFailure> on_failure{};
  // By stage, in seconds from the start of its first task; 0, or no element: unlimited. A task that
  // has not begun by then ends as waived.
  std::vector<double> stage_budget_seconds{};
};

}  // namespace railgauge::run
