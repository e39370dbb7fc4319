#include "controller/standby/role_service.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "controller/api/standby.grpc.pb.h"

namespace railgauge::standby {
namespace {

class RoleService final : public api::Standby::CallbackService {
 public:
  RoleService(RoleAnswers answers, PeerOf peer_of)
      : answers_(std::move(answers)), peer_of_(std::move(peer_of)) {}

  // Without a right of its own: whoever is connected may know whom to ask instead, but for the
  // holder of a revoked certificate.
  grpc::ServerUnaryReactor* GetRole(grpc::CallbackServerContext* context,
                                    const api::RoleRequest* /*request*/,
                                    api::ControllerRole* answer) override {
    auto* reactor = context->DefaultReactor();
    const auth::Peer peer = peer_of_(*context);
    if (peer.role == auth::Role::kNone && !peer.refusal.empty()) {
      reactor->Finish({grpc::StatusCode::PERMISSION_DENIED, peer.refusal});
      return reactor;
    }
    *answer = answers_.role();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  // Others may not hold a takeover up: an agent's or a person's certificate is refused.
  grpc::ServerUnaryReactor* Promise(grpc::CallbackServerContext* context,
                                    const api::PromiseRequest* request,
                                    api::PromiseAnswer* answer) override {
    auto* reactor = context->DefaultReactor();
    if (const Status may = auth::may_stand_by(peer_of_(*context)); !may) {
      reactor->Finish({grpc::StatusCode::PERMISSION_DENIED, may.error().message});
      return reactor;
    }
    *answer = answers_.promise(*request);
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const RoleAnswers answers_;
  const PeerOf peer_of_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_role_service(RoleAnswers answers, PeerOf peer_of) {
  return std::make_unique<RoleService>(std::move(answers), std::move(peer_of));
}

// A channel for each call: the calls are rare, and a kept one would remember failures.
Result<bool> ask_promise(const PeerAccess& access, const std::string& address,
                         std::int64_t generation, double seconds, double answer_seconds) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (!access.pem.certificate.empty() && !address.starts_with("unix:")) {
    trust::Material material = RG_TRY(trust::load_material(access.pem));
    credentials = grpc::SslCredentials({.pem_root_certs = std::move(material.authority),
                                        .pem_private_key = std::move(material.key),
                                        .pem_cert_chain = std::move(material.certificate)});
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto channel = grpc::CreateCustomChannel(address, credentials, arguments);
  const auto stub = api::Standby::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(static_cast<std::int64_t>(answer_seconds * 1e3)));
  api::PromiseRequest request;
  request.set_site(access.site);
  request.set_generation(generation);
  request.set_seconds(seconds);
  api::PromiseAnswer answer;
  if (const grpc::Status status = stub->Promise(&context, request, &answer); !status.ok())
    return fail(Code::kUnavailable,
                fmt::format("controller {}: {}", address, status.error_message()));
  return answer.promised();
}

}  // namespace railgauge::standby
