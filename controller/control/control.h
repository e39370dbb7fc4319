// Answers the calls of control.proto: nodes, suites, plans, runs and preflight. Values in and out
// are messages, without gRPC. Called on worker threads; asks the event loop for the live state.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/control/director.h"
#include "controller/control/node_lists.h"
#include "controller/control/run_preparer.h"
#include "controller/fleet/event_loop.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/preflight_service.h"
#include "controller/nodes/pauses.h"
#include "controller/plan/suite/suite_folder.h"
#include "controller/store/store.h"

namespace railgauge {

// Records what the controller starts or cancels by itself: the act ("start_run"), its subject and
// its outcome. Must not block.
using OwnAct = std::function<void(std::string act, std::string subject, const Status& outcome)>;

// Each public function answers one call. Errors are one line for the caller: a name that does not
// exist is kInvalidArgument. Thread safe: its own state is that of pauses().
class Control {
 public:
  // All references outlive it. `site` is the site profile; the default knows no topology.
  Control(fleet::EventLoop& loop, fleet::Fleet& fleet, run::Director& director, store::Store& store,
          PreflightService& preflights, SuiteFolder suites, plan::Site site = {})
      : loop_(loop),
        fleet_(fleet),
        director_(director),
        store_(store),
        preflights_(preflights),
        suites_(std::move(suites)),
        view_(loop, fleet, store),
        preparer_(view_, store, preflights, suites_, std::move(site),
                  [this](const std::string& run_id) {
                    return loop_.call([&] { return director_.summary(run_id).has_value(); });
                  }) {}
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Nodes of the fleet, with their facts where the request asks for them.
  Result<api::NodeList> list_nodes(const api::ListNodesRequest& request);
  // A page of them in few words.
  Result<api::NodeHeads> list_node_heads(const api::NodeHeadsRequest& request);
  // Gives a node another name, because its host has one. An event says who did it. The answer is
  // the node. kFailedPrecondition: it is attached, or a run uses it. kAlreadyExists: the name is
  // taken.
  Result<api::NodeList> rename_node(const std::string& name, const std::string& new_name,
                                    const std::string& requested_by);
  // Pauses nodes for maintenance, or resumes them; pauses() has the errors. The answer is the
  // paused nodes, or those that were. kInvalidArgument: the node set names none, or none of them is
  // paused.
  Result<api::NodeList> pause_nodes(const api::PauseNodesRequest& request,
                                    const std::string& requested_by);
  Result<api::NodeList> resume_nodes(const api::ResumeNodesRequest& request,
                                     const std::string& requested_by);
  // The pauses that hold. The program around loads them before the first call and lets them end.
  Pauses& pauses() { return pauses_; }
  // The kernels of the attached nodes, in the newest version of each. kUnavailable: no node is
  // attached.
  Result<KernelList> list_kernels(const api::ListKernelsRequest& request);
  // All suites of the folder. A suite that cannot be read is listed with its error.
  Result<api::SuiteList> list_suites();
  // The problems of a suite; none: it can be planned.
  Result<api::SuiteCheck> check_suite(const api::SuiteSource& source);
  Result<std::string> suite_text(const std::string& name) const;  // the file's text, unchanged
  // The plan that start_run() would measure now. Starts nothing. A large plan takes memory, so the
  // gate of set_gate() applies.
  Result<api::RunPlan> plan_run(const api::RunRequest& request);
  // Starts a run, or queues it. With a claim the run belongs to that due time of a schedule, and
  // the errors of claim_due() (store/schedules.h) apply. The claim's number chooses the slice of a
  // suite that measures one slice a run, so n starts in a row take n slices, even if due times were
  // missed. Without a claim the slice is that of today, in UTC.
  Result<api::RunSummary> start_run(const api::RunRequest& request, const std::string& requested_by,
                                    std::optional<store::ScheduleClaim> claim = {});
  // The same for a request that came over the network: kInvalidArgument for the gate's trigger.
  Result<api::RunSummary> start_run_of_client(const api::RunRequest& request,
                                              const std::string& requested_by);
  // Cancels a run under way; an ended run stays as it ended.
  Result<api::RunSummary> cancel_run(const std::string& run_id, const std::string& requested_by);
  Result<api::RunSummary> run_summary(const std::string& run_id);
  Result<api::RunList> list_runs(const api::ListRunsRequest& request);
  Result<api::RunDetail> get_run(const std::string& run_id);
  // Stored points by run, kernel, metric, size and nodes.
  Result<api::ResultList> query_results(const api::ResultsRequest& request);
  Result<api::VersionInfo> get_version();
  // The controller's installation, with the nodes' versions, clocks and certificates.
  Result<api::Installation> get_installation();
  // Blocks until the nodes have answered or their time is over. A node that is not attached is in
  // the report with the reason.
  Result<api::PreflightReport> run_preflight(const api::PreflightRequest& request);

  // Runs begin, and are planned, only while `may_begin` succeeds. Call it before the first call.
  void set_gate(std::function<Status()> may_begin) { may_begin_ = std::move(may_begin); }
  void set_memory(RunPreparer::ClaimMemory claim) { preparer_.set_memory(std::move(claim)); }

  // Returns what the program around knows of its installation. Call it before the first call.
  void set_installation(std::function<api::Installation()> describe) {
    describe_ = std::move(describe);
  }

  // Adds a watcher to a run under way. kNotFound: the run is unknown or has ended.
  Status watch(const std::string& run_id, std::shared_ptr<run::RunWatcher> watcher);
  void unwatch(const std::string& run_id, std::shared_ptr<run::RunWatcher> watcher);

 private:
  Status admit_busy(const api::RunRequest& request, const std::vector<std::string>& nodes);
  void record_force(const api::RunRequest& request, const store::RunRow& row);
  [[nodiscard]] NodeLists::Live live_nodes() const;
  [[nodiscard]] api::SuiteList check_suites(const std::vector<KernelInfo>& kernels) const;
  void record_left_out(const std::vector<LeftOutLine>& left_out, const store::RunRow& row);

  std::function<Status()> may_begin_;            // may be empty
  std::function<api::Installation()> describe_;  // likewise
  fleet::EventLoop& loop_;
  fleet::Fleet& fleet_;  // used on the loop
  run::Director& director_;
  store::Store& store_;
  PreflightService& preflights_;
  const SuiteFolder suites_;
  // The suites as they were checked, and the kernels and texts of which they were.
  std::mutex suites_mutex_;
  FleetView::Kernels suites_kernels_{};
  std::string suites_texts_{};
  api::SuiteList checked_suites_{};
  FleetView view_;
  RunPreparer preparer_;
  Pauses pauses_{store_};
  NodeLists lists_{store_};
};

}  // namespace railgauge
