#include "controller/cli/testing/fake_control.h"

#include <chrono>
#include <thread>

#include "controller/api/control.grpc.pb.h"
#include "controller/cli/testing/fake_status.h"
#include "controller/cli/testing/samples.h"

namespace railgauge::cli {

using namespace railgauge::api;

namespace {

// The fake's answers behind the generated service.
class ControlService final : public FakeControl, public api::Control::Service {
 public:
  grpc::Service& service() override { return *this; }

  using Context = grpc::ServerContext;
  template <class T>
  using Writer = grpc::ServerWriter<T>;
  grpc::Status ListNodes(Context* context, const ListNodesRequest* request,
                         NodeList* answer) override;
  grpc::Status ListKernels(Context* context, const ListKernelsRequest* request,
                           railgauge::KernelList* answer) override;
  grpc::Status ListSuites(Context* context, const ListSuitesRequest* request,
                          SuiteList* answer) override;
  grpc::Status CheckSuite(Context* context, const SuiteSource* request,
                          SuiteCheck* answer) override;
  grpc::Status PlanRun(Context* context, const RunRequest* request, RunPlan* answer) override;
  grpc::Status StartRun(Context* context, const RunRequest* request, RunSummary* answer) override;
  grpc::Status WatchRun(Context* context, const RunRef* request, Writer<RunEvent>* writer) override;
  grpc::Status CancelRun(Context* context, const RunRef* request, RunSummary* answer) override;
  grpc::Status ListRuns(Context* context, const ListRunsRequest* request, RunList* answer) override;
  grpc::Status GetRun(Context* context, const RunRef* request, RunDetail* answer) override;
  grpc::Status QueryResults(Context* context, const ResultsRequest* request,
                            ResultList* answer) override;
  grpc::Status GetVersion(Context* context, const VersionRequest* request,
                          VersionInfo* answer) override;
  grpc::Status RenameNode(Context* context, const RenameNodeRequest* request,
                          NodeList* answer) override;
  grpc::Status PauseNodes(Context* context, const PauseNodesRequest* request,
                          NodeList* answer) override;
  grpc::Status ResumeNodes(Context* context, const ResumeNodesRequest* request,
                           NodeList* answer) override;
  grpc::Status ListSchedules(Context* context, const ListSchedulesRequest* request,
                             ScheduleList* answer) override;
  grpc::Status AddSchedule(Context* context, const ScheduleSpec* request,
                           ScheduleInfo* answer) override;
  grpc::Status PauseSchedule(Context* context, const ScheduleRef* request,
                             ScheduleInfo* answer) override;
  grpc::Status ResumeSchedule(Context* context, const ScheduleRef* request,
                              ScheduleInfo* answer) override;
  grpc::Status RemoveSchedule(Context* context, const ScheduleRef* request,
                              ScheduleInfo* answer) override;
  grpc::Status RunSchedule(Context* context, const ScheduleRef* request,
                           RunSummary* answer) override;
  grpc::Status GetInstallation(Context* context, const InstallationRequest* request,
                               Installation* answer) override;
  grpc::Status RunPreflight(Context* context, const PreflightRequest* request,
                            PreflightReport* answer) override;

 private:
  grpc::Status change(const char* verb, const ScheduleRef& ref, ScheduleInfo& answer);
};

}  // namespace

std::unique_ptr<FakeControl> FakeControl::create() { return std::make_unique<ControlService>(); }

FakeControl::FakeControl()
    : nodes(sample_nodes()),
      kernels(sample_kernels()),
      suites(sample_suites()),
      check(sample_check()),
      plan(sample_plan()),
      detail(sample_detail()),
      results(sample_results()),
      version(sample_version()),
      schedules(sample_schedules()),
      preflight(sample_preflight()),
      installation(sample_installation()) {
  runs.set_schema_version(1);
  *runs.add_runs() = sample_run();
}

RunRequest FakeControl::last_request() const {
  const std::scoped_lock lock(mutex_);
  return last_request_;
}

ResultsRequest FakeControl::last_results() const {
  const std::scoped_lock lock(mutex_);
  return last_results_;
}

ScheduleSpec FakeControl::last_schedule() const {
  const std::scoped_lock lock(mutex_);
  return last_schedule_;
}

std::string FakeControl::last_change() const {
  const std::scoped_lock lock(mutex_);
  return last_change_;
}

PauseNodesRequest FakeControl::last_pause() const {
  const std::scoped_lock lock(mutex_);
  return last_pause_;
}

PreflightRequest FakeControl::last_preflight() const {
  const std::scoped_lock lock(mutex_);
  return last_preflight_;
}

int FakeControl::starts() const {
  const std::scoped_lock lock(mutex_);
  return starts_;
}

int FakeControl::cancels() const {
  const std::scoped_lock lock(mutex_);
  return cancels_;
}

bool FakeControl::wait_until_watched(double seconds) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return watches_ > 0; });
}

