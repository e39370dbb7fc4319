#include "controller/upgrades/upgrade_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/plan/suite/suite.h"
#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/same_stack.h"
#include "controller/upgrades/upgrade_data.h"
#include "controller/upgrades/upgrade_findings.h"
#include "controller/verdict/equivalence.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kEpochs = 50;  // of a node, newest first, in which its changes are sought
constexpr double kDaySeconds = 86'400;
constexpr double kCheckDays = 14;            // older preflights say nothing of the before side
constexpr double kAskedBeforeSeconds = 120;  // somebody's own preflight may be as early
constexpr double kNever = 1e12;              // unix seconds

// By the stacks' own ids: an epoch learns what was not known and has another stack then.
Result<NodeStacks> stacks_of(const store::Store& store, const store::UpgradeNodeRow& node,
                             double measured_before) {
  NodeStacks out;
  const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id, kEpochs));
  const std::int64_t now = node.stack_after != 0 ? node.stack_after
                           : epochs.empty()      ? 0
                                                 : epochs.front().stack;
  out.known = node.stack_before != 0 && now != 0;
  if (node.stack_before != 0)
    out.before = RG_TRY(store.read(store::read_stack_parts, node.stack_before));
  if (now != 0) out.after = RG_TRY(store.read(store::read_stack_parts, now));
  if (out.known) out.changes = store::stack_changes(out.before, out.after);
  for (const store::EpochRow& epoch : epochs)
    if (epoch.valid_from > measured_before && epoch.cause == "hardware_replaced")
      out.hardware_replaced = true;
  return out;
}

struct Stretch {  // unix seconds
  double from = 0;
  double until = 0;
};

// The times in which each side was measured. Runs of the before side are separate, as nights are;
// runs added to the after side extend it.
Result<std::vector<Stretch>> stretches_of(const store::Store& store,
                                          const store::UpgradeRow& upgrade) {
  std::vector<Stretch> out;
  std::optional<Stretch> after;
  for (const store::UpgradeRunRow& run : upgrade.runs) {
    const store::RunRow row = RG_TRY(store.run_summary(run.run_id)).run;
    const bool goes_on = row.state != "ended";
    const Stretch one{.from = row.created_at, .until = goes_on ? kNever : row.ended_at};
    if (!run.after)
      out.push_back(one);
    else if (!after)
      after = one;
    else
      after->until = std::max(after->until, one.until);
  }
  if (after) out.push_back(*after);
  return out;
}

// The changes on a node while a side was measured, which make its figures belong to two stacks.
Result<std::string> changed_within(const store::Store& store, const std::string& node_id,
                                   const std::vector<Stretch>& stretches) {
  const auto epochs = RG_TRY(store.read(store::read_epochs, node_id, kEpochs));
  for (std::size_t i = 0; i + 1 < epochs.size(); ++i) {
    const double at = epochs[i].valid_from;
    const auto moved = lasting_changes(store::stack_changes(epochs[i + 1].parts, epochs[i].parts));
    for (const Stretch& stretch : stretches)
      if (!moved.empty() && at > stretch.from && at < stretch.until)
        return fmt::format("{} at {}", fmt::join(store::texts_of(moved), ", "), rfc3339(at));
  }
  return std::string();
}

// When the newest run of the before side began.
Result<double> measured_before(const store::Store& store, const store::UpgradeRow& upgrade) {
  double at = 0;
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (!run.after) at = std::max(at, RG_TRY(store.run_summary(run.run_id)).run.created_at);
  return at;
}

std::vector<std::string> runs_of_side(const store::UpgradeRow& upgrade, bool after) {
  std::vector<std::string> ids;
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (run.after == after) ids.push_back(run.run_id);
  return ids;
}

// When the first changed node left its stack; 0: none has.
Result<double> since_when(const store::Store& store, const UpgradeData& sides) {
  double since = std::numeric_limits<double>::max();
  const double before = RG_TRY(measured_before(store, sides.upgrade));
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    const auto stacks = sides.stacks.find(node.node);
    if (!node.changed || stacks == sides.stacks.end()) continue;
    for (const store::EpochRow& epoch :
         RG_TRY(store.read(store::read_epochs, node.node_id, kEpochs)))
      if (epoch.valid_from > before &&
          !lasting_changes(store::stack_changes(stacks->second.before, epoch.parts)).empty())
        since = std::min(since, epoch.valid_from);
  }
  return since == std::numeric_limits<double>::max() ? 0 : since;
}

