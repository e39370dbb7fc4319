#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "controller/api/control.grpc.pb.h"
#include "controller/control/run_driver.h"
#include "controller/rpc/services.h"
#include "controller/rpc/unary.h"

namespace railgauge {
namespace {

// One caller that follows a run. Events arrive on the event loop and leave from a bounded queue. A
// caller that reads too slowly misses events in the middle, never the last one: each event holds
// the whole state of the run.
// Thread safe: the event loop adds events, and gRPC calls the reactor from its own threads.
class WatchStream final : public grpc::ServerWriteReactor<api::RunEvent>,
                          public run::RunWatcher,
                          public std::enable_shared_from_this<WatchStream> {
 public:
  // The most events that wait for the caller.
  static constexpr std::size_t kMaxQueued = 256;

  // The stream lives until gRPC is done with it. `control` outlives it.
  static std::shared_ptr<WatchStream> make(Control& control, std::string run_id,
                                           std::shared_ptr<rpc::Call> call) {
    std::shared_ptr<WatchStream> stream(
        new WatchStream(control, std::move(run_id), std::move(call)));
    stream->self_ = stream;
    stream->StartSendInitialMetadata();  // the caller learns at once that the call arrived
    return stream;
  }

  // Subscribes, or sends the state of an ended run and ends. May wait for the database.
  void begin() {
    const Status watched = control_.watch(run_id_, shared_from_this());
    if (watched) {
      // A caller may have left before it was subscribed.
      const std::lock_guard lock(mutex_);
      if (finished_) control_.unwatch(run_id_, shared_from_this());
      return;
    }
    if (watched.error().code != Code::kNotFound) return fail(rpc::to_grpc(watched.error()));
    Result<api::RunSummary> ended = control_.run_summary(run_id_);
    if (!ended) return fail(rpc::to_grpc(ended.error()));
    api::RunEvent event_of_end;
    event_of_end.set_text(ended->outcome());
    *event_of_end.mutable_run() = std::move(*ended);
    event(event_of_end);
    end();
  }
  // The place among its viewer's streams, kept until the stream ends. Before begin().
  void keep(rpc::ConnectionCalls::Place place) { place_ = std::move(place); }
  // Ends the stream with an error.
  void fail(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    finish_now(status);
  }

  void event(const api::RunEvent& event) override {
    const std::lock_guard lock(mutex_);
    if (finished_ || ending_) return;
    if (queue_.size() >= kMaxQueued)
      queue_.erase(queue_.begin() + 1);  // the oldest event that is not being written
    queue_.push_back(event);
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    if (queue_.empty()) finish_now(grpc::Status::OK);
  }

 private:
  WatchStream(Control& control, std::string run_id, std::shared_ptr<rpc::Call> call)
      : control_(control), run_id_(std::move(run_id)), call_(std::move(call)) {}
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    queue_.pop_front();
    if (finished_) return;
    if (!ok) return finish_now({grpc::StatusCode::UNAVAILABLE, "the caller is gone"});
    if (!queue_.empty()) return StartWrite(&queue_.front());
    if (ending_) finish_now(grpc::Status::OK);
  }
  void OnCancel() override {
    const std::lock_guard lock(mutex_);
    finish_now(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    control_.unwatch(run_id_, shared_from_this());
    self_.reset();
  }
  // Called with mutex_ held.
  void finish_now(const grpc::Status& status) {
    if (finished_) return;
    finished_ = true;
    if (call_) call_->end({});
    Finish(status);
  }

  Control& control_;
  const std::string run_id_;
  const std::shared_ptr<rpc::Call> call_;  // empty: it was refused
  std::shared_ptr<WatchStream> self_;      // until OnDone
  rpc::ConnectionCalls::Place place_{};

  std::mutex mutex_;
  std::deque<api::RunEvent> queue_;  // the front is being written
  bool ending_ = false;              // finish after the queued events
  bool finished_ = false;
};

class ControlService final : public api::Control::CallbackService {
 public:
  ControlService(Control& control, ScheduleService& schedules, rpc::Gate& gate,
                 const ControlPools& pools)
      : control_(control),
        schedules_(schedules),
        gate_(gate),
        pool_(pools.calls),
        plans_(pools.plans) {}