grpc::Status ControlService::ListNodes(Context* context, const ListNodesRequest* request,
                                       NodeList* answer) {
  const auto until =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(nodes_delay_seconds);
  while (std::chrono::steady_clock::now() < until && !context->IsCancelled())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  answer->set_schema_version(1);
  for (const NodeInfo& node : nodes.nodes())
    if (request->node_set().empty() || request->node_set() == node.name() ||
        request->node_set() == "all")
      *answer->add_nodes() = node;
  return {};
}

grpc::Status ControlService::ListKernels(Context*, const ListKernelsRequest* request,
                                         KernelList* answer) {
  answer->set_schema_version(1);
  for (const KernelInfo& kernel : kernels.kernels())
    if (request->name().empty() || request->name() == kernel.name())
      *answer->add_kernels() = kernel;
  return {};
}

grpc::Status ControlService::ListSuites(Context*, const ListSuitesRequest*, SuiteList* answer) {
  *answer = suites;
  return {};
}

grpc::Status ControlService::CheckSuite(Context*, const SuiteSource*, SuiteCheck* answer) {
  *answer = check;
  return {};
}

grpc::Status ControlService::PlanRun(Context*, const RunRequest* request, RunPlan* answer) {
  const std::scoped_lock lock(mutex_);
  last_request_ = *request;
  *answer = plan;
  return to_grpc(plan_status);
}

RunSummary FakeControl::summary(const std::string& state) const {
  RunSummary run = sample_run();
  run.set_state(state);
  if (tasks_total) run.set_tasks_total(*tasks_total);
  if (state == "ended") {
    run.set_outcome(cancelled_ ? "cancelled" : outcome);
    if (run.outcome() != "passed") {
      run.mutable_outcomes()->clear();
      (*run.mutable_outcomes())[run.outcome()] = 2;
    }
    run.set_findings_confirmed(confirmed);
    return run;
  }
  run.clear_outcome();
  run.clear_outcomes();
  run.clear_ended_at();
  run.set_tasks_ended(0);
  return run;
}

grpc::Status ControlService::StartRun(Context*, const RunRequest* request, RunSummary* answer) {
  const std::scoped_lock lock(mutex_);
  last_request_ = *request;
  ++starts_;
  *answer = summary("planned");
  return {};
}

grpc::Status ControlService::WatchRun(Context* context, const RunRef*, Writer<RunEvent>* writer) {
  const auto tell = [&](const RunSummary& run, const std::string& text,
                        const std::string& task_id = "") {
    RunEvent event;
    *event.mutable_run() = run;
    event.set_task_id(task_id);
    event.set_text(text);
    writer->Write(event);
  };
  std::unique_lock lock(mutex_);
  RunSummary run = summary("running");
  tell(run, "n1 to n2: verbs.write_lat running");
  if (broken_watches > 0) {
    --broken_watches;
    return {grpc::StatusCode::UNAVAILABLE, "Socket closed"};
  }
  run.set_tasks_ended(1);
  tell(run, "n1 to n2: verbs.write_lat passed");
  // One more task that failed each time.
  for (const std::string& text : failures) {
    (*run.mutable_outcomes())["failed"] += 1;
    tell(run, text, text.substr(0, text.find(' ')));
  }
  ++watches_;
  changed_.notify_all();
  while (endless && !cancelled_) {
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
    changed_.wait_for(lock, std::chrono::milliseconds(10));
  }
  run = summary("ended");
  run.clear_outcome();  // all tasks have ended, the outcome is not stored yet
  run.clear_ended_at();
  tell(run, "n1 to n2: verbs.write_bw passed");
  tell(summary("ended"), summary("ended").outcome());
  return {};
}

grpc::Status ControlService::CancelRun(Context*, const RunRef*, RunSummary* answer) {
  const std::scoped_lock lock(mutex_);
  ++cancels_;
  *answer = summary("cancelling");
  cancelled_ = !deaf_to_cancel;
  changed_.notify_all();
  return {};
}

grpc::Status ControlService::ListRuns(Context*, const ListRunsRequest*, RunList* answer) {
  *answer = runs;
  return {};
}

