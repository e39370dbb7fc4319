#include "controller/cli/testing/fake_judge.h"

#include <algorithm>

#include "controller/api/judge.grpc.pb.h"
#include "controller/cli/testing/fake_status.h"
#include "controller/cli/testing/samples.h"

namespace railgauge::cli {

using namespace railgauge::api;

namespace {

// The fake's answers behind the generated service.
class JudgeService final : public FakeJudge, public api::Judge::Service {
 public:
  grpc::Service& service() override { return *this; }

  using Context = grpc::ServerContext;
  grpc::Status PrepareUpgrade(Context* context, const PrepareRequest* request,
                              Upgrade* answer) override;
  grpc::Status GateUpgrade(Context* context, const GateRequest* request, GateStep* answer) override;
  grpc::Status JudgeUpgrade(Context* context, const UpgradeRef* request, Upgrade* answer) override;
  grpc::Status ListUpgrades(Context* context, const ListUpgradesRequest* request,
                            UpgradeList* answer) override;
  grpc::Status GetUpgrade(Context* context, const UpgradeRef* request, Upgrade* answer) override;
  grpc::Status ListFindings(Context* context, const ListFindingsRequest* request,
                            FindingList* answer) override;
  grpc::Status GetFinding(Context* context, const FindingRef* request, Finding* answer) override;
  grpc::Status StepFinding(Context* context, const FindingStepRequest* request,
                           Finding* answer) override;
  grpc::Status MeasureFinding(Context* context, const MeasureFindingRequest* request,
                              Finding* answer) override;
  grpc::Status PinBaselines(Context* context, const PinRequest* request,
                            BaselineList* answer) override;
  grpc::Status ListBaselines(Context* context, const ListBaselinesRequest* request,
                             BaselineList* answer) override;
  grpc::Status GetCertificate(Context* context, const CertificateRequest* request,
                              CertificateDocument* answer) override;
};

constexpr const char* kUpgradeId = "ur-20261120-120000-1";

Upgrade sample_prepared() {
  Upgrade upgrade;
  upgrade.set_schema_version(1);
  upgrade.set_upgrade_id(kUpgradeId);
  upgrade.set_state("prepared");
  upgrade.set_suite("upgrade");
  upgrade.set_requested_by("ada");
  upgrade.set_created_at("2026-11-20T12:00:00Z");
  for (const char* node : {"n1", "n2"}) upgrade.add_nodes(node);
  for (const char* node : {"n3", "n4", "n5"}) upgrade.add_controls(node);
  upgrade.add_before_runs(kSampleRun);
  upgrade.set_visible_loss_percent(1.5);
  upgrade.set_expected_seconds(42);
  upgrade.add_notes(
      "verbs.write_bw bandwidth_bytes_per_second rate 65536 B: a loss of 1.50 % will be called, "
      "the bound is 1.0 %");
  upgrade.set_synthetic(true);
  return upgrade;
}

JudgedMetric sample_metric(const char* name, const char* verdict, double worse, double bound) {
  JudgedMetric metric;
  metric.set_name(name);
  metric.set_verdict(verdict);
  metric.set_worse_percent(worse);
  metric.set_low_percent(worse - 0.75);
  metric.set_high_percent(worse + 0.75);
  metric.set_bound_percent(bound);
  metric.set_changed_nodes(2);
  metric.set_control_nodes(3);
  metric.set_coverage(1);
  metric.set_p(0.0005);
  return metric;
}

Upgrade sample_verdict() {
  Upgrade upgrade = sample_prepared();
  upgrade.set_state("judged");
  upgrade.set_verdict("regressed");
  upgrade.set_kind("performance");
  upgrade.set_reason("verbs.write_bw bandwidth_bytes_per_second rate 65536 B: 4.50 % worse");
  upgrade.set_judged_at("2026-11-20T14:00:00Z");
  upgrade.add_after_runs("r-20261120-130000-2");
  upgrade.set_since("2026-11-20T12:30:00Z");
  JudgedMetric& worse = *upgrade.add_metrics();
  worse =
      sample_metric("verbs.write_bw bandwidth_bytes_per_second rate 65536 B", "regressed", 4.5, 1);
  worse.set_reason("4.50 % worse");
  JudgedPlace& place = *worse.add_places();
  place.set_node("n1");
  place.set_endpoint("mlx5_0:1");
  place.set_worse_percent(5);
  place.set_low_percent(3.5);
  place.set_high_percent(6.5);
  *upgrade.add_metrics() = sample_metric("verbs.write_lat latency_ns median 8 B", "pass", 0.25, 2);
  UpgradeCause& cause = *upgrade.add_causes();
  cause.add_changes("gpu_driver 575.51 -> 580.95");
  cause.set_exposed(2);
  cause.set_exposed_worse(2);
  cause.set_unexposed(3);
  cause.set_p(0.1);
  cause.set_explains(true);
  upgrade.add_excluded("hardware: no NIC or GPU was replaced in between");
  upgrade.clear_notes();
  upgrade.clear_visible_loss_percent();
  upgrade.clear_expected_seconds();
  upgrade.add_next(
      "undo gpu_driver on one of the nodes, then: railgauge upgrades gate --nodes NODE");
  for (const double level : {1.0, 1.01, 0.99}) upgrade.add_before_levels(level);
  for (const double level : {0.95, 0.96, 0.955}) upgrade.add_after_levels(level);
  upgrade.set_finding_id(std::string(kUpgradeId) + "-performance");
  return upgrade;
}

Finding sample_finding() {
  Finding finding;
  finding.set_schema_version(1);
  finding.set_finding_id(std::string(kUpgradeId) + "-performance");
  finding.set_kind("regression");
  finding.set_state("new");
  finding.set_severity("critical");
  finding.set_summary("verbs.write_bw bandwidth_bytes_per_second rate 65536 B: 4.50 % worse");
  finding.set_suspect("gpu_driver 575.51 -> 580.95");
  finding.set_worse_percent(4.5);
  finding.set_opened_at("2026-11-20T14:00:00Z");
  finding.set_changed_at("2026-11-20T14:00:00Z");
  finding.set_run_id("r-20261120-130000-2");
  finding.set_upgrade_id(kUpgradeId);
  FindingSeries& series = *finding.add_series();
  series.set_series_id(4711);
  series.set_name("verbs.write_bw bandwidth_bytes_per_second 65536 B n1/mlx5_0:1 n2/mlx5_0:1");
  series.set_unit("bytes_per_second");
  series.set_before(48e9);
  series.set_after(45.84e9);
  FindingStep& step = *finding.add_steps();
  step.set_at("2026-11-20T14:00:00Z");
  step.set_action("opened");
  step.set_text(finding.summary());
  return finding;
}

BaselineList sample_baselines() {
  BaselineList list;
  list.set_schema_version(1);
  Baseline& one = *list.add_baselines();
  one.set_series_id(4711);
  one.set_name("verbs.write_bw bandwidth_bytes_per_second 65536 B n1/mlx5_0:1 n2/mlx5_0:1");
  one.set_kind("golden");
  one.set_unit("bytes_per_second");
  one.set_level(48e9);
  one.set_now(45.84e9);
  one.set_worse_percent(4.5);
  one.set_set_at("2026-11-01T00:00:00Z");
  one.set_who("ada");
  one.set_note("acceptance");
  return list;
}

}  // namespace

std::unique_ptr<FakeJudge> FakeJudge::create() { return std::make_unique<JudgeService>(); }

FakeJudge::FakeJudge()
    : prepared(sample_prepared()), verdicts{sample_verdict()}, baselines(sample_baselines()) {
  findings.set_schema_version(1);
  *findings.add_findings() = sample_finding();
  findings_of_run.set_schema_version(1);
  findings_of_run.set_judged_at("2026-11-20T12:00:14Z");
  findings.set_measured_twice(1204);
  findings.set_measured_twice_apart(12);
}

int FakeJudge::gates() const {
  const std::lock_guard lock(mutex_);
  return gates_;
}
GateRequest FakeJudge::last_gate() const {
  const std::lock_guard lock(mutex_);
  return last_gate_;
}
UpgradeRef FakeJudge::last_judged() const {
  const std::lock_guard lock(mutex_);
  return last_judged_;
}
FindingStepRequest FakeJudge::last_step() const {
  const std::lock_guard lock(mutex_);
  return last_step_;
}

grpc::Status JudgeService::PrepareUpgrade(Context*, const PrepareRequest*, Upgrade* answer) {
  *answer = prepared;
  answer->set_run_id(kSampleRun);
  return {};
}

grpc::Status JudgeService::GateUpgrade(Context*, const GateRequest* request, GateStep* answer) {
  const std::lock_guard lock(mutex_);
  last_gate_ = *request;
  ++gates_;
  answer->set_schema_version(1);
  if (!gate_failures.empty()) {
    const Status failure = gate_failures.front();
    gate_failures.erase(gate_failures.begin());
    if (!failure) return to_grpc(failure);
  }
  if (!gate_waits.empty()) {
    answer->set_state("waiting");
    answer->set_reason(gate_waits.front());
    if (waits_for_turn) answer->set_upgrade_id(kUpgradeId);
    gate_waits.erase(gate_waits.begin());
    return {};
  }
  answer->set_state("measuring");
  answer->set_upgrade_id(kUpgradeId);
  answer->set_run_id(kSampleRun);
  return {};
}

grpc::Status JudgeService::JudgeUpgrade(Context*, const UpgradeRef* request, Upgrade* answer) {
  const std::lock_guard lock(mutex_);
  if (judge_losses > 0 && judge_losses-- > 0) return {grpc::StatusCode::UNAVAILABLE, "gone"};
  last_judged_ = *request;
  *answer = verdicts[std::min(judged_, verdicts.size() - 1)];
  ++judged_;
  return {};
}

grpc::Status JudgeService::ListUpgrades(Context*, const ListUpgradesRequest*, UpgradeList* answer) {
  answer->set_schema_version(1);
  *answer->add_upgrades() = verdicts.back();
  for (const Upgrade& proposal : proposals) *answer->add_upgrades() = proposal;
  return {};
}

grpc::Status JudgeService::GetUpgrade(Context*, const UpgradeRef* request, Upgrade* answer) {
  const std::lock_guard lock(mutex_);
  *answer = request->upgrade_id().empty() ? verdicts.back() : prepared;
  if (looks_until_judged > 0 && --looks_until_judged == 0) prepared = verdicts.back();
  return {};
}

grpc::Status JudgeService::ListFindings(Context*, const ListFindingsRequest* request,
                                        FindingList* answer) {
  *answer = request->run_id().empty() ? findings : findings_of_run;
  const std::lock_guard lock(mutex_);
  if (!request->run_id().empty() && answers_before_judged > 0) {
    --answers_before_judged;
    answer->clear_judged_at();
  }
  return {};
}

grpc::Status JudgeService::GetFinding(Context*, const FindingRef*, Finding* answer) {
  *answer = findings.findings(0);
  answer->set_good_at("2026-11-18T02:10:00Z");
  answer->set_since("2026-11-19T02:10:00Z");
  for (const double level : {1.0, 1.002, 0.999}) answer->add_before_levels(level);
  for (const double level : {0.955, 0.954}) answer->add_after_levels(level);
  answer->add_causes("n1, n2: gpu_driver 575.51 -> 580.95 (2026-11-18T16:00:00Z)");
  answer->add_excluded("no event of links was told by n1, n2");
  answer->add_next("railgauge preflight n1");
  answer->set_event_id("step-n1-verbs.write_lat");
  answer->add_same_event("step-n1-verbs.write_lat: 3.1 % worse");
  answer->add_common("leaf l1");
  return {};
}

grpc::Status JudgeService::StepFinding(Context*, const FindingStepRequest* request,
                                       Finding* answer) {
  {
    const std::lock_guard lock(mutex_);
    last_step_ = *request;
  }
  *answer = findings.findings(0);
  answer->set_state(request->action() == "ack"           ? "acknowledged"
                    : request->action() == "investigate" ? "investigating"
                    : request->action() == "downstream"  ? "downstream"
                    : request->action() == "reset"       ? "confirmed"
                    : request->action() == "roll_back"   ? "rolled_back"
                                                         : "accepted");
  FindingStep& step = *answer->add_steps();
  step.set_at("2026-11-20T15:00:00Z");
  step.set_who("ada");
  step.set_action(request->action());
  step.set_text(request->text());
  return {};
}

grpc::Status JudgeService::MeasureFinding(Context* context, const MeasureFindingRequest* request,
                                          Finding* answer) {
  const FindingRef ref;
  if (const grpc::Status got = GetFinding(context, &ref, answer); !got.ok()) return got;
  FindingRun& run = *answer->add_runs();
  run.set_run_id(kSampleRun);
  run.set_kind(request->kind());
  run.set_at("2026-11-20T15:00:00Z");
  run.set_who("ada");
  run.set_state("running");
  answer->set_confirmation("running");
  return {};
}

grpc::Status JudgeService::PinBaselines(Context*, const PinRequest*, BaselineList* answer) {
  *answer = baselines;
  return {};
}

grpc::Status JudgeService::ListBaselines(Context*, const ListBaselinesRequest*,
                                         BaselineList* answer) {
  *answer = baselines;
  return {};
}
grpc::Status JudgeService::GetCertificate(Context*, const CertificateRequest* request,
                                          CertificateDocument* answer) {
  if (certificate.text().empty())
    return to_grpc(fail(Code::kInvalidArgument,
                        "no run and no upgrade " + request->subject() + "; it is not there"));
  *answer = certificate;
  return {};
}

}  // namespace railgauge::cli
