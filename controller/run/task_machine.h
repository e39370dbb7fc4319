// One task as an explicit state machine: waiting, preparing, running, ending, ended. A task whose
// attempt lost a node returns to waiting. Takes events and the time, returns actions; uses no
// clock, socket or file.
//
// Invariants, whatever the order of events: Go is sent only when every rank is prepared. Nothing is
// sent to a node that is not attached. Each rank that was asked to prepare ends by itself, gets one
// cancel, or is lost with its node; a returning node gets the cancel again, since the first may be
// lost. The task always ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "controller/api/states.h"
#include "controller/run/task_outcome.h"
#include "controller/run/yield_window.h"
#include "kernels/core/group/framing.h"
#include "kernels/core/group/step_answers.h"

namespace railgauge::run {

// One rank of the task.
struct RankSpec {
  std::string node{};
  std::string endpoint{};  // "DEV:PORT" as the node names it
};

// The task as planned.
struct TaskSpec {
  std::string task_id{};
  std::vector<RankSpec> ranks{};      // 1 to N; several may be on one node
  double deadline_seconds = 60;       // from preparing to the end of the last runner
  std::uint32_t attempts_before = 0;  // attempts of an earlier start of the same task
  std::uint32_t max_attempts = 2;     // in all, with the earlier ones
  bool forced = false;                // yields to nothing
};

// The fleet's view of a node. `since_seconds` is on the clock of `now_seconds`.
struct Presence {
  using State = api::NodePresence;
  State state = State::kLost;
  double since_seconds = -1e18;
};

using api::TaskState;

// --- actions -----------------------------------------------------------------------------------
struct SendPrepare {
  std::uint32_t rank;
};
struct SendGo {
  std::uint32_t rank;
};
// The answer to a rendezvous step.
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
// The attempt is over. The task ends with it unless `requeued`.
struct AttemptEnded {
  std::uint32_t attempt;
  std::string outcome{};
  std::string reason{};
  bool requeued;
};
// The task is over; nothing follows.
struct TaskFinished {
  std::string outcome{};
  std::string reason{};
  // A node was lost or the task hung, and every runner is gone: a later start may pass.
  bool may_retry = false;
  bool unverified = false;  // a runner of it may still be there
  // It ended only because of interrupt(), so it is to be measured later, as if not begun.
  bool interrupted = false;
};
using TaskAction = std::variant<SendPrepare, SendGo, SendStep, SendCancel, AttemptStarted,
                                AttemptEnded, TaskFinished>;
using TaskActions = std::vector<TaskAction>;

// The state machine of one task. Not thread safe. Times are seconds of a monotonic clock.
class TaskMachine {
 public:
  // Most bytes of one step sent to a rank: a frame of its runner's pipe, less 64 KiB for the head.
  static constexpr std::size_t kMostAnswerBytes = kMaxFrameBytes - (64U << 10U);
  // Time that a lost node has to come back.
  static constexpr double kReturnSeconds = 15;
  // The longest wait for all nodes of an attempt to be attached together.
  static constexpr double kMaxWaitSeconds = 60;
  // Added to the deadline, at which the agents end their runners themselves.
  static constexpr double kDeadlineGraceSeconds = 10;
  // The longest time from the first end or cancel to the last rank's end.
  static constexpr double kEndSeconds = 60;
  // The longest time from the last rank's end to its final record.
  static constexpr double kStoreSeconds = 15;
  // A node that came back without the task has this long to deliver the end of its rank.
  static constexpr double kResumeSeconds = 10;

  explicit TaskMachine(TaskSpec spec);

  // Begins or waits. `presence` has an entry for each node of the task; a missing node counts as
  // lost for ever.
  void start(const std::map<std::string, Presence>& presence, double now, TaskActions& out);

  // Reports of agents. A message for another attempt or an unknown rank is ignored.
  void prepared(std::uint32_t attempt, std::uint32_t rank, double now, TaskActions& out);
  void refused(std::uint32_t attempt, std::uint32_t rank, const std::string& outcome,
               std::string reason, double now, TaskActions& out);
  void step(std::uint32_t attempt, std::uint32_t rank, GroupStep said, double now,
            TaskActions& out);
  void ended(std::uint32_t attempt, std::uint32_t rank, const std::string& outcome,
             std::string reason, double now, TaskActions& out);
  // Records of a rank were committed: the number of values, and its final record if it was among
  // them.
  void stored(std::uint32_t attempt, std::uint32_t rank, std::uint32_t points,
              std::optional<RankEnd> final, double now, TaskActions& out);

