// Drives runs: feeds the state machines with the reports of the fleet and carries out their
// actions. One run is measured at a time and the others wait in order, because two runs at once
// would measure each other. Every function is called on the event loop and does not block.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/control/drill_down.h"
#include "controller/fleet/fleet.h"
#include "controller/plan/planner.h"
#include "controller/run/busy_nodes.h"
#include "controller/run/run_forecast.h"
#include "controller/run/run_machine.h"
#include "controller/run/task_machine.h"
#include "controller/store/store.h"

namespace railgauge {
class Metrics;
}

namespace railgauge::run {

// Follows one run; called on the loop, must not block.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  virtual void event(const api::RunEvent& event) = 0;
  virtual void end() = 0;  // the run's end is committed; nothing follows
};

// A run that was planned and accepted.
struct RunOrder {
  std::string run_id;
  std::string trigger;
  std::string requested_by;
  double created_at = 0;  // unix seconds
  plan::Plan plan;
  LeafUplinks uplinks{};       // of the plan's leaves, as far as they are known
  std::string force_reason{};  // not empty: the run uses busy nodes too, and yields to nothing
  std::string why{};           // start of the run's reason: the run that it resumes
};

class Director final : public fleet::FleetListener {
 public:
  static constexpr std::size_t kMaxWaitingRuns = 16;
  static constexpr std::size_t kMaxWatchers = 64;  // of one run

  Director(fleet::EventLoop& loop, fleet::Fleet& fleet, store::Store& store, Metrics& metrics);

  // Whether one more run would be accepted: kResourceExhausted, kUnavailable while stopping.
  [[nodiscard]] Status admits() const;
  // Takes a run that the store has as planned. It begins when the runs before it have ended.
  void submit(RunOrder order);
  // kNotFound: not under way. Cancelling twice is one cancel.
  Result<api::RunSummary> cancel(const std::string& run_id, const std::string& reason);
  // The state of a run under way, newer than the store's. Absent for ended runs.
  [[nodiscard]] std::optional<api::RunSummary> summary(const std::string& run_id) const;
  // The current state as the first event. kNotFound: not under way.
  Status watch(const std::string& run_id, std::shared_ptr<RunWatcher> watcher);
  void unwatch(const std::string& run_id, const RunWatcher* watcher);
  // Cancels everything and admits nothing more. The stop is complete when idle() is true.
  void stop(const std::string& reason);
  [[nodiscard]] bool idle() const { return runs_.empty(); }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  void tick(double now);
  // Sets the function that is called on the loop when the end of a run is in the store, and again
  // when figures of that run arrive later. It must not block. Set it before the first run.
  void on_figures(std::function<void(const std::string& run_id)> told) {
    on_figures_ = std::move(told);
  }
  // Sets the function that finds the pairs to retest for a run's suspects. It is called on the loop
  // when all planned tasks have ended, must not block, and calls `answer` once, from any thread.
  // Set it before the first run; without it only failed groups are followed up.
  using PairsAnswer = std::function<void(std::vector<plan::WantedPair>)>;
  void on_follow_ups(std::function<void(const std::string& run_id, PairsAnswer answer)> asked) {
    ask_pairs_ = std::move(asked);
  }
  // Records that production work keeps the node busy (`why`, one line), or that it no longer does.
  // While any node of the fabric is busy, runs keep to the suite's limits of kindness, also runs
  // that do not use that node.
  void note_busy(const std::string& node, const std::string& why);
  void note_idle(const std::string& node);

  void node_attached(const std::string& name, const std::vector<api::TaskRef>& running) override;
  void node_resumed(const std::string& name, const std::vector<api::TaskRef>& running) override;
  void node_detached(const std::string& name) override;
  void node_lost(const std::string& name) override;
  void node_busy(const std::string& name, const std::string& reason) override;
  void node_idle(const std::string& name) override;
  void task_message(const std::string& name, api::AgentMessage message) override;
  void records_stored(const std::string& name,
                      const std::vector<fleet::StoredRecords>& stored) override;

