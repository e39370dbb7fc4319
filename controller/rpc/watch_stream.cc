#include "controller/rpc/watch_stream.h"

#include "controller/rpc/unary.h"

namespace railgauge {

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

}  // namespace railgauge
