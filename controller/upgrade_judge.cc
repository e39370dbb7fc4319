#include "controller/upgrade_judge.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/json_util.h>

#include "controller/judge_report.h"
#include "controller/rfc3339.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kEpochs = 50;  // of a node, newest first, in which its stacks are sought

// The stack's parts; empty where the node never had it.
const store::EpochRow* with_stack(const std::vector<store::EpochRow>& epochs, std::int64_t stack) {
  const auto found = std::ranges::find(epochs, stack, &store::EpochRow::stack);
  return found == epochs.end() ? nullptr : &*found;
}

NodeStacks stacks_of(const store::UpgradeNodeRow& node,
                     const std::vector<store::EpochRow>& epochs) {
  NodeStacks out;
  const std::int64_t now = node.stack_after != 0 ? node.stack_after
                           : epochs.empty()      ? 0
                                                 : epochs.front().stack;
  const store::EpochRow* before = with_stack(epochs, node.stack_before);
  const store::EpochRow* after = with_stack(epochs, now);
  if (before != nullptr) out.before = before->parts;
  if (after != nullptr) out.after = after->parts;
  if (before != nullptr && after != nullptr)
    out.changes = store::stack_changes(out.before, out.after);
  for (const store::EpochRow& epoch : epochs) {
    if (before == nullptr || epoch.stack == node.stack_before) break;
    out.hardware_replaced = out.hardware_replaced || epoch.cause == "hardware_replaced";
  }
  return out;
}

std::vector<std::string> runs_of_side(const store::UpgradeRow& upgrade, bool after) {
  std::vector<std::string> ids;
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (run.after == after) ids.push_back(run.run_id);
  return ids;
}

// When the first changed node left its stack; 0: none has.
Result<double> since_when(const store::Store& store, const Sides& sides) {
  double since = std::numeric_limits<double>::max();
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    if (!node.changed) continue;
    for (const store::EpochRow& epoch : RG_TRY(store.epochs(node.node_id, kEpochs))) {
      if (epoch.stack == node.stack_before) break;
      since = std::min(since, epoch.valid_from);
    }
  }
  return since == std::numeric_limits<double>::max() ? 0 : since;
}

std::string json_of(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  static_cast<void>(google::protobuf::util::MessageToJsonString(message, &text, options));
  return text;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// Series of the changed nodes whose metric regressed, with their levels.
std::vector<store::FindingSeriesRow> moved_series(const Sides& sides, const api::Upgrade& report) {
  std::set<std::string> names;
  for (const api::JudgedMetric& metric : report.metrics())
    if (metric.verdict() == "regressed") names.insert(metric.name());
  std::map<std::int64_t, std::pair<std::vector<double>, std::vector<double>>> levels;
  for (const store::SidePointRow& point : sides.before)
    levels[point.series].first.push_back(point.median);
  for (const store::SidePointRow& point : sides.after)
    levels[point.series].second.push_back(point.median);
  const std::set<std::string> changed = changed_nodes(sides);
  std::vector<store::FindingSeriesRow> out;
  for (const auto& [id, series] : sides.series) {
    if (!names.contains(metric_text(series, "median"))) continue;
    const bool ours = std::ranges::any_of(series.endpoints, [&](const std::string& text) {
      return changed.contains(text.substr(0, text.find('/')));
    });
    const auto& [before, after] = levels[id];
    if (ours && !before.empty() && !after.empty())
      out.push_back({.series = id, .before = median_of(before), .after = median_of(after)});
  }
  return out;
}

std::string suspect_of(const api::Upgrade& report) {
  if (report.causes().empty()) return "";
  return fmt::format("{}", fmt::join(report.causes(0).changes(), "; "));
}

// One event, one finding: all that an upgrade made worse is of one kind's finding. One that is
// judged again is told so; one that got worse after it was accepted or closed opens again.
Status keep_finding(store::Store& store, const Sides& sides, api::Upgrade& report, double now) {
  if (report.verdict() != "regressed") return {};
  const double worse = report.metrics().empty() ? 0 : report.metrics(0).worse_percent() / 100;
  store::FindingRow finding{.finding_id = fmt::format("{}-{}", report.upgrade_id(), report.kind()),
                            .kind = report.kind() == "performance" ? "regression" : report.kind(),
                            .severity = "critical",
                            .suspect = suspect_of(report),
                            .summary = report.reason(),
                            .opened_at = now,
                            .upgrade_id = report.upgrade_id(),
                            .series = moved_series(sides, report)};
  if (report.kind() == "performance") finding.worse = worse;
  if (!report.after_runs().empty())
    finding.run_id = report.after_runs(report.after_runs_size() - 1);
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes)
    if (node.changed && finding.node_id.empty()) finding.node_id = node.node_id;
  finding.evidence = json_of(report);
  report.set_finding_id(finding.finding_id);
  const auto known = store.finding(finding.finding_id);
  if (!known) return store.open_finding(std::move(finding));
  const double delta = report.metrics().empty() ? 0 : report.metrics(0).bound_percent() / 100;
  const bool settled =
      known->state != "new" && known->state != "confirmed" && known->state != "reopened";
  const bool grew = !known->worse || worse > *known->worse + delta;
  return store.step_finding(finding.finding_id,
                            {.at = now,
                             .who = "judge",
                             .action = settled && grew ? "reopen" : "comment",
                             .text = fmt::format("measured again: {}", report.reason())});
}

}  // namespace

