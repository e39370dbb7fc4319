#include "controller/upgrades/judge_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/upgrades/judge_advice.h"
#include "controller/upgrades/judge_notes.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

constexpr double kPercent = 100;

api::JudgedMetric to_api(const analysis::MetricVerdict& metric) {
  api::JudgedMetric out;
  out.set_name(metric.name);
  out.set_verdict(std::string(word(metric.verdict)));
  out.set_worse_percent(kPercent * metric.worse);
  if (metric.low) out.set_low_percent(kPercent * *metric.low);
  if (metric.high) out.set_high_percent(kPercent * *metric.high);
  out.set_bound_percent(kPercent * metric.delta);
  out.set_changed_nodes(static_cast<std::uint32_t>(metric.changed));
  out.set_control_nodes(static_cast<std::uint32_t>(metric.controls));
  out.set_coverage(metric.coverage);
  for (const std::string& place : metric.missing) out.add_missing(place);
  out.set_more_runs(static_cast<std::uint32_t>(metric.need.runs));
  out.set_more_nodes(static_cast<std::uint32_t>(metric.need.nodes));
  if (!metric.reason.empty()) out.set_reason(metric.reason);
  for (const analysis::PairFlag& flag : metric.flags) {
    api::JudgedPlace& place = *out.add_places();
    place.set_node(flag.node);
    place.set_endpoint(flag.endpoint);
    if (!flag.other_node.empty())
      place.set_or_other_end(fmt::format("{}/{}", flag.other_node, flag.other_endpoint));
    place.set_worse_percent(kPercent * flag.worse);
    place.set_low_percent(kPercent * flag.low);
    place.set_high_percent(kPercent * flag.high);
  }
  out.set_p(metric.p_worse);
  return out;
}

// From the gravest to the least.
int gravity(analysis::Verdict verdict) {
  switch (verdict) {
    case analysis::Verdict::kRegressed:
      return 0;
    case analysis::Verdict::kInvalid:
      return 1;
    case analysis::Verdict::kInconclusive:
      return 2;
    case analysis::Verdict::kPass:
      break;
  }
  return 3;
}

std::vector<const analysis::MetricVerdict*> worst_first(const analysis::UpgradeVerdict& verdict) {
  std::vector<const analysis::MetricVerdict*> out;
  for (const analysis::MetricVerdict& metric : verdict.metrics) out.push_back(&metric);
  std::ranges::stable_sort(out, [](const auto* a, const auto* b) {
    if (gravity(a->verdict) != gravity(b->verdict))
      return gravity(a->verdict) < gravity(b->verdict);
    return a->worse / a->delta > b->worse / b->delta;
  });
  return out;
}

// Each run's figures of the changed nodes as a share of their level before, in the order of runs.
void add_levels(const analysis::MetricRuns& metric, api::Upgrade& out) {
  std::map<std::size_t, std::pair<double, double>> before;  // sum and count by run
  std::map<std::size_t, std::pair<double, double>> after;
  for (const analysis::PairRuns& pair : metric.pairs) {
    if (!pair.changed || pair.before.empty()) continue;
    std::vector<double> sorted = pair.before;
    std::ranges::sort(sorted);
    const double level = sorted[sorted.size() / 2];
    if (!(level > 0)) continue;
    const auto add = [level](const std::vector<double>& values, auto& sums) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) continue;  // a run that is missing
        sums[i].first += values[i] / level;
        sums[i].second += 1;
      }
    };
    add(pair.before, before);
    add(pair.after, after);
  }
  for (const auto& [run, sum] : before) out.add_before_levels(sum.first / sum.second);
  for (const auto& [run, sum] : after) out.add_after_levels(sum.first / sum.second);
}

}  // namespace

api::Upgrade summary_of(const store::UpgradeRow& row) {
  api::Upgrade out;
  out.set_schema_version(kSchemaVersion);
  out.set_upgrade_id(row.upgrade_id);
  out.set_state(row.state);
  if (!row.verdict.empty()) out.set_verdict(row.verdict);
  if (!row.kind.empty()) out.set_kind(row.kind);
  if (!row.reason.empty()) out.set_reason(row.reason);
  out.set_suite(row.suite);
  out.set_requested_by(row.requested_by);
  out.set_created_at(rfc3339(row.created_at));
  if (row.judged_at > 0) out.set_judged_at(rfc3339(row.judged_at));
  for (const store::UpgradeNodeRow& node : row.nodes)
    (node.changed ? out.add_nodes() : out.add_controls())->assign(node.node);
  for (const store::UpgradeRunRow& run : row.runs)
    (run.after ? out.add_after_runs() : out.add_before_runs())->assign(run.run_id);
  out.set_before_is_history(row.before_is_history);
  return out;
}

api::Upgrade report_of(const Sides& sides, const analysis::UpgradeRuns& runs,
                       const analysis::UpgradeVerdict& verdict, double since) {
  api::Upgrade out = summary_of(sides.upgrade);
  out.set_state("judged");
  out.set_verdict(std::string(word(verdict.verdict)));
  if (!verdict.kind.empty()) out.set_kind(verdict.kind);
  if (!verdict.reason.empty()) out.set_reason(verdict.reason);
  if (since > 0) out.set_since(rfc3339(since));
  const auto sorted = worst_first(verdict);
  for (const analysis::MetricVerdict* metric : sorted) *out.add_metrics() = to_api(*metric);
  for (const analysis::LostFunction& lost : verdict.lost) {
    api::LostFunction& told = *out.add_lost();
    told.set_node(lost.sides.node);
    told.set_endpoint(lost.sides.endpoint);
    told.set_name(lost.sides.name);
    told.set_kind(std::string(word(lost.kind)));
    told.set_what(lost.what);
  }
  add_causes(sides, verdict, out);
  add_excluded(sides, verdict, out);
  for (const std::string& note : verdict.notes) out.add_notes(note);
  add_notes(sides, out);
  add_next(sides, verdict, out);
  if (!sorted.empty())
    for (const analysis::MetricRuns& metric : runs.metrics)
      if (metric.name == sorted.front()->name) add_levels(metric, out);
  const auto is_synthetic = [](const store::SidePointRow& point) { return point.synthetic; };
  out.set_synthetic(std::ranges::any_of(sides.before, is_synthetic) ||
                    std::ranges::any_of(sides.after, is_synthetic));
  return out;
}

}  // namespace railgauge
