// Drives the runs of the controller: hands events of the fleet to them, and begins them as RunQueue
// decides: those whose nodes do not meet side by side, the others one after the other. Every
// function but make() is called on the event loop and does not block.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/control/run_driver.h"
#include "controller/fleet/fleet.h"
#include "controller/run/busy_nodes.h"
#include "controller/run/run_queue.h"
#include "controller/run/uplink_ledger.h"
#include "controller/store/store.h"

namespace railgauge::run {

// See run_driver.h for one run.
class Director final : public fleet::FleetListener {
 public:
  static constexpr std::size_t kMaxWaitingRuns = 16;

  // All references outlive it.
  Director(fleet::EventLoop& loop, fleet::Fleet& fleet, store::Store& store, Metrics& metrics);

  // Whether one more run would be accepted. kResourceExhausted: kMaxWaitingRuns wait already.
  // kUnavailable: the controller is stopping.
  [[nodiscard]] Status admits() const;
  // Makes the state machines of a run, for submit(). On any thread.
  std::shared_ptr<RunDriver> make(RunOrder order);
  // Takes a run that is stored as planned. It begins when it has its nodes.
  void submit(std::shared_ptr<RunDriver> run);
  // `cancelled_by`: who wanted it; "" for the controller itself. kNotFound: not under way.
  // Cancelling twice is one cancel.
  Result<api::RunSummary> cancel(const std::string& run_id, const std::string& reason,
                                 const std::string& cancelled_by = "");
  // The state of a run under way, newer than the stored one. Absent for ended runs.
  [[nodiscard]] std::optional<api::RunSummary> summary(const std::string& run_id) const;
  // A run under way or waiting that measures on the node; "" without one.
  [[nodiscard]] std::string run_with(const std::string& node) const;
  // Sends the current state as the first event. kNotFound: not under way.
  Status watch(const std::string& run_id, std::shared_ptr<RunWatcher> watcher);
  void unwatch(const std::string& run_id, const RunWatcher* watcher);
  // Cancels all runs and admits no more. The stop is complete when idle() is true.
  void stop(const std::string& reason);
  [[nodiscard]] bool idle() const { return runs_.empty(); }
  [[nodiscard]] std::size_t waiting(Priority priority) const { return queue_.waiting(priority); }
  // Call it regularly, with a monotonic time in seconds.
  void tick(double now);
  // Sets the function that is called on the loop when the end of a run is stored, and again when
  // figures of that run arrive later. It must not block. Set it before the first run.
  void on_figures(std::function<void(const std::string& run_id)> report) {
    on_figures_ = std::move(report);
  }
  // Sets the function that finds the pairs to retest for a run's suspects. It is called on the loop
  // when all planned tasks have ended. It must not block, and calls `answer` once, from any thread.
  // Set it before the first run; without it only failed groups are followed up.
  using PairsAnswer = std::function<void(std::vector<plan::WantedPair>)>;
  void on_follow_ups(std::function<void(const std::string& run_id, PairsAnswer answer)> ask) {
    ask_pairs_ = std::move(ask);
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
  void node_paused(const std::string& name, const std::string& reason) override;
  void node_unpaused(const std::string& name) override;
  void task_message(const std::string& name, api::AgentMessage message) override;
  void records_stored(const std::string& name,
                      const std::vector<fleet::StoredRecords>& stored) override;

 private:
  // The run, if its end is not stored yet; else null.
  [[nodiscard]] RunDriver* find(const std::string& run_id) const;
  [[nodiscard]] RunDriver* run_of(const api::TaskRef& ref, const std::string& node) const;
  void carry_out(const QueueActions& actions);
  void act(const BeginRun& action);
  void act(const LendNodes& action);
  void act(const ReturnNodes& action);
  void clear_loans();
  void remove(const std::string& run_id);
  void feed_tasks(const RunDriver::TaskEvent& event);
  using NodeReport = void (TaskMachine::*)(const std::string& node, double now, TaskActions& out);
  void report_node(const std::string& name, NodeReport report);
  void note_heard(const std::string& node);
  void report_held(const std::string& node);
  void report_busy();
  void cancel_strays(const std::string& node, const std::vector<api::TaskRef>& running);

  fleet::EventLoop& loop_;
  fleet::Fleet& fleet_;
  store::Store& store_;
  Metrics& metrics_;
  PendingWrites writes_;
  UplinkLedger uplinks_;
  std::map<std::string, std::shared_ptr<RunDriver>> runs_;  // whose end is not stored yet
  RunQueue queue_;
  BusyNodes busy_nodes_;
  std::function<void(const std::string&)> on_figures_ = [](const std::string&) {};
  std::function<void(const std::string&, PairsAnswer)> ask_pairs_{};
  bool stopping_ = false;
};

}  // namespace railgauge::run
