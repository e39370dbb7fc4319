#include "controller/rpc/service.h"

#include <spdlog/spdlog.h>

#include "controller/rpc/watch_stream.h"

namespace railgauge {
namespace {

grpc::Status to_grpc(const Error& error) {
  return {static_cast<grpc::StatusCode>(error.code), error.message};
}

}  // namespace

template <class Response>
ControlService::Unary* ControlService::answer(
    Context* context, Access access, Response* response,
    std::function<Result<Response>(const auth::Peer&)> work) {
  Unary* reactor = context->DefaultReactor();
  const auth::Peer peer = peers_.peer_of(*context);
  if (const Status allowed = auth::may_control(peer, access == Access::kRead); !allowed) {
    spdlog::warn("call refused: {}", allowed.error().message);
    reactor->Finish(to_grpc(allowed.error()));
    return reactor;
  }
  const bool taken = pool_.submit([reactor, response, peer, moved = std::move(work)] {
    Result<Response> answer = moved(peer);
    if (!answer) return reactor->Finish(to_grpc(answer.error()));
    *response = std::move(*answer);
    reactor->Finish(grpc::Status::OK);
  });
  if (!taken)
    reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the controller is busy; try again"});
  return reactor;
}

ControlService::Unary* ControlService::ListNodes(Context* context,
                                                 const api::ListNodesRequest* request,
                                                 api::NodeList* response) {
  return answer<api::NodeList>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return control_.list_nodes(*request);
  });
}

ControlService::Unary* ControlService::ListKernels(Context* context,
                                                   const api::ListKernelsRequest* request,
                                                   KernelList* response) {
  return answer<KernelList>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return control_.list_kernels(*request);
  });
}

ControlService::Unary* ControlService::ListSuites(Context* context, const api::ListSuitesRequest*,
                                                  api::SuiteList* response) {
  return answer<api::SuiteList>(context, Access::kRead, response,
                                [this](const auth::Peer&) { return control_.list_suites(); });
}

ControlService::Unary* ControlService::CheckSuite(Context* context, const api::SuiteSource* request,
                                                  api::SuiteCheck* response) {
  return answer<api::SuiteCheck>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return control_.check_suite(*request);
  });
}

ControlService::Unary* ControlService::PlanRun(Context* context, const api::RunRequest* request,
                                               api::RunPlan* response) {
  return answer<api::RunPlan>(context, Access::kRead, response,
                              [=, this](const auth::Peer&) { return control_.plan_run(*request); });
}

ControlService::Unary* ControlService::StartRun(Context* context, const api::RunRequest* request,
                                                api::RunSummary* response) {
  return answer<api::RunSummary>(
      context, Access::kWrite, response,
      [=, this](const auth::Peer& peer) { return control_.start_run(*request, peer.who); });
}

ControlService::Unary* ControlService::CancelRun(Context* context, const api::RunRef* request,
                                                 api::RunSummary* response) {
  return answer<api::RunSummary>(context, Access::kWrite, response,
                                 [=, this](const auth::Peer& peer) {
                                   return control_.cancel_run(request->run_id(), peer.who);
                                 });
}

ControlService::Unary* ControlService::ListRuns(Context* context,
                                                const api::ListRunsRequest* request,
                                                api::RunList* response) {
  return answer<api::RunList>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return control_.list_runs(*request);
  });
}

ControlService::Unary* ControlService::GetRun(Context* context, const api::RunRef* request,
                                              api::RunDetail* response) {
  return answer<api::RunDetail>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return control_.get_run(request->run_id());
  });
}

ControlService::Unary* ControlService::QueryResults(Context* context,
                                                    const api::ResultsRequest* request,
                                                    api::ResultList* response) {
  return answer<api::ResultList>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return control_.query_results(*request);
  });
}

ControlService::Unary* ControlService::GetVersion(Context* context, const api::VersionRequest*,
                                                  api::VersionInfo* response) {
  return answer<api::VersionInfo>(context, Access::kRead, response,
                                  [this](const auth::Peer&) { return control_.get_version(); });
}

ControlService::Unary* ControlService::ListSchedules(Context* context,
                                                     const api::ListSchedulesRequest* request,
                                                     api::ScheduleList* response) {
  return answer<api::ScheduleList>(context, Access::kRead, response, [=, this](const auth::Peer&) {
    return schedules_.list(request->name());
  });
}

ControlService::Unary* ControlService::AddSchedule(Context* context,
                                                   const api::ScheduleSpec* request,
                                                   api::ScheduleInfo* response) {
  return answer<api::ScheduleInfo>(
      context, Access::kWrite, response,
      [=, this](const auth::Peer& peer) { return schedules_.add(*request, peer.who); });
}

ControlService::Unary* ControlService::PauseSchedule(Context* context,
                                                     const api::ScheduleRef* request,
                                                     api::ScheduleInfo* response) {
  return answer<api::ScheduleInfo>(context, Access::kWrite, response, [=, this](const auth::Peer&) {
    return schedules_.set_paused(request->name(), true);
  });
}

ControlService::Unary* ControlService::ResumeSchedule(Context* context,
                                                      const api::ScheduleRef* request,
                                                      api::ScheduleInfo* response) {
  return answer<api::ScheduleInfo>(context, Access::kWrite, response, [=, this](const auth::Peer&) {
    return schedules_.set_paused(request->name(), false);
  });
}

ControlService::Unary* ControlService::RemoveSchedule(Context* context,
                                                      const api::ScheduleRef* request,
                                                      api::ScheduleInfo* response) {
  return answer<api::ScheduleInfo>(context, Access::kWrite, response, [=, this](const auth::Peer&) {
    return schedules_.remove(request->name());
  });
}

ControlService::Unary* ControlService::RunSchedule(Context* context,
                                                   const api::ScheduleRef* request,
                                                   api::RunSummary* response) {
  return answer<api::RunSummary>(
      context, Access::kWrite, response,
      [=, this](const auth::Peer& peer) { return schedules_.run_now(request->name(), peer.who); });
}

// Changes nothing on the nodes, but makes them work: not for those who may only read.
ControlService::Unary* ControlService::RunPreflight(Context* context,
                                                    const api::PreflightRequest* request,
                                                    api::PreflightReport* response) {
  return answer<api::PreflightReport>(
      context, Access::kWrite, response,
      [=, this](const auth::Peer&) { return control_.run_preflight(*request); });
}

grpc::ServerWriteReactor<api::RunEvent>* ControlService::WatchRun(Context* context,
                                                                  const api::RunRef* request) {
  auto stream = WatchStream::make(control_, request->run_id());
  const auth::Peer peer = peers_.peer_of(*context);
  if (const Status allowed = auth::may_control(peer, true); !allowed)
    stream->fail(to_grpc(allowed.error()));
  else if (!pool_.submit([stream] { stream->begin(); }))
    stream->fail({grpc::StatusCode::RESOURCE_EXHAUSTED, "the controller is busy; try again"});
  return stream.get();
}

}  // namespace railgauge
