#include "controller/api/agent.grpc.pb.h"
#include "controller/fleet/agent_stream.h"
#include "controller/rpc/services.h"

namespace railgauge {
namespace {

class AgentLinkService final : public api::AgentLink::CallbackService {
 public:
  AgentLinkService(fleet::Fleet& fleet, const auth::PeerBook& peers)
      : fleet_(fleet), peers_(peers) {}
  grpc::ServerBidiReactor<api::AgentMessage, api::ControllerMessage>* Attach(
      grpc::CallbackServerContext* context) override {
    return fleet_.open(context, peers_.peer_of(*context)).get();
  }

 private:
  fleet::Fleet& fleet_;
  const auth::PeerBook& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_agent_link_service(fleet::Fleet& fleet,
                                                       const auth::PeerBook& peers) {
  return std::make_unique<AgentLinkService>(fleet, peers);
}

}  // namespace railgauge
