// Decides which tasks may be under way: rounds in order, leases of endpoints, caps, kindness to
// neighbours, the end of a round, and the leftovers after all rounds. Takes events and the time,
// returns actions; uses no clock, socket or file. Only tasks of the open round, leftovers and those
// under way are in memory.
//
// Invariants, whatever the order of events: No endpoint is in two tasks under way. No cap is
// exceeded. A hung task holds only its own endpoints once its round has closed. While the fabric is
// busy, no task begins that kindness forbids. Leftovers of two stages never run together. No task
// begins on a node that is lent to another run, or loads uplinks beyond what UplinkLedger allows.
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

#include "controller/plan/policy/policy.h"
#include "controller/run/run_task.h"
#include "controller/run/task_source.h"
#include "controller/run/uplink_ledger.h"

namespace railgauge::run {

struct StartTask {
  std::size_t index;
};
// The round no longer waits for the task. The owner ends the task and reports that with ended().
struct GiveUpTask {
  std::size_t index;
  std::string reason{};
};
// The task ends without a start.
struct SkipTask {
  std::size_t index;
  std::string outcome{};  // "waived", "cancelled"
  std::string reason{};
};
// A round begins: its tasks are made from now on. Actions on them follow.
struct OpenRound {
  std::uint32_t round;
  std::shared_ptr<const std::vector<IndexedTask>> tasks{};
};
// No task of these rounds of one stage is ever made; all of them end like this.
struct SkipRounds {
  std::vector<std::uint32_t> rounds{};
  std::uint32_t stage = 0;
  std::size_t tasks = 0;
  std::string outcome{};  // "waived", "cancelled"
  std::string reason{};
};
using EngineAction = std::variant<OpenRound, StartTask, GiveUpTask, SkipTask, SkipRounds>;
using EngineActions = std::vector<EngineAction>;

// The rounds of one run. Not thread safe. Times are seconds of a monotonic clock; indices are those
// of the source, and added tasks follow.
class RoundEngine {
 public:
  // Added to a task's own deadline when the policy sets no deadline for the round: agents end their
  // runners at the deadline and report the end within this time.
  static constexpr double kDeadlineSlackSeconds = 15;

  // Most tasks that one poll() ends without a start: rounds of waived tasks are reported in parts,
  // so that a million of them do not hold the caller for seconds.
  static constexpr std::size_t kMostSkippedAtOnce = 4'096;

  RoundEngine(std::shared_ptr<const TaskSource> source, RoundPolicy policy,
              const LeafUplinks& uplinks);

  // Shares uplinks with other runs from start() on. The ledger outlives the engine, and knows the
  // run from start() to its last end.
  void share_uplinks(UplinkLedger& ledger, std::string run_id);
  // Opens the first round. Call it once.
  void start(double now);
  // Adds a copy of the task `like`, between other ends, to the leftovers. Returns its index.
  std::size_t add(std::size_t like, const std::vector<std::string>& endpoints,
                  const std::vector<std::string>& leaves);
  // Adds a new task to the leftovers. Returns its index.
  std::size_t add(const RunTaskSpec& spec);
  // Records the end of a task under way. With `retry`, the task waits among the leftovers for
  // another start.
  void ended(std::size_t index, bool retry, double now);
  // Removes a waiting task: it is never started.
  void drop(std::size_t index);
  // Removes all tasks that wait, of one stage or of all, and never opens their rounds. Each ends
  // with this outcome and reason.
  void drop_waiting(std::optional<std::uint32_t> stage, std::string_view outcome,
                    const std::string& reason, EngineActions& out);
  // Sets the production work on the fabric. People see `who`; "": no node is busy.
  void set_busy(std::string who);
  // Lends nodes to another run, which people see as `who`: no task begins on them until they are
  // back, and the time that they are away does not count in the budgets of their stages. Tasks
  // under way there are the owner's to end. The nodes are of the run.
  void lend(const std::vector<std::string>& nodes, const std::string& who, double now);
  void take_back(const std::vector<std::string>& nodes, double now);
  // Withdraws the claim on uplinks: the run begins no task any more.
  void withdraw_claim();
  // Decides which tasks begin and which are given up. Call after each function above, and
  // regularly.
  void poll(double now, EngineActions& out);

  // Whether the task was made and has not begun, or is left over.
  [[nodiscard]] bool is_waiting(std::size_t index) const;
  [[nodiscard]] bool is_under_way(std::size_t index) const;
  // The stage of a task that waits or is under way.
  [[nodiscard]] std::uint32_t stage_of(std::size_t index) const { return tasks_.at(index).stage; }
  // All tasks under way, by index.
  [[nodiscard]] std::vector<std::size_t> under_way() const;
  // Whether a task under way uses the node.
  [[nodiscard]] bool is_on(const std::string& node) const;
  // The tasks under way on any of the nodes.
  [[nodiscard]] std::vector<std::size_t> under_way_on(const std::vector<std::string>& nodes) const;
  [[nodiscard]] std::uint32_t rounds_total() const { return source_->rounds(); }
  [[nodiscard]] std::uint32_t rounds_begun() const { return next_round_; }
  [[nodiscard]] bool in_leftovers() const { return phase_ == Phase::kLeftovers; }
  [[nodiscard]] std::size_t leftovers() const { return leftovers_.size(); }
  // Returns the reason why no waiting task may begin; "" if none is held back.
  [[nodiscard]] const std::string& held_by() const { return held_by_; }