 private:
  // A run under way or waiting, with the machines that drive it.
  struct Run {
    Run(RunOrder ordered, const std::map<std::string, fleet::NodeState>& nodes);
    RunOrder order;
    RunMachine machine;
    RunForecast forecast;
    std::map<std::size_t, std::uint32_t> attempts;  // so far, of tasks that wait for another start
    std::map<std::string, std::size_t> index_of;    // by task id
    std::map<std::size_t, TaskMachine> active;      // tasks under way, by index
    // The first limit of the suite that a point of the attempt under way is beyond, by task.
    std::map<std::size_t, std::string> beyond;
    std::deque<std::pair<std::size_t, TaskAction>> task_actions;
    std::deque<RunAction> run_actions;
    DrillDown drill_down;
    api::RunSummary summary;
    std::vector<std::shared_ptr<RunWatcher>> watchers;
    bool driving = false;  // drive() is on the stack
    bool ended = false;    // its end is on the way into the store
    store::RunUpdate end;  // reported by finalize() once it is stored
    bool finalized = false;
  };

  Run* find(const std::string& run_id) const;
  // The task that `ref` names, if that attempt is under way and its rank is on `node`; else nulls.
  std::pair<Run*, TaskMachine*> find_task(const api::TaskRef& ref, const std::string& node) const;
  template <class Event>
  void for_active_tasks(Event event);
  void feed(Run& run, std::size_t index,
            const std::function<void(TaskMachine&, TaskActions&)>& event);
  void feed(Run& run, const std::function<void(RunMachine&, RunActions&)>& event);
  void drive(Run& run);
  static void judge(Run& run, std::size_t index, const fleet::StoredRecords& rank);
  static RankEnd judged_end(const Run& run, std::size_t index, const RankEnd& end);
  static void show_state(Run& run);
  void note_heard(const std::string& node);
  void tell_busy();
  void start_next();
  void cancel_strays(const std::string& node, const std::vector<api::TaskRef>& running);
  void send_cancel(const std::string& node, const api::TaskRef& ref, std::string outcome,
                   std::string reason);

  void act(Run& run, const StartTask& action);
  void act(Run& run, const GiveUpTask& action);
  void act(Run& run, const CancelTaskAction& action);
  void act(Run& run, const SkipTask& action);
  void act(Run& run, const RunFinished& action);
  void act(Run& run, const AddTask& action);
  void act(Run& run, const WantFollowUps& action);
  void add_follow_ups(Run& run, const std::vector<plan::WantedPair>& pairs);
  void add_to_plan(Run& run, plan::PlannedTask task, const std::string& why);
  void act(Run& run, std::size_t index, const SendPrepare& action);
  void act(Run& run, std::size_t index, const SendGo& action);
  void act(Run& run, std::size_t index, const SendStep& action);
  void act(Run& run, std::size_t index, const SendCancel& action);
  void act(Run& run, std::size_t index, const AttemptStarted& action);
  void act(Run& run, std::size_t index, const AttemptEnded& action);
  void act(Run& run, std::size_t index, const TaskFinished& action);
  void finalize(const std::string& run_id);

  api::TaskRef ref_of(const Run& run, std::size_t index, std::uint32_t rank) const;
  const std::string& node_of(const Run& run, std::size_t index, std::uint32_t rank) const;
  void tell(Run& run, const std::string& task_id, std::string text);
  void save(std::function<Status()> write);
  void save_pending();
  void save_task(const Run& run, std::size_t index, std::string_view state);
  void save_cancel(const Run& run, const std::string& reason);

  fleet::EventLoop& loop_;
  fleet::Fleet& fleet_;
  store::Store& store_;
  Metrics& metrics_;
  std::map<std::string, std::unique_ptr<Run>> runs_;  // not ended yet
  std::deque<std::string> waiting_;                   // planned ones, in order
  std::string active_;                                // "" when none is under way
  BusyNodes busy_nodes_;
  std::deque<std::function<Status()>> unsaved_;  // writes that the store could not take yet
  std::function<void(const std::string&)> on_figures_ = [](const std::string&) {};
  std::function<void(const std::string&, PairsAnswer)> ask_pairs_{};
  bool stopping_ = false;
};

}  // namespace railgauge::run