// Since when the changed nodes have their present stack, by the first of them; 0: nothing is known.
Result<double> present_since(const store::Store& store, const UpgradeData& sides) {
  double since = std::numeric_limits<double>::max();
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    if (!node.changed) continue;
    const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id, kEpochs));
    double own = since;
    for (const store::EpochRow& epoch : epochs) {
      if (!lasting_changes(store::stack_changes(epoch.parts, epochs.front().parts)).empty()) break;
      own = epoch.valid_from;
    }
    since = std::min(since, own);
  }
  return since == std::numeric_limits<double>::max() ? 0 : since;
}

// Whether runs of upgrades that are not of this after side measured the changed nodes since then:
// whoever asks until it passes gives chance as many tries.
Result<bool> tried_before(const store::Store& store, const store::UpgradeRow& upgrade,
                          const std::vector<std::string>& changed, double since) {
  if (!(since > 0)) return false;
  constexpr std::uint32_t kRuns = 100;
  for (const std::string& id :
       RG_TRY(store.read(store::read_runs_of_nodes, changed, since, kNever, kRuns))) {
    if (std::ranges::find(upgrade.runs, id, &store::UpgradeRunRow::run_id) != upgrade.runs.end())
      continue;
    if (RG_TRY(store.run_summary(id)).run.trigger == "upgrade") return true;
  }
  return false;
}

// Bounds that the newest after run's suite states for itself, else the before run's.
std::map<std::string, double> bounds_of(const store::Store& store,
                                        const store::UpgradeRow& upgrade) {
  std::map<std::string, double> bounds;
  for (const store::UpgradeRunRow& run : upgrade.runs) {
    if (!run.after && upgrade.before_is_history) continue;
    const auto text = store.read(store::read_suite_text, run.run_id);
    if (!text) continue;
    const plan::SuiteReading reading = plan::read_suite(*text, run.run_id, {});
    if (reading.suite) bounds = reading.suite->bounds;
  }
  return bounds;
}

// The newest preflight of before the change, and the newest since the after side was begun.
Result<NodeChecks> checks_of(const store::Store& store, const store::UpgradeRow& upgrade,
                             const store::UpgradeNodeRow& node, double since) {
  NodeChecks out;
  if (!(since > 0)) return out;
  const auto before = store.read(store::read_preflight_between, node.node_id,
                                 since - kCheckDays * kDaySeconds, since);
  if (!before) return out;
  out.before = before->checks;
  double from = since;
  for (const store::UpgradeRunRow& run : upgrade.runs)
    if (run.after) {  // it is asked for when the first run of the after side begins
      from = RG_TRY(store.run_summary(run.run_id)).run.created_at - kAskedBeforeSeconds;
      break;
    }
  if (const auto after =
          store.read(store::read_preflight_between, node.node_id, std::max(since, from), kNever))
    out.after = after->checks;
  return out;
}

}  // namespace

Result<UpgradeData> read_sides(const store::Store& store, const std::string& upgrade_id) {
  return sides_of(store, RG_TRY(store.read(store::read_upgrade, upgrade_id)));
}

Result<UpgradeData> sides_of(const store::Store& store, store::UpgradeRow upgrade) {
  UpgradeData sides{.upgrade = std::move(upgrade)};
  std::vector<std::string> changed;
  std::vector<std::string> cast;
  const double before_at = RG_TRY(measured_before(store, sides.upgrade));
  const std::vector<Stretch> stretches = RG_TRY(stretches_of(store, sides.upgrade));
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes) {
    NodeStacks& stacks = sides.stacks[node.node] = RG_TRY(stacks_of(store, node, before_at));
    stacks.while_measured = RG_TRY(changed_within(store, node.node_id, stretches));
    cast.push_back(node.node_id);
    if (node.changed) changed.push_back(node.node_id);
  }
  sides.endpoints = RG_TRY(store.read(store::read_endpoint_states, changed));
  const std::vector<std::string> before = runs_of_side(sides.upgrade, false);
  const std::vector<std::string> after = runs_of_side(sides.upgrade, true);
  sides.before = RG_TRY(store.read(store::read_side_points, before, cast));
  sides.after = RG_TRY(store.read(store::read_side_points, after, cast));
  sides.tasks_before = RG_TRY(store.read(store::read_side_tasks, before, cast));
  sides.tasks_after = RG_TRY(store.read(store::read_side_tasks, after, cast));
  for (const auto* side : {&sides.before, &sides.after})
    for (const store::SidePointRow& point : *side)
      if (!sides.series.contains(point.series))
        sides.series[point.series] = RG_TRY(store.read(store::read_one_series, point.series));
  sides.bounds = bounds_of(store, sides.upgrade);
  const double since = RG_TRY(since_when(store, sides));
  // Figures of another stack in between do not count as a look at this one.
  const double tried_since = since > 0 ? std::max(since, RG_TRY(present_since(store, sides))) : 0;
  sides.tried_before = RG_TRY(tried_before(store, sides.upgrade, changed, tried_since));
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes)
    if (node.changed)
      sides.checks[node.node] = RG_TRY(checks_of(store, sides.upgrade, node, since));
  return sides;
}

