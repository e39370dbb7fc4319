// One run as an explicit state machine. The round engine decides which tasks begin. The run machine
// counts their ends, retries tasks, stops by the suite's rules, and reports the worst outcome.
// Takes events and the time, returns actions; uses no clock, socket or file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "controller/api/states.h"
#include "controller/plan/policy/policy.h"
#include "controller/run/other_partner.h"
#include "controller/run/round_engine.h"
#include "controller/run/task_source.h"

namespace railgauge::run {

using api::RunState;

// A task under way is to be cancelled.
struct CancelTaskAction {
  std::size_t index;
  std::string reason{};
};
// A task under way is to end, because a node of it is lent to another run.
struct InterruptTask {
  std::size_t index;
  std::string reason{};
};
// The run is over; nothing follows.
struct RunFinished {
  std::string outcome{};
  std::string reason{};
};
// The run got one more task, which starts and ends like any other.
struct AddTask {
  std::size_t index;
  Elsewhere made_of{};
};
// All planned tasks have ended. The owner looks for follow-ups and passes them to add_follow_ups().
struct WantFollowUps {};
using RunAction = std::variant<OpenRound, StartTask, GiveUpTask, CancelTaskAction, InterruptTask,
                               SkipTask, SkipRounds, RunFinished, AddTask, WantFollowUps>;
using RunActions = std::vector<RunAction>;

// The end of one start of a task, after all of its attempts.
struct TaskEnd {
  std::string outcome{};
  std::string reason{};
  bool may_retry = false;   // its node was lost or it hung, and no runner is left
  bool unverified = false;  // a runner of it may still be there
  // It ended for InterruptTask alone: it is started again, and this start does not count.
  bool interrupted = false;
};

// The state machine of one run. Not thread safe. Times are seconds of a monotonic clock.
class RunMachine {
 public:
  // Most kinds of task reasons in the reason of a run.
  static constexpr std::size_t kMaxReasons = 3;

  // Waived tasks count and are never started. They end when their round begins.
  explicit RunMachine(std::shared_ptr<const TaskSource> source, RoundPolicy policy = {},
                      const LeafUplinks& uplinks = {});
  // The same with `tasks` in the order of the plan.
  explicit RunMachine(std::vector<RunTaskSpec> tasks, RoundPolicy policy = {},
                      const LeafUplinks& uplinks = {})
      : RunMachine(std::make_shared<const ListedTasks>(std::move(tasks)), std::move(policy),
                   uplinks) {}

  // See RoundEngine::share_uplinks(). Call it before start().
  void share_uplinks(UplinkLedger& ledger, std::string run_id) {
    engine_.share_uplinks(ledger, std::move(run_id));
  }
  // Starts the first round. Call it once.
  void start(double now, RunActions& out);
  // Most times that the run asks for follow-ups.
  static constexpr std::uint32_t kMostWaves = 64;

  // Answers WantFollowUps with more tasks, numbered after the last one. The machine asks again when
  // they have ended; without tasks the run ends. Returns false, without effect, if no answer is
  // expected, or if the run is over or being cancelled.
  bool add_follow_ups(const std::vector<RunTaskSpec>& tasks, double now, RunActions& out);
  // Records the end of a task under way. Returns true if the task will be started once more, so
  // that this was not its final end. CHECKs that the task was started and had not ended.
  bool task_ended(std::size_t index, const TaskEnd& end, double now, RunActions& out);
  // Cancels the run: no further task starts, and the run ends when every task under way has
  // reported that its runners are gone.
  void cancel(std::string reason, RunActions& out);
  // Sets the production work on the fabric; "": no node is busy.
  void set_busy(std::string who, double now, RunActions& out);
  // Lends nodes to another run, which people see as `who`. Tasks under way on them are interrupted,
  // and measured when the nodes are back. The run does not end before that.
  void lend(const std::vector<std::string>& nodes, const std::string& who, double now,
            RunActions& out);
  void take_back(const std::vector<std::string>& nodes, double now, RunActions& out);
  // Applies deadlines of rounds; call regularly.
  void tick(double now, RunActions& out);

