#include "controller/fleet/agent_stream.h"

#include <cmath>
#include <utility>

#include "controller/clock/wall_clock.h"
#include "controller/fleet/event_loop.h"

namespace railgauge::fleet {

std::shared_ptr<AgentStream> AgentStream::make(Session session,
                                               grpc::CallbackServerContext* context,
                                               auth::Peer peer, Events events) {
  std::shared_ptr<AgentStream> stream(
      new AgentStream(session, context, std::move(peer), std::move(events)));
  stream->self_ = stream;
  return stream;
}

void AgentStream::read_next() {
  const std::lock_guard lock(mutex_);
  if (finished_ || reading_) return;
  reading_ = true;
  incoming_.Clear();
  StartRead(&incoming_);
}

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

void AgentStream::finish(grpc::Status status) {
  const std::lock_guard lock(mutex_);
  if (finished_ || finishing_) return;
  finishing_ = true;
  status_ = std::move(status);
  if (outgoing_.empty()) finish_now(status_);
}

void AgentStream::abort(const grpc::Status& status) {
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

void AgentStream::OnReadDone(bool ok) noexcept {
  {
    const std::lock_guard lock(mutex_);
    reading_ = false;
    if (!ok) return finish_now(grpc::Status::OK);
  }
  if (events_.message(session_, std::move(incoming_))) read_next();
}

void AgentStream::OnWriteDone(bool ok) noexcept {
  const std::lock_guard lock(mutex_);
  outgoing_bytes_ -= outgoing_.front().ByteSizeLong();
  outgoing_.pop_front();
  if (finished_) return;
  if (!ok) return finish_now({grpc::StatusCode::UNAVAILABLE, "the agent is gone"});
  if (!outgoing_.empty()) return write_front();
  if (finishing_) finish_now(status_);
}

void AgentStream::OnCancel() noexcept {
  const std::lock_guard lock(mutex_);
  finish_now(grpc::Status::CANCELLED);
}

void AgentStream::OnDone() noexcept {
  events_.closed(session_);
  self_.reset();
}

std::optional<double> skew_said(double unix_time_seconds) {
  if (!std::isfinite(unix_time_seconds) || unix_time_seconds <= 0) return std::nullopt;
  return skew_of(unix_time_seconds);
}

Beat beat_of(const api::Heartbeat& heartbeat) {
  return {.spool_records = heartbeat.spool_records(),
          .busy_task_id = heartbeat.busy_task_id(),
          .skew_seconds = skew_said(heartbeat.unix_time_seconds()),
          .seen = monotonic_seconds(),
          .seen_at_unix = unix_seconds()};
}

bool BeatsOfStream::is_quiet(const api::Heartbeat& heartbeat) {
  std::string busy = heartbeat.has_busy() ? "is " + heartbeat.busy().SerializeAsString() : "";
  const bool is_same = busy_ == busy;
  busy_ = std::move(busy);
  return is_same && heartbeat.events().empty();
}

bool QuietBeats::add(Session session, Beat beat) {
  const std::lock_guard lock(mutex_);
  return beats_.emplace(session, std::move(beat)).second;
}

std::optional<Beat> QuietBeats::take(Session session) {
  const std::lock_guard lock(mutex_);
  auto beat = beats_.extract(session);
  return beat ? std::optional(std::move(beat.mapped())) : std::nullopt;
}

std::map<Session, Beat> QuietBeats::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(beats_, {});
}

}  // namespace railgauge::fleet