namespace {

// The after side against what the nodes gave with that very stack before the one that they left.
struct OwnPast {
  UpgradeData sides{};
  analysis::UpgradeVerdict verdict{};
  api::Upgrade report{};
};

// Adds the stack's own past to the report as well. Absent where there is none, or where it is the
// before side itself.
Result<std::optional<OwnPast>> add_own_past(const store::Store& store, const UpgradeData& sides,
                                            api::Upgrade& report) {
  const auto earlier = RG_TRY(earlier_self(store, sides.upgrade));
  if (!earlier) return std::optional<OwnPast>();
  const auto is_before = [](const store::UpgradeRunRow& run) { return !run.after; };
  if (std::ranges::none_of(earlier->row.runs, is_before)) {
    report.add_notes(
        fmt::format("the nodes had this stack before, until {}, and nothing that was "
                    "measured then is kept: it is not held against itself",
                    rfc3339(earlier->until)));
    return std::optional<OwnPast>();
  }
  if (std::ranges::equal(earlier->row.runs, sides.upgrade.runs, {}, &store::UpgradeRunRow::run_id,
                         &store::UpgradeRunRow::run_id))
    return std::optional<OwnPast>();
  OwnPast own{.sides = RG_TRY(sides_of(store, earlier->row))};
  own.sides.min_coverage = sides.min_coverage;
  const analysis::UpgradeRuns runs = runs_of(own.sides);
  own.verdict = analysis::judge_upgrade(runs);
  own.report = report_of(own.sides, runs, own.verdict, 0);
  api::SameStackBefore& told = *report.mutable_same_stack_before();
  told.set_until(rfc3339(earlier->until));
  *told.mutable_runs() = own.report.before_runs();
  told.set_verdict(own.report.verdict());
  if (own.report.has_kind()) told.set_kind(own.report.kind());
  if (own.report.has_reason()) told.set_reason(own.report.reason());
  *told.mutable_metrics() = own.report.metrics();
  return std::optional(std::move(own));
}

// A stack that comes back has its own baseline back: what is worse than that got worse, however bad
// the stack was that the nodes left. Where the before side is of this stack, it is the baseline.
bool decides(const std::optional<OwnPast>& own, const UpgradeData& sides,
             const analysis::UpgradeVerdict& verdict) {
  return own && !is_same_stack(sides) && own->verdict.verdict == analysis::Verdict::kRegressed &&
         verdict.verdict != analysis::Verdict::kRegressed;
}

// The verdict is by its own past then, and so is what it was not and what to do.
void decide_by(OwnPast& own, const analysis::UpgradeVerdict& verdict, api::Upgrade& report) {
  own.report.set_reason(fmt::format("against what the same stack gave until {}: {}",
                                    report.same_stack_before().until(), own.report.reason()));
  report.set_verdict(own.report.verdict());
  report.set_kind(own.report.kind());
  report.set_reason(own.report.reason());
  report.mutable_lost()->MergeFrom(own.report.lost());
  report.clear_causes();
  *report.mutable_excluded() = own.report.excluded();
  *report.mutable_next() = own.report.next();
  report.set_synthetic(report.synthetic() || own.report.synthetic());
  report.add_notes(fmt::format("against the stack that the nodes left it is {}{}{}",
                               word(verdict.verdict), verdict.reason.empty() ? "" : ": ",
                               verdict.reason));
  for (const std::string& note : own.verdict.notes)
    report.add_notes("against what the same stack gave before: " + note);
}

// Stores the findings that the verdict rests on. A pass ends no finding that its own past leaves
// open.
Status keep_findings(store::Store& store, const UpgradeData& sides,
                     const analysis::UpgradeVerdict& verdict, std::optional<OwnPast>& own,
                     api::Upgrade& report, double now) {
  if (!decides(own, sides, verdict)) {
    const bool is_open =
        own && !is_same_stack(sides) && verdict.verdict == analysis::Verdict::kPass;
    RG_TRY_OK(keep_finding(store, sides, is_open ? own->verdict : verdict, report, now));
    const bool is_itself_again = own.has_value() || is_same_stack(sides);
    const bool is_pass = verdict.verdict == analysis::Verdict::kPass &&
                         (!is_open || own->verdict.verdict == analysis::Verdict::kPass);
    return is_pass ? close_earlier(store, sides, is_itself_again, now) : Status();
  }
  RG_TRY_OK(keep_finding(store, own->sides, own->verdict, own->report, now));
  report.set_finding_id(own->report.finding_id());
  return {};
}

}  // namespace

