#include "controller/fleet/agent_stream.h"

#include <utility>

namespace railgauge::fleet {

// gRPC calls the reactor until OnDone, so the object holds a reference to itself until then.
std::shared_ptr<AgentStream> AgentStream::make(Session session,
                                               grpc::CallbackServerContext* context,
                                               auth::Peer peer, Events events) {
  std::shared_ptr<AgentStream> stream(
      new AgentStream(session, context, std::move(peer), std::move(events)));
  stream->self_ = stream;
  return stream;
}

// At most one read is pending. The next starts only after the owner has taken the message, so that
// HTTP/2's flow control stops an agent that sends faster than the store writes.
void AgentStream::read_next() {
  const std::lock_guard lock(mutex_);
  if (finished_ || reading_) return;
  reading_ = true;
  incoming_.Clear();
  StartRead(&incoming_);
}

// The front of the queue is in flight, so it stays there until OnWriteDone.
void AgentStream::send(api::ControllerMessage message) {
  const std::lock_guard lock(mutex_);
  if (finished_ || finishing_) return;
  const std::size_t bytes = message.ByteSizeLong();
  if (outgoing_.size() >= kMaxQueuedMessages || outgoing_bytes_ + bytes > kMaxQueuedBytes)
    return finish_now({grpc::StatusCode::RESOURCE_EXHAUSTED, "the agent does not read its stream"});
  outgoing_bytes_ += bytes;
  outgoing_.push_back(std::move(message));
  if (outgoing_.size() == 1) write_front();
}

void AgentStream::write_front() { StartWrite(&outgoing_.front()); }

// The status waits until the queue is written; later messages are dropped.
void AgentStream::finish(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  if (finished_ || finishing_) return;
  finishing_ = true;
  status_ = std::move(status);
  if (outgoing_.empty()) finish_now(status_);
}

void AgentStream::abort(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  finish_now(status);
}

// With mutex_ held.
void AgentStream::finish_now(const grpc::Status& status) {
  if (finished_) return;
  finished_ = true;
  // A write in flight would hold Finish back for as long as the peer does not read.
  if (!outgoing_.empty()) context_->TryCancel();
  Finish(status);
}

// The message is delivered outside the lock: the owner may call send() at once.
void AgentStream::OnReadDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (!ok) return finish_now(grpc::Status::OK);
  }
  events_.message(session_, std::move(incoming_));
}

// A failed write means that the connection is gone; gRPC calls OnDone after Finish.
void AgentStream::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  outgoing_bytes_ -= outgoing_.front().ByteSizeLong();
  outgoing_.pop_front();
  if (finished_) return;
  if (!ok) return finish_now({grpc::StatusCode::UNAVAILABLE, "the agent is gone"});
  if (!outgoing_.empty()) return write_front();
  if (finishing_) finish_now(status_);
}

// The peer or TryCancel ended the call.
void AgentStream::OnCancel() {
  const std::lock_guard lock(mutex_);
  finish_now(grpc::Status::CANCELLED);
}

// The last call of gRPC: the owner is informed first, then the object may end.
void AgentStream::OnDone() {
  events_.closed(session_);
  self_.reset();
}

}  // namespace railgauge::fleet
