// Answers the calls of control.proto: nodes, suites, plans, runs and preflight. Values in and out
// are messages, without gRPC. Called on worker threads; asks the event loop for the live state.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/api/control.pb.h"
#include "controller/control/director.h"
#include "controller/fleet/event_loop.h"
#include "controller/fleet/fleet.h"
#include "controller/fleet/preflight_desk.h"
#include "controller/plan/planner.h"
#include "controller/plan/suite/suite_folder.h"
#include "controller/store/store.h"

namespace railgauge {

// Each public function answers one call. Thread safe: it has no state of its own beside constants.
class Control {
 public:
  // All references outlive it.
  Control(fleet::EventLoop& loop, fleet::Fleet& fleet, run::Director& director, store::Store& store,
          PreflightDesk& preflights, SuiteFolder suites, plan::Site site = {})
      : loop_(loop),
        fleet_(fleet),
        director_(director),
        store_(store),
        preflights_(preflights),
        suites_(std::move(suites)),
        site_(std::move(site)) {}

  // Nodes of the fleet, with their facts where the request asks for them.
  Result<api::NodeList> list_nodes(const api::ListNodesRequest& request);
  Result<KernelList> list_kernels(const api::ListKernelsRequest& request);
  Result<api::SuiteList> list_suites();
  Result<api::SuiteCheck> check_suite(const api::SuiteSource& source);
  Result<std::string> suite_text(const std::string& name) const;  // the file as it is
  Result<api::RunPlan> plan_run(const api::RunRequest& request);
  // Starts a run, or takes it into the queue. With a claim the run belongs to that due time of a
  // schedule, and the errors of claim_due() (store/schedules.h) apply. The number of the claim
  // chooses the slice of a suite that measures a slice a run, so n starts in a row take n slices
  // even where some due times were missed. Without a claim the slice is that of today, in UTC.
  Result<api::RunSummary> start_run(const api::RunRequest& request, const std::string& requested_by,
                                    std::optional<store::ScheduleClaim> claim = {});
  Result<api::RunSummary> cancel_run(const std::string& run_id, const std::string& requested_by);
  Result<api::RunSummary> run_summary(const std::string& run_id);
  Result<api::RunList> list_runs(const api::ListRunsRequest& request);
  Result<api::RunDetail> get_run(const std::string& run_id);
  Result<api::ResultList> query_results(const api::ResultsRequest& request);
  Result<api::VersionInfo> get_version();
  // Blocks until the nodes have answered or their time is over. A node that is not attached is in
  // the report with the reason.
  Result<api::PreflightReport> run_preflight(const api::PreflightRequest& request);

  // Adds a watcher to a run under way. kNotFound: the run is unknown or has ended.
  Status watch(const std::string& run_id, std::shared_ptr<run::RunWatcher> watcher);
  void unwatch(const std::string& run_id, std::shared_ptr<run::RunWatcher> watcher);

 private:
  struct LeftOut {                     // nodes that were asked for and are not in the plan
    std::vector<std::string> asked{};  // with those that are in it; none: any that is there
    std::vector<std::string> absent{};
    std::map<std::string, std::string> busy{};  // with what
    std::vector<std::string> refused{};         // by preflight: node and reason
  };
  // Input of a plan beside the request.
  struct PlanFor {
    std::uint64_t night = 0;              // chooses the slice, where the suite's text does not
    std::vector<std::string> slice_of{};  // nodes; none: those that are asked for
    bool is_rest = false;                 // all nodes stay in the plan, whoever can be used
    std::map<std::string, std::string> unusable{};  // of a rest: nodes, each with the reason
  };
  struct Prepared {  // a plan and what it was made from
    plan::PlanOutline outline;
    std::string suite_text;
    LeftOut left_out;
    run::LeafUplinks uplinks;
    PlanFor made_for;  // with what was found out
  };
  // The plan of a run, and the earlier run that it resumes ("": none).
  struct ToRun {
    Prepared prepared;
    plan::Plan plan;
    std::string rest_of{};
  };
  using Nodes = std::map<std::string, fleet::NodeState>;

  Nodes nodes();
  Result<std::vector<std::string>> known_names(const Nodes& live);
  Result<Nodes> all_nodes();  // also those that have not attached in this controller's life
  Result<Nodes> nodes_to_use(const api::RunRequest& request, std::vector<std::string>& order,
                             LeftOut& left_out);
  Result<Nodes> nodes_of_rest(const api::RunRequest& request, PlanFor& made_for,
                              std::vector<std::string>& order, LeftOut& left_out);
  Status admit_busy(const api::RunRequest& request, const std::vector<std::string>& nodes);
  void record_force(const api::RunRequest& request, const store::RunRow& row);
  Result<Prepared> prepare(const api::RunRequest& request, PlanFor made_for);
  Result<Prepared> prepare_admitted(const api::RunRequest& request, PlanFor made_for);
  Result<ToRun> to_run(const api::RunRequest& request, std::uint64_t night);
  Result<ToRun> rest_of(const api::RunRequest& request);
  void tell_left_out(const LeftOut& left_out, const store::RunRow& row);
  static std::uint64_t day_of(double unix_seconds);  // since 1970, in UTC
  static std::uint64_t today();
  static plan::SliceOrigin night_of(const plan::Suite& suite, const PlanFor& made_for,
                                    const LeftOut& left_out, const Nodes& all);
  Result<plan::PlanOptions> plan_options(const plan::Suite& suite, const Nodes& nodes) const;

  fleet::EventLoop& loop_;
  fleet::Fleet& fleet_;
  run::Director& director_;
  store::Store& store_;
  PreflightDesk& preflights_;
  const SuiteFolder suites_;
  const plan::Site site_;
};

}  // namespace railgauge
