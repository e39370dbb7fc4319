// A judge service with fixed answers, for tests: an upgrade that regressed, its finding, a
// baseline.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller/api/judge.pb.h"
#include "kernels/core/base/result.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace railgauge::cli {

class FakeJudge {
 public:
  static std::unique_ptr<FakeJudge> create();
  virtual ~FakeJudge() = default;
  FakeJudge(const FakeJudge&) = delete;
  FakeJudge& operator=(const FakeJudge&) = delete;

  railgauge::api::Upgrade prepared;
  // The answers of JudgeUpgrade, one after the other; the last one from then on.
  std::vector<railgauge::api::Upgrade> verdicts;
  // The answers of GateUpgrade before it measures, one call after the other; OK lets a call
  // through.
  std::vector<Status> gate_failures;
  std::vector<std::string> gate_waits;  // reasons; after the failures
  bool waits_for_turn = false;          // such waits are for the controller, not for the nodes
  int judge_losses = 0;                 // calls of JudgeUpgrade that find no controller
  int looks_until_judged = 0;           // of GetUpgrade with an id, after which it has the verdict
  std::vector<railgauge::api::Upgrade> proposals;  // after the upgrades of ListUpgrades
  railgauge::api::FindingList findings;
  // The answer to a request that names a run: that run is judged, and it showed nothing.
  railgauge::api::FindingList findings_of_run;
  int answers_before_judged = 0;  // to such requests, without the time of the judgement
  railgauge::api::BaselineList baselines;
  railgauge::api::CertificateDocument
      certificate;  // none: the controller does not know the subject

  // The requests so far.
  [[nodiscard]] int gates() const;
  [[nodiscard]] railgauge::api::GateRequest last_gate() const;
  [[nodiscard]] railgauge::api::UpgradeRef last_judged() const;
  [[nodiscard]] railgauge::api::FindingStepRequest last_step() const;

  // For a grpc::ServerBuilder; lives as long as this object.
  virtual grpc::Service& service() = 0;

 protected:
  FakeJudge();  // filled with the sample answers

  mutable std::mutex mutex_;
  int gates_ = 0;
  std::size_t judged_ = 0;
  railgauge::api::GateRequest last_gate_;
  railgauge::api::UpgradeRef last_judged_;
  railgauge::api::FindingStepRequest last_step_;
};

}  // namespace railgauge::cli