Result<Sides> read_sides(const store::Store& store, const std::string& upgrade_id) {
  Sides sides{.upgrade = RG_TRY(store.upgrade(upgrade_id))};
  std::vector<std::string> changed;
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    sides.stacks[node.node] = stacks_of(node, RG_TRY(store.epochs(node.node_id, kEpochs)));
    if (node.changed) changed.push_back(node.node_id);
  }
  sides.endpoints = RG_TRY(store.endpoint_states(changed));
  const std::vector<std::string> before = runs_of_side(sides.upgrade, false);
  const std::vector<std::string> after = runs_of_side(sides.upgrade, true);
  sides.before = RG_TRY(store.side_points(before));
  sides.after = RG_TRY(store.side_points(after));
  sides.tasks_before = RG_TRY(store.side_tasks(before));
  sides.tasks_after = RG_TRY(store.side_tasks(after));
  for (const auto* side : {&sides.before, &sides.after})
    for (const store::SidePointRow& point : *side)
      if (!sides.series.contains(point.series))
        sides.series[point.series] = RG_TRY(store.series(point.series));
  return sides;
}

Result<api::Upgrade> judge_and_keep(store::Store& store, const std::string& upgrade_id,
                                    double now) {
  const Sides sides = RG_TRY(read_sides(store, upgrade_id));
  const analysis::UpgradeRuns runs = runs_of(sides);
  const analysis::UpgradeVerdict verdict = analysis::judge_upgrade(runs);
  store::UpgradeRow judged = sides.upgrade;
  api::Upgrade report = report_of(sides, runs, verdict, RG_TRY(since_when(store, sides)));
  judged.verdict = report.verdict();
  judged.kind = report.kind();
  judged.reason = report.reason();
  judged.judged_at = now;
  report.set_judged_at(rfc3339(now));
  RG_TRY_OK(keep_finding(store, sides, report, now));
  judged.report = json_of(report);
  RG_TRY_OK(store.judge_upgrade(std::move(judged)));
  return report;
}

Result<api::Upgrade> upgrade_report(const store::Store& store, const std::string& upgrade_id) {
  std::string id = upgrade_id;
  if (id.empty()) {
    const auto newest = RG_TRY(store.list_upgrades(1));
    if (newest.empty())
      return fail(Code::kNotFound,
                  "no upgrade yet; railgauge upgrades prepare --nodes SET begins one");
    id = newest.front().upgrade_id;
  }
  const store::UpgradeRow row = RG_TRY(store.upgrade(id));
  if (row.state == "judged") {
    api::Upgrade report;
    google::protobuf::util::JsonParseOptions options;
    options.ignore_unknown_fields = true;
    if (google::protobuf::util::JsonStringToMessage(row.report, &report, options).ok())
      return report;
  }
  api::Upgrade report = summary_of(row);
  add_promise(runs_of(RG_TRY(read_sides(store, id))), report);
  return report;
}

}  // namespace railgauge