  RAILGAUGE_UNARY(ListNodes, pool_, api::ListNodesRequest, api::NodeList,
                  control_.list_nodes(*request))
  RAILGAUGE_UNARY(ListNodeHeads, pool_, api::NodeHeadsRequest, api::NodeHeads,
                  control_.list_node_heads(*request))
  RAILGAUGE_UNARY(ListKernels, pool_, api::ListKernelsRequest, KernelList,
                  control_.list_kernels(*request))
  RAILGAUGE_UNARY(ListSuites, plans_, api::ListSuitesRequest, api::SuiteList,
                  control_.list_suites())
  RAILGAUGE_UNARY(CheckSuite, plans_, api::SuiteSource, api::SuiteCheck,
                  control_.check_suite(*request))
  RAILGAUGE_UNARY(PlanRun, plans_, api::RunRequest, api::RunPlan, control_.plan_run(*request))
  RAILGAUGE_UNARY(StartRun, pool_, api::RunRequest, api::RunSummary,
                  control_.start_run_of_client(*request, peer.who))
  RAILGAUGE_UNARY(CancelRun, pool_, api::RunRef, api::RunSummary,
                  control_.cancel_run(request->run_id(), peer.who))
  RAILGAUGE_UNARY(ListRuns, pool_, api::ListRunsRequest, api::RunList, control_.list_runs(*request))
  RAILGAUGE_UNARY(GetRun, pool_, api::RunRef, api::RunDetail, control_.get_run(request->run_id()))
  RAILGAUGE_UNARY(QueryResults, pool_, api::ResultsRequest, api::ResultList,
                  control_.query_results(*request))
  RAILGAUGE_UNARY(GetVersion, pool_, api::VersionRequest, api::VersionInfo, control_.get_version())
  RAILGAUGE_UNARY(ListSchedules, pool_, api::ListSchedulesRequest, api::ScheduleList,
                  schedules_.list(request->name()))
  RAILGAUGE_UNARY(AddSchedule, pool_, api::ScheduleSpec, api::ScheduleInfo,
                  schedules_.add(*request, peer.who))
  RAILGAUGE_UNARY(PauseSchedule, pool_, api::ScheduleRef, api::ScheduleInfo,
                  schedules_.set_paused(request->name(), true))
  RAILGAUGE_UNARY(ResumeSchedule, pool_, api::ScheduleRef, api::ScheduleInfo,
                  schedules_.set_paused(request->name(), false))
  RAILGAUGE_UNARY(RemoveSchedule, pool_, api::ScheduleRef, api::ScheduleInfo,
                  schedules_.remove(request->name()))
  RAILGAUGE_UNARY(RunSchedule, pool_, api::ScheduleRef, api::RunSummary,
                  schedules_.run_now(request->name(), peer.who))
  RAILGAUGE_UNARY(RenameNode, pool_, api::RenameNodeRequest, api::NodeList,
                  control_.rename_node(request->name(), request->new_name(), peer.who))
  RAILGAUGE_UNARY(PauseNodes, pool_, api::PauseNodesRequest, api::NodeList,
                  control_.pause_nodes(*request, peer.who))
  RAILGAUGE_UNARY(ResumeNodes, pool_, api::ResumeNodesRequest, api::NodeList,
                  control_.resume_nodes(*request, peer.who))
  RAILGAUGE_UNARY(GetInstallation, pool_, api::InstallationRequest, api::Installation,
                  control_.get_installation())
  RAILGAUGE_UNARY(RunPreflight, pool_, api::PreflightRequest, api::PreflightReport,
                  control_.run_preflight(*request))

  grpc::ServerWriteReactor<api::RunEvent>* WatchRun(rpc::Context* context,
                                                    const api::RunRef* request) override {
    auto call = gate_.admit(*context, rpc::right_of(kService, "WatchRun"), request);
    auto stream = WatchStream::make(control_, request->run_id(), call.value_or(nullptr));
    if (!call) {
      stream->fail(rpc::to_grpc(call.error()));
    } else if (!may_watch(**call, *stream)) {
      const Error error{Code::kResourceExhausted,
                        "WatchRun: this viewer's certificate follows 8 runs, its limit; end one"};
      (*call)->refuse(error);
      stream->fail(rpc::to_grpc(error));
    } else if (!(*call)->threads(pool_).submit([stream] { stream->begin(); }, (*call)->owner())) {
      (*call)->refuse(rpc::busy());
      stream->fail(rpc::to_grpc(rpc::busy()));
    }
    return stream.get();
  }

 private:
  static constexpr std::string_view kService = rpc::kControl;

  // A run has places for few watchers. One viewer must not take them all.
  bool may_watch(const rpc::Call& call, WatchStream& stream) {
    if (call.peer().role != auth::Role::kViewer) return true;
    auto place = watches_.take(call.owner());
    if (place) stream.keep(std::move(*place));
    return place.has_value();
  }

  Control& control_;
  ScheduleService& schedules_;
  rpc::Gate& gate_;
  fleet::WorkerPool& pool_;
  fleet::WorkerPool& plans_;
  rpc::ConnectionCalls watches_;  // by viewer: WatchRun
};

}  // namespace

std::unique_ptr<grpc::Service> make_control_service(Control& control, ScheduleService& schedules,
                                                    rpc::Gate& gate, const ControlPools& pools) {
  return std::make_unique<ControlService>(control, schedules, gate, pools);
}

}  // namespace railgauge
