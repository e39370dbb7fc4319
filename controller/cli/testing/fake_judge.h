// A judge service with fixed answers, for tests: an upgrade that regressed, its finding, a
// baseline.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "controller/api/judge.grpc.pb.h"

namespace railgauge::cli {

class FakeJudge final : public railgauge::api::Judge::Service {
 public:
  FakeJudge();  // filled with sample answers

  railgauge::api::Upgrade prepared;
  // The answers of JudgeUpgrade, one after the other; the last one from then on.
  std::vector<railgauge::api::Upgrade> verdicts;
  // The answers of GateUpgrade before it measures, one call after the other; OK lets a call
  // through.
  std::vector<grpc::Status> gate_failures;
  std::vector<std::string> gate_waits;  // reasons; after the failures
  railgauge::api::FindingList findings;
  railgauge::api::BaselineList baselines;

  // The requests so far.
  [[nodiscard]] int gates() const;
  [[nodiscard]] railgauge::api::GateRequest last_gate() const;
  [[nodiscard]] railgauge::api::UpgradeRef last_judged() const;

  using Context = grpc::ServerContext;
  grpc::Status PrepareUpgrade(Context* context, const railgauge::api::PrepareRequest* request,
                              railgauge::api::Upgrade* answer) override;
  grpc::Status GateUpgrade(Context* context, const railgauge::api::GateRequest* request,
                           railgauge::api::GateStep* answer) override;
  grpc::Status JudgeUpgrade(Context* context, const railgauge::api::UpgradeRef* request,
                            railgauge::api::Upgrade* answer) override;
  grpc::Status ListUpgrades(Context* context, const railgauge::api::ListUpgradesRequest* request,
                            railgauge::api::UpgradeList* answer) override;
  grpc::Status GetUpgrade(Context* context, const railgauge::api::UpgradeRef* request,
                          railgauge::api::Upgrade* answer) override;
  grpc::Status ListFindings(Context* context, const railgauge::api::ListFindingsRequest* request,
                            railgauge::api::FindingList* answer) override;
  grpc::Status GetFinding(Context* context, const railgauge::api::FindingRef* request,
                          railgauge::api::Finding* answer) override;
  grpc::Status StepFinding(Context* context, const railgauge::api::FindingStepRequest* request,
                           railgauge::api::Finding* answer) override;
  grpc::Status PinBaselines(Context* context, const railgauge::api::PinRequest* request,
                            railgauge::api::BaselineList* answer) override;
  grpc::Status ListBaselines(Context* context, const railgauge::api::ListBaselinesRequest* request,
                             railgauge::api::BaselineList* answer) override;

 private:
  mutable std::mutex mutex_;
  int gates_ = 0;
  std::size_t judged_ = 0;
  railgauge::api::GateRequest last_gate_;
  railgauge::api::UpgradeRef last_judged_;
};

}  // namespace railgauge::cli