  // Reports of the fleet.
  void node_detached(const std::string& node, double now, TaskActions& out);
  // The same agent process is back. `running` lists the ranks of this attempt whose runners it
  // still has.
  void node_resumed(const std::string& node, const std::vector<std::uint32_t>& running, double now,
                    TaskActions& out);
  void node_lost(const std::string& node, double now, TaskActions& out);
  // An agent attached for the first time, or after a loss.
  void node_attached(const std::string& node, double now, TaskActions& out);

  // Production work began on a node. An attempt under way ends as cancelled, and the task waits for
  // the node to be idle again within YieldWindow's window. May be called before start().
  void node_busy(const std::string& node, std::string reason, double now, TaskActions& out);
  void node_idle(const std::string& node, double now, TaskActions& out);
  // The run waits for a node of the task since then: the window began there. Call it before
  // start().
  void waits_since(double since) { yield_.begin(since); }

  void cancel(std::string reason, double now, TaskActions& out);
  // The round no longer waits. The task ends as soon as its runners are gone, without another
  // attempt now.
  void give_up(std::string reason, double now, TaskActions& out);
  // The run gives a node of the task up for a while. The task ends as cancelled as soon as its
  // runners are gone, unless it has a cause of its own.
  void interrupt(std::string reason, double now, TaskActions& out);
  void tick(double now, TaskActions& out);
  // When tick() is next needed; absent when the task has ended.
  [[nodiscard]] std::optional<double> next_tick() const;

  [[nodiscard]] TaskState state() const { return state_; }
  [[nodiscard]] const TaskSpec& spec() const { return spec_; }
  [[nodiscard]] std::uint32_t attempt() const { return attempt_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }

 private:
  enum class Phase { kIdle, kPreparing, kPrepared, kRunning, kEnded, kLost };
  // The state of one rank in the current attempt.
  struct Rank {
    Phase phase = Phase::kIdle;
    bool told_cancel = false;  // a cancel is due or was sent
    bool owes_final = false;   // its agent ended it; the final record is not committed yet
    bool final_stored = false;
    std::optional<RankEnd> final{};  // outcome and reason of its final record
    std::uint32_t points = 0;
    std::optional<double> resume_by{};  // its node came back without it
    std::optional<GroupStep> said{};    // its message for the current step
    std::string place{};                // its progress by its last step; may be empty
  };
  Rank* live_rank(std::uint32_t attempt, std::uint32_t rank);
  [[nodiscard]] bool attached(std::uint32_t rank) const;
  [[nodiscard]] std::string who(std::uint32_t rank) const;  // "rank 1 on n2"
  [[nodiscard]] std::string missing() const;                // text to append, or ""
  [[nodiscard]] std::string last_place(std::uint32_t rank) const;
  [[nodiscard]] bool alive(const Rank& rank) const;
  void try_begin(double now, TaskActions& out);
  void begin_attempt(double now, TaskActions& out);
  void wait_for_idle(double now, TaskActions& out);
  bool retries_after_yield(double now);
  void go_when_prepared(TaskActions& out);
  void complete_step(double now, TaskActions& out);
  void add_cause(std::string_view outcome, std::string reason);
  void stop(std::string_view outcome, const std::string& reason, double now, TaskActions& out);
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
  std::vector<RankEnd> causes_;  // why this attempt did not pass, in order of arrival
  bool cancelled_ = false;       // by a person or by the run
  bool given_up_ = false;
  bool interrupted_ = false;
  bool unverified_ = false;  // a runner may still be there: no pass, no requeue, no "cancelled"
  bool lost_ = false;        // a rank of this attempt was lost with its node
  YieldWindow yield_;
  bool yielded_ = false;                // this attempt yielded to production work
  std::uint32_t attempts_yielded_ = 0;  // these do not count against max_attempts
  std::string cancel_outcome_;
  std::string cancel_reason_;
  RankEnd last_;  // the last attempt's end
};

}  // namespace railgauge::run
