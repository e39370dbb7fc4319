// Drives one run: feeds its state machines with events and carries out their actions as messages to
// agents, rows in the store and events to watchers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/control/drill_down.h"
#include "controller/control/pending_writes.h"
#include "controller/fleet/fleet.h"
#include "controller/plan/planner.h"
#include "controller/plan/task_book.h"
#include "controller/run/round_times.h"
#include "controller/run/run_forecast.h"
#include "controller/run/run_machine.h"
#include "controller/run/run_queue.h"
#include "controller/run/task_machine.h"
#include "controller/store/store.h"

namespace railgauge {
class Metrics;
}

namespace railgauge::run {

// Follows one run. Called on the event loop; must not block.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  virtual void event(const api::RunEvent& event) = 0;
  virtual void end() = 0;  // the end of the run is committed; no event follows
};

// A run that was planned and accepted.
struct RunOrder {
  store::RunRow row;  // as it is stored; its reason begins the reason that the run ends with
  plan::PlanOutline outline;
  RoundPolicy policy{};                           // the suite's, or as the request changed it
  std::map<std::string, std::string> node_ids{};  // of the plan's nodes, by name
  LeafUplinks uplinks{};                          // of the plan's leaves, as far as they are known
  std::set<std::string> proved{};                 // nodes of a proof: used in spite of a pause
  std::string force_reason{};  // not empty: the run uses busy nodes too, and yields to nothing
};

// Asks the agent of `node` to stop the attempt `ref`. Does not block.
void cancel_attempt(fleet::Fleet& fleet, const std::string& node, const api::TaskRef& ref,
                    std::string outcome, std::string reason);

// One run under way or waiting. Every function but the constructor is called on the event loop and
// does not block. The tasks of a round are made when it begins.
class RunDriver {
 public:
  static constexpr std::size_t kMaxWatchers = 64;

  // The parts of the controller that a run acts on. All outlive the driver.
  struct Edges {
    fleet::Fleet& fleet;
    store::Store& store;
    PendingWrites& writes;
    Metrics& metrics;
    UplinkLedger& uplinks;  // of all runs under way
  };
  // Functions that the driver calls. None destroys the driver before it returns.
  struct Callbacks {
    // Asks for the pairs to retest; the answer arrives as add_follow_ups(). Empty: no pairs. Gets
    // the plan, for the planned tasks that they are made of.
    std::function<void(const plan::PlanOutline& outline)> ask_pairs{};
    // The end of the run is stored. It may be called on any thread.
    std::function<void()> end_stored{};
    // The start of an attempt is stored, or could not be; the answer is attempt_stored(). It may be
    // called on any thread.
    std::function<void(std::size_t index, std::uint32_t attempt, const Status& stored)>
        attempt_stored{};
  };

  // Any thread may call it.
  RunDriver(RunOrder order, Edges edges, Callbacks callbacks);
  RunDriver(const RunDriver&) = delete;
  RunDriver& operator=(const RunDriver&) = delete;

  [[nodiscard]] const api::RunSummary& summary() const { return summary_; }
  // The plan without its tasks.
  [[nodiscard]] const plan::Plan& plan() const { return book_.head(); }
  // Reports whether the run's end is on its way into the store. Nothing changes the run from then
  // on.
  [[nodiscard]] bool ended() const { return ended_; }

  // Sends the current state as the first event. kResourceExhausted: kMaxWatchers follow the run.
  Status watch(std::shared_ptr<RunWatcher> watcher);
  void unwatch(const RunWatcher* watcher);

  // `busy`: the production work on the fabric, "" for none.
  void start(const std::string& busy);
  // `cancelled_by`: who wanted it; "" for the controller itself. Cancelling twice is one cancel.
  void cancel(const std::string& reason, const std::string& cancelled_by);
  void set_busy(const std::string& busy);
  // Why none of its tasks may begin on the node; "" where one may.
  [[nodiscard]] std::string held_text(const std::string& node) const;
  // Lends nodes to run `to`, see RunMachine::lend().
  void lend(const std::vector<std::string>& nodes, const std::string& to);
  void take_back(const std::vector<std::string>& nodes);
  // Reports whether a task under way uses the node.
  [[nodiscard]] bool is_on(const std::string& node) const { return machine_.rounds().is_on(node); }
  // Sets what the run waits for. Watchers get a line if that is new.
  void set_waits(std::span<const RunWait> waits);
  void tick(double now);
  // Adds tasks after the rounds: retests of `pairs`, and tests of failed groups by halves.
  void add_follow_ups(std::span<const plan::WantedPair> pairs,
                      const plan::PlannedPairs& planned = {});
  // Sends what waits for the start of the attempt, or ends the attempt if it was not stored.
  void attempt_stored(std::size_t index, std::uint32_t attempt, const Status& stored);
  // Reports whether the run measures on the node, or will.
  [[nodiscard]] bool uses(const std::string& node) const;
  // Closes the run when its end is stored: reports it to the watchers and ends them.
  void finish();

