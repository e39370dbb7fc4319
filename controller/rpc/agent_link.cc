#include "controller/api/agent.grpc.pb.h"
#include "controller/fleet/agent_stream.h"
#include "controller/rpc/gate.h"
#include "controller/rpc/services.h"

namespace railgauge {
namespace {

using Stream = grpc::ServerBidiReactor<api::AgentMessage, api::ControllerMessage>;

// A stream that ends at once with an error.
class RefusedStream final : public Stream {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

class AgentLinkService final : public api::AgentLink::CallbackService {
 public:
  AgentLinkService(fleet::Fleet& fleet, const auth::PeerBook& peers, rpc::Gate& gate)
      : fleet_(fleet), peers_(peers), gate_(gate) {}
  Stream* Attach(grpc::CallbackServerContext* context) override {
    auto call = gate_.admit(*context, rpc::right_of(rpc::kAgentLink, "Attach"), nullptr);
    if (!call) return new RefusedStream(rpc::to_grpc(call.error()));
    return fleet_.open(context, peers_.peer_of(*context), std::move(*call)).get();
  }

 private:
  fleet::Fleet& fleet_;
  const auth::PeerBook& peers_;
  rpc::Gate& gate_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_agent_link_service(fleet::Fleet& fleet,
                                                       const auth::PeerBook& peers,
                                                       rpc::Gate& gate) {
  return std::make_unique<AgentLinkService>(fleet, peers, gate);
}

}  // namespace railgauge