grpc::Status ControlService::GetRun(Context*, const RunRef* request, RunDetail* answer) {
  const std::scoped_lock lock(mutex_);
  if (request->run_id() != kSampleRun)
    return {grpc::StatusCode::NOT_FOUND, "run " + request->run_id() + ": there is no such run"};
  *answer = detail;
  *answer->mutable_run() = summary(endless && !cancelled_ ? "running" : "ended");
  for (TaskDetail& task : *answer->mutable_tasks()) {
    if (answer->run().outcome() == "passed") continue;
    task.set_outcome(answer->run().outcome());
    task.set_reason("made up for this test");
  }
  return {};
}

grpc::Status ControlService::QueryResults(Context*, const ResultsRequest* request,
                                          ResultList* answer) {
  const std::scoped_lock lock(mutex_);
  last_results_ = *request;
  *answer = results;
  return {};
}

grpc::Status ControlService::GetVersion(Context*, const VersionRequest*, VersionInfo* answer) {
  *answer = version;
  return {};
}

grpc::Status ControlService::RenameNode(Context*, const RenameNodeRequest* request,
                                        NodeList* answer) {
  const std::scoped_lock lock(mutex_);
  answer->set_schema_version(nodes.schema_version());
  *answer->add_nodes() = nodes.nodes(0);
  answer->mutable_nodes(0)->set_name(request->new_name());
  return {};
}

// The first node, paused as asked for, an hour long.
grpc::Status ControlService::PauseNodes(Context*, const PauseNodesRequest* request,
                                        NodeList* answer) {
  const std::scoped_lock lock(mutex_);
  last_pause_ = *request;
  answer->set_schema_version(nodes.schema_version());
  NodeInfo& node = *answer->add_nodes() = nodes.nodes(0);
  NodePause& pause = *node.mutable_pause();
  pause.set_reason(request->reason());
  pause.set_who("ann");
  pause.set_since_at("2026-11-20T12:00:00Z");
  pause.set_until_at("2026-11-20T13:00:00Z");
  return {};
}

grpc::Status ControlService::ResumeNodes(Context*, const ResumeNodesRequest* request,
                                         NodeList* answer) {
  const std::scoped_lock lock(mutex_);
  last_change_ = "resume " + request->node_set();
  answer->set_schema_version(nodes.schema_version());
  *answer->add_nodes() = nodes.nodes(0);
  return {};
}

grpc::Status ControlService::ListSchedules(Context*, const ListSchedulesRequest* request,
                                           ScheduleList* answer) {
  const std::scoped_lock lock(mutex_);
  *answer = schedules;
  if (request->name().empty())
    for (ScheduleInfo& schedule : *answer->mutable_schedules()) schedule.clear_dues();
  else
    answer->mutable_schedules()->DeleteSubrange(1, answer->schedules_size() - 1);
  return {};
}

grpc::Status ControlService::AddSchedule(Context*, const ScheduleSpec* request,
                                         ScheduleInfo* answer) {
  const std::scoped_lock lock(mutex_);
  last_schedule_ = *request;
  *answer = schedules.schedules(0);
  return {};
}

grpc::Status ControlService::change(const char* verb, const ScheduleRef& ref,
                                    ScheduleInfo& answer) {
  const std::scoped_lock lock(mutex_);
  last_change_ = std::string(verb) + " " + ref.name();
  answer = schedules.schedules(0);
  return {};
}

grpc::Status ControlService::PauseSchedule(Context*, const ScheduleRef* request,
                                           ScheduleInfo* answer) {
  return change("pause", *request, *answer);
}

grpc::Status ControlService::ResumeSchedule(Context*, const ScheduleRef* request,
                                            ScheduleInfo* answer) {
  return change("resume", *request, *answer);
}

grpc::Status ControlService::RemoveSchedule(Context*, const ScheduleRef* request,
                                            ScheduleInfo* answer) {
  return change("remove", *request, *answer);
}

grpc::Status ControlService::RunSchedule(Context*, const ScheduleRef* request, RunSummary* answer) {
  const std::scoped_lock lock(mutex_);
  last_change_ = "run-now " + request->name();
  *answer = summary("planned");
  return {};
}

grpc::Status ControlService::GetInstallation(Context*, const InstallationRequest*,
                                             Installation* answer) {
  *answer = installation;
  return {};
}

grpc::Status ControlService::RunPreflight(Context*, const PreflightRequest* request,
                                          PreflightReport* answer) {
  const std::scoped_lock lock(mutex_);
  last_preflight_ = *request;
  *answer = preflight;
  return {};
}

}  // namespace railgauge::cli