  using TaskEvent = std::function<void(TaskMachine&, TaskActions&)>;
  // Feeds one event to every task under way.
  void feed_tasks(const TaskEvent& event);
  // The attempt that `ref` names, if it is under way and its rank is on `node`; else null.
  [[nodiscard]] const TaskMachine* find_attempt(const api::TaskRef& ref,
                                                const std::string& node) const;
  // Feeds one event to the task of an attempt that find_attempt() found.
  void feed_task(const std::string& task_id, const TaskEvent& event);
  // Compares stored points of a rank with the suite's limits, and feeds them to its task.
  void records_stored(const fleet::StoredRecords& rank);

 private:
  void feed(std::size_t index, const TaskEvent& event);
  void feed(const std::function<void(RunMachine&, RunActions&)>& event);
  void drive();
  void check_limits(std::size_t index, const fleet::StoredRecords& rank);
  [[nodiscard]] RankEnd judged_end(std::size_t index, const RankEnd& end) const;

  void act(const OpenRound& action);
  void act(const StartTask& action);
  void act(const GiveUpTask& action);
  void act(const CancelTaskAction& action);
  void act(const InterruptTask& action);
  void act(const SkipTask& action);
  void act(const SkipRounds& action);
  void act(const RunFinished& action);
  void act(const AddTask& action);
  void act(const WantFollowUps& action);
  void act(std::size_t index, const SendPrepare& action);
  void act(std::size_t index, const SendGo& action);
  void act(std::size_t index, const SendStep& action);
  void act(std::size_t index, const SendCancel& action);
  void act(std::size_t index, const AttemptStarted& action);
  void act(std::size_t index, const AttemptEnded& action);
  void act(std::size_t index, const TaskFinished& action);

  void add_to_plan(plan::PlannedTask task, const std::string& why);
  [[nodiscard]] api::TaskRef ref_of(std::size_t index, std::uint32_t rank) const;
  [[nodiscard]] std::string node_of(std::size_t index, std::uint32_t rank) const;
  [[nodiscard]] std::string reason_of(const std::string& machine_reason) const;
  [[nodiscard]] store::TaskUpdate task_update(std::size_t index, TaskState state) const;
  void send(std::size_t index, std::uint32_t rank, api::ControllerMessage message);
  void save(store::TaskUpdate update);
  void save(store::RunUpdate update);
  void show_state();
  void show_reason();
  void publish(const std::string& task_id, std::string text);

  const Edges edges_;
  const Callbacks callbacks_;
  RunOrder order_;
  plan::TaskBook book_;
  const std::shared_ptr<const std::map<std::string, std::string>> node_ids_;  // for other threads
  RunMachine machine_;
  RunForecast forecast_;
  RoundTimes round_times_;
  std::string waits_;                              // "waits for run ..."; "": for nothing
  std::map<std::size_t, std::uint32_t> attempts_;  // so far, of tasks that wait for another start
  std::map<std::string, double> held_since_;       // busy or paused nodes that tasks waited for
  std::map<std::size_t, std::uint32_t> interruptions_;  // attempts that do not count, likewise
  // Loans that are over, and nodes that are lent with the time of the loan on the monotonic clock.
  std::vector<std::string> loans_;
  std::map<std::string, double> lent_since_;
  std::map<std::string, std::size_t> index_of_;  // of tasks under way, by id
  std::map<std::size_t, TaskMachine> active_;    // tasks under way, by index
  // Messages of an attempt whose start is not committed: an agent that had them could deliver
  // records of an attempt that the store does not know after a crash.
  struct Held {
    std::uint32_t attempt = 0;
    std::vector<std::pair<std::uint32_t, api::ControllerMessage>> messages{};  // by rank, in order
  };
  std::map<std::size_t, Held> held_;  // by index of the task
  // The first limit of the suite that a point of the attempt under way is beyond, by task.
  std::map<std::size_t, std::string> beyond_;
  std::deque<std::pair<std::size_t, TaskAction>> task_actions_;
  std::deque<RunAction> run_actions_;
  DrillDown drill_down_;
  api::RunSummary summary_;
  std::vector<std::shared_ptr<RunWatcher>> watchers_;
  bool driving_ = false;  // drive() is on the stack
  bool ended_ = false;
  std::string cancelled_by_;  // who cancelled it first
  store::RunUpdate end_;      // reported by finish() once it is stored
  bool finished_ = false;
};

}  // namespace railgauge::run
