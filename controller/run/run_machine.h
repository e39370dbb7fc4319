// One run as an explicit state machine: rounds in order, the tasks of a round side by side, the
// worst outcome at the end. Events in, actions out: no clock, socket or file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace railgauge::run {

struct RunTaskSpec {
  std::uint32_t round = 0;
  bool waived = false;   // the planner found that it cannot run; it counts, and is never started
  std::string reason{};  // of the waiver
};

enum class RunState { kPlanned, kRunning, kCancelling, kEnded };
std::string_view name_of(RunState state);  // the contract's words

struct StartTask {
  std::size_t index;
};
struct CancelTaskAction {
  std::size_t index;
  std::string reason{};
};
// The task ends without having been started.
struct SkipTask {
  std::size_t index;
  std::string outcome{};  // "waived", "cancelled"
  std::string reason{};
};
struct RunFinished {
  std::string outcome{};
  std::string reason{};
};
using RunAction = std::variant<StartTask, CancelTaskAction, SkipTask, RunFinished>;
using RunActions = std::vector<RunAction>;

class RunMachine {
 public:
  static constexpr std::size_t kMaxReasons = 3;  // different ones in a run's reason

  explicit RunMachine(std::vector<RunTaskSpec> tasks);

  void start(RunActions& out);
  // The task's last attempt is over. CHECKs that it was started and had not ended.
  void task_ended(std::size_t index, std::string outcome, std::string reason, RunActions& out);
  // Nothing new is started; the run ends when every started task has said that its runners are
  // gone.
  void cancel(std::string reason, RunActions& out);

  [[nodiscard]] RunState state() const { return state_; }
  [[nodiscard]] std::uint32_t tasks_ended() const { return ended_; }
  [[nodiscard]] const std::map<std::string, std::uint32_t>& outcomes() const { return outcomes_; }

 private:
  struct Task {
    RunTaskSpec spec;
    enum class State { kWaiting, kStarted, kEnded } state = State::kWaiting;
    std::string outcome{};
    std::string reason{};
    bool told_cancel = false;
  };

  void end_task(Task& task, std::string outcome, std::string reason);
  void skip(std::size_t index, std::string_view outcome, std::string reason, RunActions& out);
  void advance(RunActions& out);
  void finish(RunActions& out);
  [[nodiscard]] std::string worst_outcome() const;
  [[nodiscard]] std::string reason_for(std::string_view outcome) const;

  std::vector<Task> tasks_;
  std::vector<std::uint32_t> rounds_;  // ascending, each once
  std::size_t next_round_ = 0;
  RunState state_ = RunState::kPlanned;
  std::uint32_t ended_ = 0;
  std::uint32_t started_ = 0;  // and not ended
  std::map<std::string, std::uint32_t> outcomes_;
  std::string cancel_reason_;
  bool unverified_ = false;  // a cancelled task could not show that its runners are gone
};

}  // namespace railgauge::run
