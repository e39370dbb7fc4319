// The certificate of an upgrade: its verdict, what that rests on, and what it could see.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controller/certificate/evidence/certifier.h"
#include "controller/certificate/evidence/shared.h"
#include "controller/upgrades/upgrade_judge.h"
#include "kernels/core/text/fold.h"

namespace railgauge::certificate {
namespace {

std::vector<std::string> texts_of(const google::protobuf::RepeatedPtrField<std::string>& list) {
  return {list.begin(), list.end()};
}

double rounded(double percent) { return percent_of(percent / 100); }

// A common loss of that size has its whole interval above 0 and is no pass, in 95 of 100 cases: the
// interval of 90 % reaches 1.645 errors to each side, or farther where its error is estimated.
double smallest_loss_of(const api::JudgedMetric& metric) {
  return std::max(metric.bound_percent(), metric.high_percent() - metric.low_percent());
}

// Adds one metric in round figures.
void add_metric(const api::JudgedMetric& metric, Certificate& out) {
  CertifiedMetric& told = *out.add_metrics();
  told.set_name(metric.name());
  told.set_verdict(metric.verdict());
  told.set_worse_percent(rounded(metric.worse_percent()));
  if (metric.has_low_percent()) told.set_low_percent(rounded(metric.low_percent()));
  if (metric.has_high_percent()) told.set_high_percent(rounded(metric.high_percent()));
  told.set_bound_percent(rounded(metric.bound_percent()));
  if (metric.has_low_percent() && metric.has_high_percent())
    told.set_smallest_loss_percent(rounded(smallest_loss_of(metric)));
  told.set_measured_share(percent_of(metric.coverage()) / 100);
  told.set_missing(fold_names(texts_of(metric.missing())));
}

// Adds the stacks of both sides, and the tasks of the after side: those of before may be of nights.
Status add_sides(const store::Store& store, const store::UpgradeRow& row, Certificate& out) {
  std::map<std::string, std::int64_t> after;
  std::map<std::string, std::int64_t> before;
  for (const store::UpgradeNodeRow& node : row.nodes) {
    before[node.node] = node.stack_before;
    // A control's stack did not change, which the verdict has checked.
    after[node.node] = node.stack_after != 0 || node.changed ? node.stack_after : node.stack_before;
  }
  RG_TRY_OK(add_stacks(store, after, before, out));
  for (const store::UpgradeRunRow& run : row.runs) {
    out.add_runs(run.run_id);
    if (!run.after) continue;
    RG_TRY_OK(add_tasks(store, run.run_id, out));
    RG_TRY_OK(add_suite(store, run.run_id, out));
  }
  return {};
}

}  // namespace

Result<Certificate> certificate_of_upgrade(const store::Store& store,
                                           const std::string& upgrade_id) {
  const store::UpgradeRow row = RG_TRY(store.read(store::read_upgrade, upgrade_id));
  if (row.state != store::UpgradeState::kJudged)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("upgrade {} is not judged yet; railgauge upgrades gate does it", upgrade_id));
  const api::Upgrade report = RG_TRY(upgrade_report(store, upgrade_id));
  Certificate out;
  out.set_schema_version(1);
  out.set_kind("upgrade");
  out.set_subject(upgrade_id);
  out.set_suite(row.suite);
  out.set_trigger("upgrade");
  out.set_requested_by(row.requested_by);
  out.set_verdict(report.verdict());
  if (report.has_reason()) out.set_reason(report.reason());
  if (report.has_judged_at()) out.set_judged_at(report.judged_at());
  out.set_nodes(folded(texts_of(report.nodes())));
  out.set_controls(folded(texts_of(report.controls())));
  RG_TRY_OK(add_data_kind(store, out));
  RG_TRY_OK(add_sides(store, row, out));
  for (const api::JudgedMetric& metric : report.metrics()) add_metric(metric, out);
  for (const api::PlaceSight& sight : report.sight()) {
    CertifiedPlaces& told = *out.add_places();
    told.set_metric(sight.metric());
    told.set_places(sight.places());
    told.set_count(sight.count());
    if (sight.has_smallest_loss_percent())
      told.set_smallest_loss_percent(rounded(sight.smallest_loss_percent()));
  }
  for (const api::LostFunction& lost : report.lost())
    out.add_lost_functions(
        fmt::format("{}/{} {}: {}", lost.node(), lost.endpoint(), lost.name(), lost.what()));
  *out.mutable_limits() = report.notes();
  return out;
}

}  // namespace railgauge::certificate
