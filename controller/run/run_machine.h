// One run as an explicit state machine: the engine says what begins, this counts how it ended,
// gives tasks another try, stops when the suite says so, and tells the worst outcome at the end.
// Events in, actions out, the time passed in: no clock, socket or file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "controller/plan/policy/policy.h"
#include "controller/run/other_partner.h"
#include "controller/run/round_engine.h"

namespace railgauge::run {

enum class RunState { kPlanned, kRunning, kCancelling, kEnded };
std::string_view name_of(RunState state);  // the contract's words

struct CancelTaskAction {
  std::size_t index;
  std::string reason{};
};
struct RunFinished {
  std::string outcome{};
  std::string reason{};
};
// The run has one more task, which starts or ends like any other from here on.
struct AddTask {
  std::size_t index;
  Elsewhere made_of{};
};
// All planned tasks have ended. The owner looks for follow-ups and passes them to add_follow_ups().
struct WantFollowUps {};
using RunAction = std::variant<StartTask, GiveUpTask, CancelTaskAction, SkipTask, RunFinished,
                               AddTask, WantFollowUps>;
using RunActions = std::vector<RunAction>;

// How a task's attempts of one start ended.
struct TaskEnd {
  std::string outcome{};
  std::string reason{};
  bool may_retry = false;   // its node was lost or it hung, and nothing of it is left
  bool unverified = false;  // a runner of it may still be there
};

class RunMachine {
 public:
  static constexpr std::size_t kMaxReasons = 3;  // different ones in a run's reason

  explicit RunMachine(std::vector<RunTaskSpec> tasks, RoundPolicy policy = {},
                      const LeafUplinks& uplinks = {});

  void start(double now, RunActions& out);
  static constexpr std::uint32_t kMostWaves = 64;  // of follow-ups

  // The answer to WantFollowUps: tasks that the run has beside the others from here on, numbered on
  // from the last one; when they have ended, it is asked again. None: the run ends. Without effect
  // when nothing was asked or the run is over or being cancelled; false then.
  bool add_follow_ups(const std::vector<RunTaskSpec>& tasks, double now, RunActions& out);
  // Nothing of the task is under way any more. True when it will be started once more; then this
  // was not its end. CHECKs that it was started and had not ended.
  bool task_ended(std::size_t index, TaskEnd end, double now, RunActions& out);
  // Nothing new is started; the run ends when every started task has said that its runners are
  // gone.
  void cancel(std::string reason, RunActions& out);
  // Some node is busy with work that is not ours; "" says that none is.
  void set_busy(std::string who, double now, RunActions& out);
  void tick(double now, RunActions& out);

  [[nodiscard]] RunState state() const { return state_; }
  [[nodiscard]] std::size_t tasks_total() const { return tasks_.size(); }  // with added ones
  [[nodiscard]] std::uint32_t tasks_ended() const { return ended_; }
  [[nodiscard]] const std::map<std::string, std::uint32_t>& outcomes() const { return outcomes_; }
  [[nodiscard]] const RoundEngine& rounds() const { return engine_; }
  [[nodiscard]] const std::string& outcome_of(std::size_t index) const {
    return tasks_.at(index).outcome;  // "": not ended
  }
  [[nodiscard]] std::uint32_t failures() const { return failures_; }

 private:
  struct Task {
    std::uint32_t stage = 0;
    bool waived = false;  // by the planner
    std::string outcome{};
    std::string reason{};
    std::uint32_t starts = 0;
    bool told_cancel = false;
  };

  void end_task(Task& task, std::string outcome, std::string reason);
  void skip(std::size_t index, std::string_view outcome, std::string reason, RunActions& out);
  void advance(double now, RunActions& out);
  void poll(double now, RunActions& out);
  bool add_elsewhere(RunActions& out);
  void stop_after(const Task& failed, RunActions& out);
  void stop(std::string reason, const std::uint32_t* stage, RunActions& out);
  bool wants_follow_ups(RunActions& out);
  void finish_when_done(RunActions& out);
  [[nodiscard]] std::string over_budget() const;
  [[nodiscard]] std::string worst_outcome() const;
  [[nodiscard]] std::string reason_for(std::string_view outcome) const;

  std::vector<Task> tasks_;
  const RoundPolicy policy_;
  RoundEngine engine_;
  PartnerBook partners_;
  RunState state_ = RunState::kPlanned;
  std::uint32_t ended_ = 0;
  std::uint32_t measured_ = 0;       // ended after they were started
  std::uint32_t failures_ = 0;       // of these failed, crashed, timed_out
  std::uint32_t own_cancelled_ = 0;  // not started because the run stopped by itself
  std::map<std::string, std::uint32_t> outcomes_;
  std::string cancel_reason_;
  std::string stop_reason_;
  bool stopped_ = false;  // as a whole, by itself
  enum class FollowUps : std::uint8_t { kNotAsked, kAsked, kUnderWay, kOver };
  FollowUps follow_ups_ = FollowUps::kNotAsked;
  std::uint32_t waves_ = 0;
  // Why a task that could not show that its runners are gone has ended; "": all could.
  std::string unverified_;
};

}  // namespace railgauge::run
