// The agents' side of the wire: each call of Attach is the stream of one agent.
#pragma once

#include <grpcpp/grpcpp.h>

#include "controller/api/agent.grpc.pb.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/fleet.h"

namespace railgauge {

// Thread safe: gRPC calls it from its own threads. Fleet and peers outlive it.
class AgentLinkService final : public api::AgentLink::CallbackService {
 public:
  AgentLinkService(fleet::Fleet& fleet, const auth::PeerBook& peers)
      : fleet_(fleet), peers_(peers) {}
  grpc::ServerBidiReactor<api::AgentMessage, api::ControllerMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  fleet::Fleet& fleet_;
  const auth::PeerBook& peers_;
};

}  // namespace railgauge
