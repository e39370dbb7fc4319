// How strictly a run's rounds are driven: what closes a round, what may run beside what, when the
// run gives up. Plain values with units and defaults; the suite's `rounds:` keys are read into it.
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

// When a run gives up by itself: more tasks than this ended as failed, crashed or timed_out.
struct StopBudget {
  // Number of allowed failures; 0: any number.
  std::uint32_t failures = 0;
  // Allowed share of the tasks that ended so far, 0 to 1; 1: any share.
  double failed_share = 1;
  // The share counts only when at least so many tasks have ended: one bad task of two says little.
  std::uint32_t share_after = 20;
};

// Values of the suite's mapping `rounds:`. suite_keys.cc has the allowed ranges.
struct RoundPolicy {
  // Share of a round's tasks, 0 to 1, after whose end the others get straggler time; rounded up,
  // but below 1 at most all but one: a hung pair never holds a round of few. 1: all are waited for.
  double quorum = 0.98;
  // Straggler time, in seconds, counted from the quorum's end or, of a task that a cap held back,
  // from its own start: as long again as the quorum took times this factor, but at least the slack.
  // Nobody is a straggler before its own expected time and the slack.
  double straggler_factor = 0.5;
  double straggler_slack_seconds = 5;
  // A round closes at the latest so long after its last task was started, in seconds; 0: the
  // longest deadline of its tasks and 15 s.
  double round_deadline_seconds = 0;
  // Between the last end of a round's tasks and the next round, in seconds.
  double settle_seconds = 0;
  // Attempts of a task in all. A task that a closed round left over, that was lost with its node,
  // or that timed out is tried again after all rounds.
  std::uint32_t max_attempts = 2;
  // Tasks under way at one time, in all and for each leaf that they touch; 0: no cap.
  std::uint32_t max_tasks = 0;
  std::uint32_t max_tasks_per_leaf = 0;
  // Once all rounds are through: suspects against known-good partners, failed groups by halves.
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
