#include "controller/rpc/control_service.h"

#include <utility>

#include "controller/api/control.grpc.pb.h"
#include "controller/rpc/unary.h"
#include "controller/rpc/watch_stream.h"

namespace railgauge {
namespace {

using rpc::Access;
using rpc::Context;
using rpc::Unary;

class ControlService final : public api::Control::CallbackService {
 public:
  ControlService(Control& control, ScheduleService& schedules, const auth::PeerBook& peers,
                 fleet::WorkerPool& pool)
      : control_(control), schedules_(schedules), peers_(peers), pool_(pool) {}

  Unary* ListNodes(Context* context, const api::ListNodesRequest* request,
                   api::NodeList* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return control_.list_nodes(*request); });
  }
  Unary* ListKernels(Context* context, const api::ListKernelsRequest* request,
                     KernelList* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return control_.list_kernels(*request); });
  }
  Unary* ListSuites(Context* context, const api::ListSuitesRequest*,
                    api::SuiteList* response) override {
    return read(context, response, [this](const auth::Peer&) { return control_.list_suites(); });
  }
  Unary* CheckSuite(Context* context, const api::SuiteSource* request,
                    api::SuiteCheck* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return control_.check_suite(*request); });
  }
  Unary* PlanRun(Context* context, const api::RunRequest* request,
                 api::RunPlan* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return control_.plan_run(*request); });
  }
  Unary* StartRun(Context* context, const api::RunRequest* request,
                  api::RunSummary* response) override {
    return write(context, response, [=, this](const auth::Peer& peer) {
      return control_.start_run(*request, peer.who);
    });
  }
  Unary* CancelRun(Context* context, const api::RunRef* request,
                   api::RunSummary* response) override {
    return write(context, response, [=, this](const auth::Peer& peer) {
      return control_.cancel_run(request->run_id(), peer.who);
    });
  }
  Unary* ListRuns(Context* context, const api::ListRunsRequest* request,
                  api::RunList* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return control_.list_runs(*request); });
  }
  Unary* GetRun(Context* context, const api::RunRef* request, api::RunDetail* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return control_.get_run(request->run_id()); });
  }
  Unary* QueryResults(Context* context, const api::ResultsRequest* request,
                      api::ResultList* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return control_.query_results(*request); });
  }
  Unary* GetVersion(Context* context, const api::VersionRequest*,
                    api::VersionInfo* response) override {
    return read(context, response, [this](const auth::Peer&) { return control_.get_version(); });
  }
  Unary* ListSchedules(Context* context, const api::ListSchedulesRequest* request,
                       api::ScheduleList* response) override {
    return read(context, response,
                [=, this](const auth::Peer&) { return schedules_.list(request->name()); });
  }
  Unary* AddSchedule(Context* context, const api::ScheduleSpec* request,
                     api::ScheduleInfo* response) override {
    return write(context, response,
                 [=, this](const auth::Peer& peer) { return schedules_.add(*request, peer.who); });
  }
  Unary* PauseSchedule(Context* context, const api::ScheduleRef* request,
                       api::ScheduleInfo* response) override {
    return write(context, response, [=, this](const auth::Peer&) {
      return schedules_.set_paused(request->name(), true);
    });
  }
  Unary* ResumeSchedule(Context* context, const api::ScheduleRef* request,
                        api::ScheduleInfo* response) override {
    return write(context, response, [=, this](const auth::Peer&) {
      return schedules_.set_paused(request->name(), false);
    });
  }
  Unary* RemoveSchedule(Context* context, const api::ScheduleRef* request,
                        api::ScheduleInfo* response) override {
    return write(context, response,
                 [=, this](const auth::Peer&) { return schedules_.remove(request->name()); });
  }
  Unary* RunSchedule(Context* context, const api::ScheduleRef* request,
                     api::RunSummary* response) override {
    return write(context, response, [=, this](const auth::Peer& peer) {
      return schedules_.run_now(request->name(), peer.who);
    });
  }
  // Changes nothing on the nodes, but makes them work: not for those who may only read.
  Unary* RunPreflight(Context* context, const api::PreflightRequest* request,
                      api::PreflightReport* response) override {
    return write(context, response,
                 [=, this](const auth::Peer&) { return control_.run_preflight(*request); });
  }

  grpc::ServerWriteReactor<api::RunEvent>* WatchRun(Context* context,
                                                    const api::RunRef* request) override {
    auto stream = WatchStream::make(control_, request->run_id());
    const Status allowed = auth::may_control(peers_.peer_of(*context), true);
    if (!allowed)
      stream->fail(rpc::to_grpc(allowed.error()));
    else if (!pool_.submit([stream] { stream->begin(); }))
      stream->fail(rpc::busy());
    return stream.get();
  }

 private:
  template <class Response, class Work>
  Unary* read(Context* context, Response* response, Work work) {
    return rpc::unary(context, peers_, Access::kRead, pool_, response, std::move(work));
  }
  template <class Response, class Work>
  Unary* write(Context* context, Response* response, Work work) {
    return rpc::unary(context, peers_, Access::kWrite, pool_, response, std::move(work));
  }

  Control& control_;
  ScheduleService& schedules_;
  const auth::PeerBook& peers_;
  fleet::WorkerPool& pool_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_control_service(Control& control, ScheduleService& schedules,
                                                    const auth::PeerBook& peers,
                                                    fleet::WorkerPool& pool) {
  return std::make_unique<ControlService>(control, schedules, peers, pool);
}

}  // namespace railgauge
