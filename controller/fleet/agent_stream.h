// One agent's gRPC stream. Reads one message at a time, and the next one only when the owner has
// handled the last, so that back-pressure reaches the agent. Writes from a bounded queue. Events
// are called on gRPC's threads; send(), read_next(), finish() and abort() are thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

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
    std::function<void(Session, api::AgentMessage)> message;
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

}  // namespace railgauge::fleet