 private:
  // Numbers for names, in order of their appearance.
  class Names {
   public:
    std::uint32_t operator()(const std::string& name) {
      return numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
    }
    // The numbers of `texts` without duplicates: both ranks of a loopback task use one port.
    std::vector<std::uint32_t> operator()(const std::vector<std::string>& texts);
    [[nodiscard]] std::size_t size() const { return numbers_.size(); }
    [[nodiscard]] std::optional<std::uint32_t> find(const std::string& name) const {
      const auto found = numbers_.find(name);
      return found == numbers_.end() ? std::nullopt : std::optional(found->second);
    }

   private:
    std::map<std::string, std::uint32_t> numbers_;
  };
  // kSettling is the pause before a round.
  enum class Phase : std::uint8_t { kPlanned, kRound, kSettling, kLeftovers };
  enum class State : std::uint8_t { kWaiting, kStarted, kGivenUp, kLeftOver };
  // Why a task may not begin now.
  enum class Hold : std::uint8_t { kNone, kLease, kLent, kCap, kKindness, kUplinks };
  struct Task {
    std::uint32_t stage = 0;
    std::vector<std::uint32_t> endpoints{};
    std::vector<std::uint32_t> leaves{};
    std::uint32_t nodes = 1;
    bool loads_fabric = false;
    double load_bits_per_second = 0;
    double limit_seconds = 0;  // from its start; after that its round no longer waits for it
    double expected_seconds = 0;
    State state = State::kWaiting;
    double started_at = 0;
  };
  // The load under one leaf switch.
  struct Leaf {
    std::string name{};
    std::uint32_t tasks = 0;
    std::uint32_t loading = 0;  // tasks that load the fabric
    double leaving_bits_per_second = 0;
    std::optional<double> uplinks_bits_per_second{};
  };
  struct Node {
    std::uint32_t tasks = 0;             // under way
    std::string lent_to{};               // "": not lent
    std::optional<double> lent_since{};  // while it is lent
    double lent_seconds = 0;             // before that
  };

  [[nodiscard]] Task task_of(const RunTaskSpec& spec);
  std::size_t add_leftover(Task task);
  [[nodiscard]] Hold hold_of(const Task& task) const;
  [[nodiscard]] bool is_kind(const Task& task) const;
  [[nodiscard]] bool loads_uplinks(const Task& task) const;
  [[nodiscard]] std::vector<std::string> leaf_texts(const Task& task) const;
  [[nodiscard]] bool may_load_uplinks(const Task& task) const;
  [[nodiscard]] bool is_lent(const Task& task) const;
  [[nodiscard]] double seconds_lent(const Task& task, double now) const;
  [[nodiscard]] std::string who_holds() const;
  [[nodiscard]] bool budget_is_over(std::uint32_t stage, double away, double now) const;
  [[nodiscard]] bool budget_is_spent(const Task& task, double now) const;
  [[nodiscard]] std::string spent_words(std::uint32_t stage) const;
  [[nodiscard]] std::string why_unkind(const Task& task) const;
  void place(Task& task, const std::vector<std::string>& endpoints,
             const std::vector<std::string>& leaves);
  void open_next(double now, EngineActions& out);
  void open(std::uint32_t round, EngineActions& out);
  void close_round(double now);
  bool is_over(double now, EngineActions& out);
  void give_up(std::size_t index, std::string reason, EngineActions& out);
  void give_up_late_ones(double now, EngineActions& out);
  [[nodiscard]] std::size_t quorum_of_round() const;
  bool launch(std::size_t index, double now, EngineActions& out);
  void launch_pending(double now, EngineActions& out);
  void count(const Task& task, bool begins);
  void work_off_leftovers(double now, EngineActions& out);
  bool launch_leftovers(double now, EngineActions& out);
  void poll_phase(double now, EngineActions& out);

  std::shared_ptr<const TaskSource> source_;
  std::unordered_map<std::size_t, Task> tasks_;  // that wait or are under way
  std::size_t next_index_;                       // of an added task
  RoundPolicy policy_;
  const LeafUplinks uplinks_;
  Names endpoint_names_;
  Names leaf_names_;
  std::vector<bool> dropped_rounds_;
  std::vector<char> leased_;  // by endpoint
  Names node_names_;
  std::vector<std::uint32_t> node_of_;  // by endpoint
  std::vector<Node> nodes_;
  std::uint32_t lent_nodes_ = 0;
  bool was_lent_ = false;  // a node of the run, at any time
  std::vector<Leaf> leaves_;
  std::map<std::uint32_t, double> stage_started_at_;
  std::string busy_;
  std::string held_by_;
  Phase phase_ = Phase::kPlanned;
  std::uint32_t next_round_ = 0;
  std::size_t skipped_ = 0;           // in this poll
  std::vector<std::size_t> pending_;  // of the open round
  std::set<std::size_t> running_;     // of the open round
  std::size_t round_size_ = 0;
  std::size_t round_ended_ = 0;
  double round_started_at_ = 0;
  std::optional<double> quorum_at_;
  double settle_until_ = 0;
  std::set<std::pair<std::uint32_t, std::size_t>> leftovers_;  // stage, index
  std::uint32_t leftover_stage_ = 0;
  std::optional<double> held_since_;  // leftovers, by kindness alone
  std::uint32_t under_way_ = 0;
  UplinkLedger* ledger_ = nullptr;  // null: not shared
  std::string run_id_;
  std::map<std::string, double> refused_;  // loads that the ledger refused in this poll, by leaf
};

}  // namespace railgauge::run
