// The Control service on the wire: who may call what, worker threads for what may wait, one stream
// for each watcher. What the answers are stands in control.h.
#pragma once

#include <functional>

#include <grpcpp/grpcpp.h>

#include "controller/api/control.grpc.pb.h"
#include "controller/control/control.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/worker_pool.h"
#include "controller/schedule/schedules.h"

namespace railgauge {

class ControlService final : public api::Control::CallbackService {
 public:
  // Everything outlives it; the pool is to be destroyed after the server's last call ended.
  ControlService(Control& control, Schedules& schedules, const auth::PeerBook& peers,
                 fleet::WorkerPool& pool)
      : control_(control), schedules_(schedules), peers_(peers), pool_(pool) {}

  using Unary = grpc::ServerUnaryReactor;
  using Context = grpc::CallbackServerContext;
  Unary* ListNodes(Context* context, const api::ListNodesRequest* request,
                   api::NodeList* response) override;
  Unary* ListKernels(Context* context, const api::ListKernelsRequest* request,
                     KernelList* response) override;
  Unary* ListSuites(Context* context, const api::ListSuitesRequest* request,
                    api::SuiteList* response) override;
  Unary* CheckSuite(Context* context, const api::SuiteSource* request,
                    api::SuiteCheck* response) override;
  Unary* PlanRun(Context* context, const api::RunRequest* request, api::RunPlan* response) override;
  Unary* StartRun(Context* context, const api::RunRequest* request,
                  api::RunSummary* response) override;
  grpc::ServerWriteReactor<api::RunEvent>* WatchRun(Context* context,
                                                    const api::RunRef* request) override;
  Unary* CancelRun(Context* context, const api::RunRef* request,
                   api::RunSummary* response) override;
  Unary* ListRuns(Context* context, const api::ListRunsRequest* request,
                  api::RunList* response) override;
  Unary* GetRun(Context* context, const api::RunRef* request, api::RunDetail* response) override;
  Unary* QueryResults(Context* context, const api::ResultsRequest* request,
                      api::ResultList* response) override;
  Unary* GetVersion(Context* context, const api::VersionRequest* request,
                    api::VersionInfo* response) override;
  Unary* ListSchedules(Context* context, const api::ListSchedulesRequest* request,
                       api::ScheduleList* response) override;
  Unary* AddSchedule(Context* context, const api::ScheduleSpec* request,
                     api::ScheduleInfo* response) override;
  Unary* PauseSchedule(Context* context, const api::ScheduleRef* request,
                       api::ScheduleInfo* response) override;
  Unary* ResumeSchedule(Context* context, const api::ScheduleRef* request,
                        api::ScheduleInfo* response) override;
  Unary* RemoveSchedule(Context* context, const api::ScheduleRef* request,
                        api::ScheduleInfo* response) override;
  Unary* RunSchedule(Context* context, const api::ScheduleRef* request,
                     api::RunSummary* response) override;
  Unary* RunPreflight(Context* context, const api::PreflightRequest* request,
                      api::PreflightReport* response) override;

 private:
  enum class Access { kRead, kWrite };
  // Checks the caller, then answers on a worker thread.
  template <class Response>
  Unary* answer(Context* context, Access access, Response* response,
                std::function<Result<Response>(const auth::Peer&)> work);

  Control& control_;
  Schedules& schedules_;
  const auth::PeerBook& peers_;
  fleet::WorkerPool& pool_;
};

}  // namespace railgauge
