#include "controller/api/enrolment.grpc.pb.h"
#include "controller/rpc/services.h"
#include "controller/rpc/unary.h"

namespace railgauge {
namespace {

// Its calls wait for single rows of the store.
class EnrolmentService final : public api::Enrolment::CallbackService {
 public:
  EnrolmentService(enrol::Tokens& tokens, rpc::Gate& gate, fleet::WorkerPool& pool)
      : tokens_(tokens), gate_(gate), pool_(pool) {}

  RAILGAUGE_UNARY(CreateToken, pool_, api::CreateTokenRequest, api::NewToken,
                  tokens_.create(*request, peer.who))
  RAILGAUGE_UNARY(ListTokens, pool_, api::ListTokensRequest, api::TokenList, tokens_.list())
  RAILGAUGE_UNARY(RevokeToken, pool_, api::TokenRef, api::TokenInfo,
                  tokens_.revoke(request->token_id(), peer.who))

 private:
  static constexpr std::string_view kService = rpc::kEnrolment;

  enrol::Tokens& tokens_;
  rpc::Gate& gate_;
  fleet::WorkerPool& pool_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_enrolment_service(enrol::Tokens& tokens, rpc::Gate& gate,
                                                      fleet::WorkerPool& pool) {
  return std::make_unique<EnrolmentService>(tokens, gate, pool);
}

}  // namespace railgauge
