// One task as an explicit state machine: waiting, preparing, running, ending, ended; an attempt
// that lost a node goes back to waiting. Events in, actions out, time passed in: no clock, socket
// or file.
//
// Rules it keeps, whatever the order of events: Go only when every rank is prepared; nothing is
// sent to a node that is not attached; each rank that was asked to prepare ends by itself, or is
// told one cancel (again only to a node that came back, since the first may be lost), or its node
// is lost; it always ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "controller/run/give_way.h"
#include "controller/run/task_outcome.h"
#include "kernels/core/group/framing.h"
#include "kernels/core/group/step_answers.h"

namespace railgauge::run {

struct RankSpec {
  std::string node{};
  std::string endpoint{};  // "DEV:PORT" as the node names it
};

struct TaskSpec {
  std::string task_id{};
  std::vector<RankSpec> ranks{};      // 1 to N; several may be on one node
  double deadline_seconds = 60;       // from preparing to the end of the last runner
  std::uint32_t attempts_before = 0;  // of an earlier start of the same task
  std::uint32_t max_attempts = 2;     // in all, the earlier ones too
  bool forced = false;                // yields to nothing
};

// The fleet's view of a node. `since_seconds` is on the clock of `now_seconds`.
struct Presence {
  enum class State { kAttached, kDetached, kLost };  // kDetached: may come back as it was
  State state = State::kLost;
  double since_seconds = -1e18;
};

enum class TaskState { kWaiting, kPreparing, kRunning, kEnding, kEnded };
// The contract's words: an ending task is "running".
constexpr std::string_view name_of(TaskState state) {
  switch (state) {
    case TaskState::kWaiting:
      return "waiting";
    case TaskState::kPreparing:
      return "preparing";
    case TaskState::kRunning:
    case TaskState::kEnding:
      return "running";
    case TaskState::kEnded:
      return "ended";
  }
  return "ended";
}

// --- actions
// -------------------------------------------------------------------------------------------
struct SendPrepare {
  std::uint32_t rank;
};
struct SendGo {
  std::uint32_t rank;
};
struct SendStep {
  std::uint32_t rank;
  std::shared_ptr<const StepAnswers> answers;  // the same for all ranks: they may be thousands
  bool brief = false;
  [[nodiscard]] const GroupStep& answer() const { return brief ? answers->brief : answers->full; }
};
struct SendCancel {
  std::uint32_t rank;
  std::string outcome{};
  std::string reason{};
};
struct AttemptStarted {
  std::uint32_t attempt;
};
// The attempt is over; the task ends with it unless `requeued`.
struct AttemptEnded {
  std::uint32_t attempt;
  std::string outcome{};
  std::string reason{};
  bool requeued;
};
struct TaskFinished {
  std::string outcome{};
  std::string reason{};
  // A node was lost or it hung, and every runner is gone: another try later may go better.
  bool may_retry = false;
  bool unverified = false;  // a runner of it may still be there
};
using TaskAction = std::variant<SendPrepare, SendGo, SendStep, SendCancel, AttemptStarted,
                                AttemptEnded, TaskFinished>;
using TaskActions = std::vector<TaskAction>;

class TaskMachine {
 public:
  // Most bytes of one step sent to a rank: a frame of its runner's pipe, less room for its head.
  static constexpr std::size_t kMostAnswerBytes = kMaxFrameBytes - (64U << 10U);
  static constexpr double kReturnSeconds =
      15;  // a lost node may be missing so long before we give up
  static constexpr double kMaxWaitSeconds = 60;  // for all nodes of an attempt together
  static constexpr double kDeadlineGraceSeconds =
      10;                                    // the agents end their runners at the deadline
  static constexpr double kEndSeconds = 60;  // from the first end or cancel to the last rank's end
  static constexpr double kStoreSeconds = 15;  // from the last rank's end to its final record
  static constexpr double kResumeSeconds =
      10;  // an end that a node, back without the task, still owes

  explicit TaskMachine(TaskSpec spec);

  // `presence` has an entry for each node of the task; a missing one counts as lost for ever.
  void start(const std::map<std::string, Presence>& presence, double now, TaskActions& out);

  // Reports of agents. Another attempt's or an unknown rank's message is ignored.
  void prepared(std::uint32_t attempt, std::uint32_t rank, double now, TaskActions& out);
  void refused(std::uint32_t attempt, std::uint32_t rank, const std::string& outcome,
               std::string reason, double now, TaskActions& out);
  void step(std::uint32_t attempt, std::uint32_t rank, GroupStep said, double now,
            TaskActions& out);
  void ended(std::uint32_t attempt, std::uint32_t rank, const std::string& outcome,
             std::string reason, double now, TaskActions& out);
  // Records of a rank were committed: so many values, and perhaps its final one.
  void stored(std::uint32_t attempt, std::uint32_t rank, std::uint32_t points,
              std::optional<RankEnd> final, double now, TaskActions& out);

