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

using rpc::Access;
using rpc::Context;
using rpc::Unary;

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
  static std::shared_ptr<WatchStream> make(Control& control, std::string run_id);

  // Subscribes, or sends the state of an ended run and ends. May wait for the database.
  void begin();
  // Ends the stream with an error.
  void fail(const grpc::Status& status);

  void event(const api::RunEvent& event) override;
  void end() override;

 private:
  WatchStream(Control& control, std::string run_id)
      : control_(control), run_id_(std::move(run_id)) {}
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void finish_now(const grpc::Status& status);

  Control& control_;
  const std::string run_id_;
  std::shared_ptr<WatchStream> self_;  // until OnDone

  std::mutex mutex_;
  std::deque<api::RunEvent> queue_;  // the front is being written
  bool ending_ = false;              // finish after the queued events
  bool finished_ = false;
};

std::shared_ptr<WatchStream> WatchStream::make(Control& control, std::string run_id) {
  std::shared_ptr<WatchStream> stream(new WatchStream(control, std::move(run_id)));
  stream->self_ = stream;
  stream->StartSendInitialMetadata();  // the caller learns at once that the call arrived
  return stream;
}

void WatchStream::begin() {
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

void WatchStream::fail(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  finish_now(status);
}

void WatchStream::event(const api::RunEvent& event) {
  const std::lock_guard lock(mutex_);
  if (finished_ || ending_) return;
  if (queue_.size() >= kMaxQueued)
    queue_.erase(queue_.begin() + 1);  // the oldest event that is not being written
  queue_.push_back(event);
  if (queue_.size() == 1) StartWrite(&queue_.front());
}

void WatchStream::end() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  if (queue_.empty()) finish_now(grpc::Status::OK);
}

// Called with mutex_ held.
void WatchStream::finish_now(const grpc::Status& status) {
  if (finished_) return;
  finished_ = true;
  Finish(status);
}

void WatchStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  queue_.pop_front();
  if (finished_) return;
  if (!ok) return finish_now({grpc::StatusCode::UNAVAILABLE, "the caller is gone"});
  if (!queue_.empty()) return StartWrite(&queue_.front());
  if (ending_) finish_now(grpc::Status::OK);
}

void WatchStream::OnCancel() {
  const std::lock_guard lock(mutex_);
  finish_now(grpc::Status::CANCELLED);
}

void WatchStream::OnDone() {
  control_.unwatch(run_id_, shared_from_this());
  self_.reset();
}

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
