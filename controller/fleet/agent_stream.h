// One agent's gRPC stream. Reads one message at a time, and the next one only when the owner has
// handled the last, so that back-pressure reaches the agent. Writes from a bounded queue. Events
// are called on gRPC's threads; send(), read_next(), finish() and abort() are thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <grpcpp/grpcpp.h>

#include "controller/api/agent.grpc.pb.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/roster.h"

namespace railgauge::fleet {

class AgentStream final
    : public grpc::ServerBidiReactor<api::AgentMessage, api::ControllerMessage> {
 public:
  static constexpr std::size_t kMaxQueuedMessages = 1'024;
  static constexpr std::size_t kMaxQueuedBytes = 16U << 20U;

  struct Events {
    // True: the next message may come at once; else after read_next().
    std::function<bool(Session, api::AgentMessage)> message;
    std::function<void(Session)> closed;  // last call; nothing was or will be delivered after it
  };

  // Alive until gRPC is done with it, however few references are held.
  static std::shared_ptr<AgentStream> make(Session session, grpc::CallbackServerContext* context,
                                           auth::Peer peer, Events events);

  void read_next();
  // Queues a message. A full queue closes the stream; the agent attaches again and gets the missed
  // messages.
  void send(api::ControllerMessage message);
  // Sends the queued messages, then ends the call.
  void finish(grpc::Status status);
  // Ends the call at once, for a peer that counts as dead.
  void abort(const grpc::Status& status);

  [[nodiscard]] Session session() const { return session_; }
  [[nodiscard]] const auth::Peer& peer() const { return peer_; }

 private:
  AgentStream(Session session, grpc::CallbackServerContext* context, auth::Peer peer, Events events)
      : session_(session), context_(context), peer_(std::move(peer)), events_(std::move(events)) {}
  // gRPC swallows what these throw, and the call would never end.
  void OnReadDone(bool ok) noexcept override;
  void OnWriteDone(bool ok) noexcept override;
  void OnCancel() noexcept override;
  void OnDone() noexcept override;
  void write_front();
  void finish_now(const grpc::Status& status);

  const Session session_;
  grpc::CallbackServerContext* context_;
  const auth::Peer peer_;
  const Events events_;
  std::shared_ptr<AgentStream> self_;  // until OnDone
  api::AgentMessage incoming_;

  std::mutex mutex_;
  std::deque<api::ControllerMessage> outgoing_;  // the front is being written
  std::size_t outgoing_bytes_ = 0;
  bool reading_ = false;
  bool finishing_ = false;  // after what is queued
  bool finished_ = false;   // Finish was called: nothing may be started any more
  grpc::Status status_;
};

// The words of a heartbeat, and when it came.
struct Beat {
  double spool_records = 0;
  std::string busy_task_id{};
  std::optional<double> skew_seconds{};  // absent: the agent does not say what its clock has
  double seen = 0;                       // on the loop's monotonic clock
  double seen_at_unix = 0;
};
// How far a clock that has this time now is ahead of the controller's; absent: it is no time.
std::optional<double> skew_said(double unix_time_seconds);
// The beat of a heartbeat that comes now.
Beat beat_of(const api::Heartbeat& heartbeat);

// The heartbeats of one stream, in their order. Not thread safe: a stream has one message at a
// time.
class BeatsOfStream {
 public:
  // Whether the heartbeat reports no event, and of the node's work what the one before did.
  bool is_quiet(const api::Heartbeat& heartbeat);

 private:
  std::optional<std::string> busy_{};  // of the heartbeat before, as bytes
};

// Heartbeats that say nothing new wait here for the loop's next tick, which takes them together: a
// turn of the loop for each of thousands of agents would be most of the controller's work at rest.
// Thread safe.
class QuietBeats {
 public:
  // False: one of the stream waits already, so that an agent in a hurry waits for the loop.
  bool add(Session session, Beat beat);
  std::map<Session, Beat> take();
  // That of one stream, before a later message of it; absent: none waits.
  std::optional<Beat> take(Session session);

 private:
  std::mutex mutex_;
  std::map<Session, Beat> beats_;
};

}  // namespace railgauge::fleet
