#include "controller/rpc/agent_link.h"

#include "controller/fleet/agent_stream.h"

namespace railgauge {

grpc::ServerBidiReactor<api::AgentMessage, api::ControllerMessage>* AgentLinkService::Attach(
    grpc::CallbackServerContext* context) {
  return fleet_.open(context, peers_.peer_of(*context)).get();
}

}  // namespace railgauge