  // Reports of the fleet.
  void node_detached(const std::string& node, double now, TaskActions& out);
  // The same agent process is back. `running` are the ranks of this attempt whose runner it still
  // has.
  void node_resumed(const std::string& node, const std::vector<std::uint32_t>& running, double now,
                    TaskActions& out);
  void node_lost(const std::string& node, double now, TaskActions& out);
  void node_attached(const std::string& node, double now,
                     TaskActions& out);  // first, or after a loss

  // Production work on a node: an attempt under way ends as cancelled and the task waits for the
  // node to be idle again, within GiveWay's window. May be called before start().
  void node_busy(const std::string& node, std::string reason, double now, TaskActions& out);
  void node_idle(const std::string& node, double now, TaskActions& out);

  void cancel(std::string reason, double now, TaskActions& out);
  // Nobody waits for it any more: it ends as soon as its runners are gone, and is not tried again
  // now.
  void give_up(std::string reason, double now, TaskActions& out);
  void tick(double now, TaskActions& out);
  // When tick() is next needed; nothing when the task has ended.
  [[nodiscard]] std::optional<double> next_tick() const;

  [[nodiscard]] TaskState state() const { return state_; }
  [[nodiscard]] const TaskSpec& spec() const { return spec_; }
  [[nodiscard]] std::uint32_t attempt() const { return attempt_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }

 private:
  enum class Phase { kIdle, kPreparing, kPrepared, kRunning, kEnded, kLost };
  struct Rank {
    Phase phase = Phase::kIdle;
    bool told_cancel = false;  // a cancel is due to it or was sent
    bool owes_final = false;   // ended by its agent, whose final record has not been committed
    bool final_stored = false;
    std::optional<RankEnd> final{};  // what its final record says
    std::uint32_t points = 0;
    std::optional<double> resume_by{};  // its node came back without it
    std::optional<GroupStep> said{};    // of the current step
    std::string place{};                // where it was when it last said something; may be empty
  };
  Rank* live_rank(std::uint32_t attempt, std::uint32_t rank);
  [[nodiscard]] bool attached(std::uint32_t rank) const;
  [[nodiscard]] std::string who(std::uint32_t rank) const;  // "rank 1 on n2"
  [[nodiscard]] std::string missing() const;                // words to add, or none
  [[nodiscard]] std::string last_place(std::uint32_t rank) const;
  [[nodiscard]] bool alive(const Rank& rank) const;
  void try_begin(double now, TaskActions& out);
  void begin_attempt(double now, TaskActions& out);
  void wait_for_idle(double now, TaskActions& out);
  bool comes_again(double now);
  void go_when_prepared(TaskActions& out);
  void complete_step(double now, TaskActions& out);
  void end_steps(const std::string& reason, double now, TaskActions& out);
  void add_cause(std::string outcome, std::string reason);
  void end_rank(std::uint32_t rank, std::string_view outcome, std::string reason, double now,
                TaskActions& out);
  void cancel_rest(std::string_view outcome, const std::string& reason, double now,
                   TaskActions& out);
  void lose_rank(std::uint32_t rank, std::string reason, double now, TaskActions& out);
  void give_up_on_silent_ranks(double now, TaskActions& out);
  void settle(double now, TaskActions& out);
  [[nodiscard]] RankEnd combined() const;
  void finish_attempt(double now, TaskActions& out);
  void finish(std::string outcome, std::string reason, TaskActions& out);

  TaskSpec spec_;
  TaskState state_ = TaskState::kWaiting;
  bool started_ = false;
  std::map<std::string, Presence> nodes_;
  std::vector<Rank> ranks_;
  std::uint32_t attempt_ = 0;
  std::uint32_t step_ = 0;                           // the step that is being collected
  std::shared_ptr<const StepAnswers> last_answers_;  // of step_ - 1, for a rank that lost its own
  double wait_until_ = 0;
  double end_by_ = 0;  // deadline of preparing and running, then of ending
  std::optional<double> store_by_;
  std::vector<RankEnd> causes_;  // why this attempt is not passed, in order of arrival
  bool cancelled_ = false;       // by the user
  bool given_up_ = false;
  bool unverified_ = false;  // a runner may still be there: no pass, no requeue, no "cancelled"
  bool lost_ = false;        // a rank of this attempt was lost with its node
  GiveWay give_way_;
  bool gave_way_ = false;             // this attempt
  std::uint32_t attempts_given_ = 0;  // which count against no limit
  std::string cancel_outcome_;
  std::string cancel_reason_;
  RankEnd last_;  // the last attempt's end
};

}  // namespace railgauge::run