Result<api::Upgrade> judge_and_keep(store::Store& store, const std::string& upgrade_id, double now,
                                    double min_coverage) {
  UpgradeData sides = RG_TRY(read_sides(store, upgrade_id));
  sides.min_coverage = min_coverage;
  const analysis::UpgradeRuns runs = runs_of(sides);
  const analysis::UpgradeVerdict verdict = analysis::judge_upgrade(runs);
  store::UpgradeRow judged = sides.upgrade;
  api::Upgrade report = report_of(sides, runs, verdict, RG_TRY(since_when(store, sides)));
  std::optional<OwnPast> own = RG_TRY(add_own_past(store, sides, report));
  if (decides(own, sides, verdict)) decide_by(*own, verdict, report);
  judged.verdict = report.verdict();
  judged.kind = report.kind();
  judged.reason = report.reason();
  judged.judged_at = now;
  report.set_judged_at(rfc3339(now));
  const double age_days = (now - RG_TRY(measured_before(store, sides.upgrade))) / kDaySeconds;
  if (age_days > kCheckDays)
    report.add_notes(fmt::format("the before side was measured {:.0f} days ago", age_days));
  RG_TRY_OK(keep_findings(store, sides, verdict, own, report, now));
  judged.report = json_of(report);
  RG_TRY_OK(store.write(store::write_upgrade_verdict, std::move(judged)));
  return report;
}

Result<api::Upgrade> upgrade_report(const store::Store& store, const std::string& upgrade_id) {
  std::string id = upgrade_id;
  if (id.empty()) {
    const auto newest = RG_TRY(store.read(store::read_upgrades, 1));
    if (newest.empty())
      return fail(Code::kNotFound,
                  "no upgrade yet; railgauge upgrades prepare --nodes SET begins one");
    id = newest.front().upgrade_id;
  }
  const store::UpgradeRow row = RG_TRY(store.read(store::read_upgrade, id));
  if (row.state == store::UpgradeState::kJudged) {
    if (auto report = report_from(row.report)) return std::move(*report);
  }
  api::Upgrade report = summary_of(row);
  add_promise(runs_of(RG_TRY(read_sides(store, id))), report);
  return report;
}

// --- what the before side promises ---

namespace {

constexpr double kPercent = 100;

// The variance of the logarithms of a pair's runs.
double variance_of_logs(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  double n = 0;
  for (const double value : values) {
    if (!(value > 0)) continue;
    sum += std::log(value);
    squares += std::log(value) * std::log(value);
    ++n;
  }
  return n < 2 ? 0 : std::max(0.0, (squares - sum * sum / n) / (n - 1));
}

}  // namespace

void add_promise(const analysis::UpgradeRuns& runs, api::Upgrade& upgrade) {
  for (const analysis::MetricRuns& metric : runs.metrics) {
    if (metric.is_shape) continue;                           // no pass rests on it
    std::map<std::string, std::pair<double, double>> nodes;  // variance and pairs, by node
    std::set<std::string> changed;
    std::size_t fewest = kRunsASide;
    for (const analysis::PairRuns& pair : metric.pairs) {
      if (pair.before.size() < 2) continue;
      nodes[pair.node].first += variance_of_logs(pair.before);
      nodes[pair.node].second += 1;
      if (pair.changed) changed.insert(pair.node);
      fewest = std::min(fewest, pair.before.size());
    }
    if (changed.empty()) continue;
    double variance = 0;
    for (const auto& [node, one] : nodes) variance += one.first / one.second / one.second;
    variance /= static_cast<double>(nodes.size());
    const double loss = analysis::smallest_loss(
        {.runs = fewest,
         .changed = changed.size(),
         .controls = nodes.size() - changed.size() >= 2 ? nodes.size() - changed.size() : 0,
         .run_variance = variance},
        analysis::log_worsening(metric.traits.better, metric.traits.delta));
    if (!std::isfinite(loss)) continue;
    const double percent = kPercent * analysis::worse_fraction(metric.traits.better, loss);
    upgrade.set_visible_loss_percent(std::max(upgrade.visible_loss_percent(), percent));
    upgrade.add_notes(
        fmt::format("{}: a loss of {:.2f} % will be called unless nodes drift by more than their "
                    "runs scatter, the bound is {:.1f} %",
                    metric.name, percent, kPercent * metric.traits.delta));
  }
}

}  // namespace railgauge
