// The Judge service on the wire: who may call what, on worker threads. What the answers are stands
// in gate_service.h, upgrade_judge.h and finding_service.h.
#pragma once

#include <functional>

#include <grpcpp/grpcpp.h>

#include "controller/api/judge.grpc.pb.h"
#include "controller/findings/finding_service.h"
#include "controller/fleet/auth.h"
#include "controller/fleet/worker_pool.h"
#include "controller/gate/gate_service.h"

namespace railgauge {

class JudgeService final : public api::Judge::CallbackService {
 public:
  // Everything outlives it; the pool is to be destroyed after the server's last call ended.
  JudgeService(Control& control, store::Store& store, const auth::PeerBook& peers,
               fleet::WorkerPool& pool, LeafSource leaves = {})
      : store_(store),
        upgrades_(control, store),
        findings_(store, std::move(leaves)),
        peers_(peers),
        pool_(pool) {}

  using Unary = grpc::ServerUnaryReactor;
  using Context = grpc::CallbackServerContext;
  Unary* PrepareUpgrade(Context* context, const api::PrepareRequest* request,
                        api::Upgrade* response) override;
  Unary* GateUpgrade(Context* context, const api::GateRequest* request,
                     api::GateStep* response) override;
  Unary* JudgeUpgrade(Context* context, const api::UpgradeRef* request,
                      api::Upgrade* response) override;
  Unary* ListUpgrades(Context* context, const api::ListUpgradesRequest* request,
                      api::UpgradeList* response) override;
  Unary* GetUpgrade(Context* context, const api::UpgradeRef* request,
                    api::Upgrade* response) override;
  Unary* ListFindings(Context* context, const api::ListFindingsRequest* request,
                      api::FindingList* response) override;
  Unary* GetFinding(Context* context, const api::FindingRef* request,
                    api::Finding* response) override;
  Unary* StepFinding(Context* context, const api::FindingStepRequest* request,
                     api::Finding* response) override;
  Unary* PinBaselines(Context* context, const api::PinRequest* request,
                      api::BaselineList* response) override;
  Unary* ListBaselines(Context* context, const api::ListBaselinesRequest* request,
                       api::BaselineList* response) override;

 private:
  enum class Access { kRead, kWrite };
  // Checks the caller, then answers on a worker thread.
  template <class Response>
  Unary* answer(Context* context, Access access, Response* response,
                std::function<Result<Response>(const auth::Peer&)> work);

  store::Store& store_;
  GateService upgrades_;
  FindingService findings_;
  const auth::PeerBook& peers_;
  fleet::WorkerPool& pool_;
};

}  // namespace railgauge
