// A control service with fixed answers, for tests: over a real socket or inside the process.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "controller/api/control.grpc.pb.h"

namespace railgauge::cli {

class FakeControl final : public railgauge::api::Control::Service {
 public:
  FakeControl();  // filled with the sample answers of samples.h

  // The answers of the calls; set before the first call.
  railgauge::api::NodeList nodes;
  railgauge::KernelList kernels;
  railgauge::api::SuiteList suites;
  railgauge::api::SuiteCheck check;
  railgauge::api::RunPlan plan;
  railgauge::api::RunList runs;
  railgauge::api::RunDetail detail;
  railgauge::api::ResultList results;
  railgauge::api::VersionInfo version;
  railgauge::api::ScheduleList schedules;  // the first one is what every change answers
  railgauge::api::PreflightReport preflight;
  grpc::Status plan_status;        // what PlanRun says instead of a plan
  std::string outcome = "passed";  // of the run
  bool endless = false;            // the run continues until it is cancelled
  bool deaf_to_cancel = false;     // a cancel is taken, the run continues all the same
  int broken_watches = 0;          // so many watches end early as if the controller had died
  double nodes_delay_seconds = 0;  // before ListNodes answers

  // The requests so far.
  [[nodiscard]] railgauge::api::RunRequest last_request() const;
  [[nodiscard]] railgauge::api::ResultsRequest last_results() const;
  [[nodiscard]] railgauge::api::ScheduleSpec last_schedule() const;
  [[nodiscard]] std::string last_change() const;  // "pause nightly"
  [[nodiscard]] railgauge::api::PreflightRequest last_preflight() const;
  [[nodiscard]] int starts() const;
  [[nodiscard]] int cancels() const;
  // Waits until a watch has reported the run's first change; false after `seconds`.
  bool wait_until_watched(double seconds);

  using Context = grpc::ServerContext;
  template <class T>
  using Writer = grpc::ServerWriter<T>;
  grpc::Status ListNodes(Context* context, const railgauge::api::ListNodesRequest* request,
                         railgauge::api::NodeList* answer) override;
  grpc::Status ListKernels(Context* context, const railgauge::api::ListKernelsRequest* request,
                           railgauge::KernelList* answer) override;
  grpc::Status ListSuites(Context* context, const railgauge::api::ListSuitesRequest* request,
                          railgauge::api::SuiteList* answer) override;
  grpc::Status CheckSuite(Context* context, const railgauge::api::SuiteSource* request,
                          railgauge::api::SuiteCheck* answer) override;
  grpc::Status PlanRun(Context* context, const railgauge::api::RunRequest* request,
                       railgauge::api::RunPlan* answer) override;
  grpc::Status StartRun(Context* context, const railgauge::api::RunRequest* request,
                        railgauge::api::RunSummary* answer) override;
  grpc::Status WatchRun(Context* context, const railgauge::api::RunRef* request,
                        Writer<railgauge::api::RunEvent>* writer) override;
  grpc::Status CancelRun(Context* context, const railgauge::api::RunRef* request,
                         railgauge::api::RunSummary* answer) override;
  grpc::Status ListRuns(Context* context, const railgauge::api::ListRunsRequest* request,
                        railgauge::api::RunList* answer) override;
  grpc::Status GetRun(Context* context, const railgauge::api::RunRef* request,
                      railgauge::api::RunDetail* answer) override;
  grpc::Status QueryResults(Context* context, const railgauge::api::ResultsRequest* request,
                            railgauge::api::ResultList* answer) override;
  grpc::Status GetVersion(Context* context, const railgauge::api::VersionRequest* request,
                          railgauge::api::VersionInfo* answer) override;
  grpc::Status ListSchedules(Context* context, const railgauge::api::ListSchedulesRequest* request,
                             railgauge::api::ScheduleList* answer) override;
  grpc::Status AddSchedule(Context* context, const railgauge::api::ScheduleSpec* request,
                           railgauge::api::ScheduleInfo* answer) override;
  grpc::Status PauseSchedule(Context* context, const railgauge::api::ScheduleRef* request,
                             railgauge::api::ScheduleInfo* answer) override;
  grpc::Status ResumeSchedule(Context* context, const railgauge::api::ScheduleRef* request,
                              railgauge::api::ScheduleInfo* answer) override;
  grpc::Status RemoveSchedule(Context* context, const railgauge::api::ScheduleRef* request,
                              railgauge::api::ScheduleInfo* answer) override;
  grpc::Status RunSchedule(Context* context, const railgauge::api::ScheduleRef* request,
                           railgauge::api::RunSummary* answer) override;
  grpc::Status RunPreflight(Context* context, const railgauge::api::PreflightRequest* request,
                            railgauge::api::PreflightReport* answer) override;

 private:
  grpc::Status change(const char* verb, const railgauge::api::ScheduleRef& ref,
                      railgauge::api::ScheduleInfo& answer);
  railgauge::api::RunSummary summary(const std::string& state) const;  // with mutex_ held

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  railgauge::api::RunRequest last_request_;
  railgauge::api::ResultsRequest last_results_;
  railgauge::api::ScheduleSpec last_schedule_;
  std::string last_change_;
  railgauge::api::PreflightRequest last_preflight_;
  int starts_ = 0;
  int cancels_ = 0;
  int watches_ = 0;
  bool cancelled_ = false;
};

}  // namespace railgauge::cli