  [[nodiscard]] RunState state() const { return state_; }
  [[nodiscard]] std::size_t tasks_total() const { return total_; }  // with added ones
  [[nodiscard]] std::uint32_t tasks_ended() const { return ended_; }
  [[nodiscard]] const std::map<std::string, std::uint32_t>& outcomes() const { return outcomes_; }
  [[nodiscard]] const RoundEngine& rounds() const { return engine_; }
  // Returns the outcome of a task; "": it has not ended, or its round was skipped.
  [[nodiscard]] const std::string& outcome_of(std::size_t index) const {
    return words_[index < word_of_.size() ? word_of_[index] : 0];
  }
  [[nodiscard]] std::uint32_t failures() const { return failures_; }

 private:
  // A task that was started and has not ended.
  struct Task {
    std::uint32_t stage = 0;
    std::uint32_t starts = 0;
    bool told_cancel = false;  // a cancel was sent
  };
  // The different reasons of one outcome, in the order of their appearance.
  struct Reasons {
    std::vector<std::string> texts{};                       // at most kMostKeptReasons
    std::vector<std::size_t> tasks{};                       // of each text
    std::unordered_map<std::string, std::size_t> places{};  // of each text in the lists
    std::size_t others = 0;                                 // tasks of reasons that came later
  };
  static constexpr std::size_t kMostKeptReasons = 1'000;

  void end_measured(std::size_t index, const TaskEnd& end, RunActions& out);
  void end_tasks(std::size_t tasks, const std::string& outcome, const std::string& reason);
  void end_task(std::size_t index, const std::string& outcome, const std::string& reason);
  std::size_t drop_waiting(std::optional<std::uint32_t> stage, const std::string& reason,
                           RunActions& out);
  void take(EngineActions& actions, RunActions& out);
  void advance(double now, RunActions& out);
  void poll(double now, RunActions& out);
  bool add_elsewhere(RunActions& out);
  void stop_after(std::uint32_t stage, const std::string& outcome, RunActions& out);
  void stop(std::string reason, std::optional<std::uint32_t> stage, RunActions& out);
  [[nodiscard]] bool is_stopped(std::uint32_t stage) const {
    return stopped_ || stopped_stages_.contains(stage);
  }
  bool wants_follow_ups(RunActions& out);
  void finish_when_done(RunActions& out);
  [[nodiscard]] std::string over_budget() const;
  [[nodiscard]] std::string worst_outcome() const;
  [[nodiscard]] std::string reason_for(const std::string& outcome) const;

  std::map<std::size_t, Task> tasks_;  // by index
  std::size_t total_;
  // The outcome of each ended task, as its place in words_: a byte each, for millions of tasks.
  std::vector<std::uint8_t> word_of_;
  std::vector<std::string> words_{""};
  std::map<std::string, Reasons> reasons_;  // by outcome
  const RoundPolicy policy_;
  RoundEngine engine_;
  PartnerBook partners_;
  RunState state_ = RunState::kPlanned;
  std::uint32_t ended_ = 0;
  std::uint32_t measured_ = 0;     // ended after they were started
  std::uint32_t failures_ = 0;     // of these: failed, crashed, timed_out
  std::size_t own_cancelled_ = 0;  // not started because the run stopped by itself
  std::map<std::string, std::uint32_t> outcomes_;
  std::string cancel_reason_;
  std::string stop_reason_;
  bool stopped_ = false;                      // by the suite's rules, as a whole
  std::set<std::uint32_t> stopped_stages_{};  // likewise, by themselves
  enum class FollowUps : std::uint8_t { kNotAsked, kAsked, kUnderWay, kOver };
  FollowUps follow_ups_ = FollowUps::kNotAsked;
  std::uint32_t waves_ = 0;
  // The end of a task whose runners may still be there; "": none.
  std::string unverified_;
};

}  // namespace railgauge::run
