#include <optional>
#include <utility>

#include <fmt/format.h>

#include "controller/api/judge.grpc.pb.h"
#include "controller/findings/finding_service.h"
#include "controller/gate/finding_runs.h"
#include "controller/gate/gate_service.h"
#include "controller/gate/open_proposals.h"
#include "controller/rpc/services.h"
#include "controller/rpc/unary.h"
#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/upgrade_judge.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kUpgrades = 50;  // listed when the caller sets no limit

// A name that the caller got wrong is wrong use, not a missing part of the system.
template <class Value>
Result<Value> as_wrong_use(Result<Value> result) {
  if (!result && result.error().code == Code::kNotFound)
    return fail(Code::kInvalidArgument, result.error().message);
  return result;
}

class JudgeService final : public api::Judge::CallbackService {
 public:
  JudgeService(Control& control, store::Store& store, rpc::Gate& gate, const JudgePools& pools,
               Certify certify, LeafSource leaves)
      : store_(store),
        upgrades_(control, store),
        findings_(store, std::move(leaves)),
        finding_runs_(control, store),
        certify_(std::move(certify)),
        gate_(gate),
        queries_(pools.queries),
        verdicts_(pools.verdicts) {}

  RAILGAUGE_UNARY(PrepareUpgrade, verdicts_, api::PrepareRequest, api::Upgrade,
                  upgrades_.prepare(*request, peer.who))
  RAILGAUGE_UNARY(GateUpgrade, verdicts_, api::GateRequest, api::GateStep,
                  upgrades_.gate(*request, peer.who))
  RAILGAUGE_UNARY(JudgeUpgrade, verdicts_, api::UpgradeRef, api::Upgrade, judge(*request))
  RAILGAUGE_UNARY(ListUpgrades, queries_, api::ListUpgradesRequest, api::UpgradeList,
                  list_upgrades(*request))
  RAILGAUGE_UNARY(GetUpgrade, queries_, api::UpgradeRef, api::Upgrade,
                  as_wrong_use(get_upgrade(request->upgrade_id())))
  RAILGAUGE_UNARY(ListFindings, queries_, api::ListFindingsRequest, api::FindingList,
                  findings_.list(*request, fleet::unix_seconds()))
  RAILGAUGE_UNARY(GetFinding, queries_, api::FindingRef, api::Finding,
                  findings_.get(request->finding_id(), fleet::unix_seconds()))
  RAILGAUGE_UNARY(StepFinding, queries_, api::FindingStepRequest, api::Finding,
                  findings_.step(*request, peer.who, fleet::unix_seconds()))
  RAILGAUGE_UNARY(MeasureFinding, verdicts_, api::MeasureFindingRequest, api::Finding,
                  measure(*request, peer.who))
  RAILGAUGE_UNARY(PinBaselines, queries_, api::PinRequest, api::BaselineList,
                  findings_.pin(*request, peer.who, fleet::unix_seconds()))
  RAILGAUGE_UNARY(ListBaselines, queries_, api::ListBaselinesRequest, api::BaselineList,
                  findings_.baselines(*request))
  RAILGAUGE_UNARY(GetCertificate, queries_, api::CertificateRequest, api::CertificateDocument,
                  certify_(request->subject()))

 private:
  static constexpr std::string_view kService = rpc::kJudge;

  Result<api::Upgrade> judge(const api::UpgradeRef& request) {
    std::optional<double> coverage;
    if (request.has_min_coverage()) coverage = request.min_coverage();
    if (coverage && !(*coverage > 0 && *coverage <= 1))
      return fail(Code::kInvalidArgument,
                  fmt::format("min_coverage: {} is no share between 0 and 1", *coverage));
    return as_wrong_use(
        judge_and_keep(store_, request.upgrade_id(), fleet::unix_seconds(), coverage));
  }
  Result<api::Finding> measure(const api::MeasureFindingRequest& request, const std::string& who) {
    const auto started =
        as_wrong_use(finding_runs_.start(request.finding_id(), request.kind(), who));
    if (!started) return tl::unexpected(started.error());
    return findings_.get(request.finding_id(), fleet::unix_seconds());
  }
  // A judged upgrade has a certificate, whose digest is part of the answer.
  Result<api::Upgrade> get_upgrade(const std::string& upgrade_id) {
    api::Upgrade upgrade = RG_TRY(upgrade_report(store_, upgrade_id));
    if (!upgrade.has_verdict()) return upgrade;
    const auto document = certify_(upgrade.upgrade_id());
    if (document) upgrade.set_certificate_digest(document->digest());
    return upgrade;
  }
  // Proposals come after the upgrades and count in no limit: the first entry is the newest upgrade.
  Result<api::UpgradeList> list_upgrades(const api::ListUpgradesRequest& request) {
    api::UpgradeList list;
    list.set_schema_version(kSchemaVersion);
    const std::uint32_t limit = request.limit() == 0 ? kUpgrades : request.limit();
    for (const store::UpgradeRow& row : RG_TRY(store_.read(store::read_upgrades, limit)))
      *list.add_upgrades() = summary_of(row);
    for (const report::WaitingProposal& waiting :
         RG_TRY(open_proposals(store_, fleet::unix_seconds())))
      *list.add_upgrades() = entry_of(waiting);
    return list;
  }

  store::Store& store_;
  GateService upgrades_;
  FindingService findings_;
  FindingRuns finding_runs_;
  const Certify certify_;
  rpc::Gate& gate_;
  fleet::WorkerPool& queries_;
  fleet::WorkerPool& verdicts_;
};

}  // namespace

std::unique_ptr<grpc::Service> make_judge_service(Control& control, store::Store& store,
                                                  rpc::Gate& gate, const JudgePools& pools,
                                                  Certify certify, LeafSource leaves) {
  return std::make_unique<JudgeService>(control, store, gate, pools, std::move(certify),
                                        std::move(leaves));
}

}  // namespace railgauge
