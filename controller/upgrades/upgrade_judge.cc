#include "controller/upgrades/upgrade_judge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/upgrades/gate_terms.h"
#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/upgrade_reading.h"
#include "controller/upgrades/upgrade_stack.h"
#include "controller/verdict/equivalence.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/rfc3339.h"

namespace railgauge {
namespace {

constexpr double kDaySeconds = 86'400;
const std::string_view kRegressed = word(analysis::Verdict::kRegressed);
// The statistics that a metric's name may contain.
constexpr std::array<const char*, 8> kStatistics{"median", "p90", "p99", "p99.9",
                                                 "rate",   "p10", "p1",  "flow"};

// The turn of one judgement: the call of a CLI and the controller's own look may come together. One
// upgrade is judged once at a time; others do not wait for it. Thread safe.
class JudgingTurn {
 public:
  JudgingTurn(const store::Store& store, const std::string& upgrade_id) : key_(&store, upgrade_id) {
    std::unique_lock lock(waiters().mutex);
    waiters().is_free.wait(lock, [this] { return !waiters().taken.contains(key_); });
    waiters().taken.insert(key_);
  }
  ~JudgingTurn() {
    const std::scoped_lock lock(waiters().mutex);
    waiters().taken.erase(key_);
    waiters().is_free.notify_all();
  }
  JudgingTurn(const JudgingTurn&) = delete;
  JudgingTurn& operator=(const JudgingTurn&) = delete;

 private:
  using Key = std::pair<const store::Store*, std::string>;
  struct Waiters {
    std::mutex mutex;
    std::condition_variable is_free;
    std::set<Key> taken;
  };
  static Waiters& waiters() {
    static Waiters all;
    return all;
  }
  const Key key_;
};

// The report as a text without what differs between two judgements of the same facts.
std::string facts_of(api::Upgrade report) {
  report.clear_judged_at();
  report.clear_finding_id();
  return json_of(report);
}

// The stored report where the upgrade is judged and the new one says the same.
std::optional<api::Upgrade> said_before(const store::UpgradeRow& upgrade,
                                        const api::Upgrade& report) {
  if (upgrade.state != store::UpgradeState::kJudged) return std::nullopt;
  std::optional<api::Upgrade> earlier = report_from(upgrade.report);
  if (!earlier || facts_of(*earlier) != facts_of(report)) return std::nullopt;
  return earlier;
}

// Series of the changed nodes whose metric regressed, with the upper medians of both sides'
// headlines.
std::vector<store::FindingSeriesRow> moved_series(const UpgradeData& sides,
                                                  const api::Upgrade& report) {
  std::set<std::string> names;
  for (const api::JudgedMetric& metric : report.metrics())
    if (metric.verdict() == kRegressed) names.insert(metric.name());
  std::map<std::int64_t, std::pair<std::vector<double>, std::vector<double>>> levels;
  for (const store::SidePointRow& point : sides.before)
    levels[point.series].first.push_back(point.headline);
  for (const store::SidePointRow& point : sides.after)
    levels[point.series].second.push_back(point.headline);
  const std::set<std::string> changed = changed_names(sides.upgrade);
  std::vector<store::FindingSeriesRow> out;
  for (const auto& [id, row] : sides.series) {
    const auto& series = row;  // clang 14 captures no structured binding
    const auto regressed = [&](const char* statistic) {
      return names.contains(metric_text(series, statistic));
    };
    if (std::ranges::none_of(kStatistics, regressed) && !names.contains(knee_text(series)))
      continue;
    const bool ours = std::ranges::any_of(
        series.endpoints, [&](const std::string& text) { return changed.contains(node_of(text)); });
    const auto& [before, after] = levels[id];
    if (ours && !before.empty() && !after.empty())
      out.push_back({.series = id, .before = upper_median(before), .after = upper_median(after)});
  }
  return out;
}

// The most likely cause as one line; "" for none.
std::string suspect_of(const api::Upgrade& report) {
  if (report.causes().empty()) return "";
  constexpr std::size_t kNamed = 10;  // the report has them all
  const auto& changes = report.causes(0).changes();
  return fmt::format(
      "{}", fmt::join(store::told_changes({changes.begin(), changes.end()}, kNamed), "; "));
}

// The lost functions of the report as texts that two reports share.
std::set<std::string> lost_of(const api::Upgrade& report) {
  std::set<std::string> out;
  for (const api::LostFunction& lost : report.lost())
    out.insert(fmt::format("{}/{} {}", lost.node(), lost.endpoint(), lost.name()));
  return out;
}

// Reports whether the upgrade is worse than the finding records: by the bound where both have a
// loss, else where a function was lost that the earlier report does not have.
bool is_worse(const store::FindingRow& known, const store::FindingRow& now,
              const api::Upgrade& report) {
  if (known.worse && now.worse) {
    const double delta = report.metrics().empty() ? 0 : report.metrics(0).bound_percent() / 100;
    return *now.worse > *known.worse + delta;
  }
  const std::optional<api::Upgrade> earlier = report_from(known.evidence);
  if (!earlier) return true;
  const std::set<std::string> was = lost_of(*earlier);
  return !std::ranges::includes(was, lost_of(report));
}

// The loss of the mean as a fraction; where that is within the bound, the loss of the worst place.
double loss_of(const api::JudgedMetric& metric) {
  double percent = metric.worse_percent();
  if (percent < metric.bound_percent())
    for (const api::JudgedPlace& place : metric.places())
      percent = std::max(percent, place.worse_percent());
  return percent / 100;
}

// The regression as a new finding. Its evidence is the whole report, from which is_worse() reads
// the lost functions later.
store::FindingRow finding_of(const UpgradeData& sides, const api::Upgrade& report, double now) {
  store::FindingRow finding{.finding_id = fmt::format("{}-{}", report.upgrade_id(), report.kind()),
                            .kind = report.kind() == "performance" ? "regression" : report.kind(),
                            .severity = severity::kCritical,
                            .suspect = suspect_of(report),
                            .summary = report.reason(),
                            .opened_at = now,
                            .upgrade_id = report.upgrade_id(),
                            .series = moved_series(sides, report)};
  if (report.kind() == "performance" && !report.metrics().empty())
    finding.worse = loss_of(report.metrics(0));
  if (!report.after_runs().empty())
    finding.run_id = report.after_runs(report.after_runs_size() - 1);
  for (const store::UpgradeNodeRow& node : sides.upgrade.nodes)
    if (node.changed && finding.node_id.empty()) finding.node_id = node.node_id;
  finding.evidence = json_of(report);
  return finding;
}

// The kinds of regressions; an upgrade has at most one open finding of each.
constexpr std::array<std::string_view, 4> kKinds{"performance", "mode_mix", "lost_function",
                                                 "corruption"};

// Reports whether the kind is a loss of speed, which chance can produce; the others need no second
// look.
bool is_slower(const std::string& kind) { return kind == "performance" || kind == "mode_mix"; }

// Reports whether the verdict shows that nothing of the kind is left. A metric that could not be
// judged may still be as it was.
bool is_over(const analysis::UpgradeVerdict& verdict, const std::string& kind) {
  if (verdict.verdict == analysis::Verdict::kPass) return true;
  if (verdict.verdict != analysis::Verdict::kRegressed) return false;
  if (!is_slower(kind))
    return verdict.unmeasured.empty() &&
           std::ranges::none_of(verdict.lost, [&](const analysis::LostFunction& lost) {
             return word(lost.kind) == kind;
           });
  return !verdict.metrics.empty() &&
         std::ranges::all_of(verdict.metrics, [&](const analysis::MetricVerdict& metric) {
           return metric.verdict == analysis::Verdict::kPass ||
                  (metric.verdict == analysis::Verdict::kRegressed &&
                   metric.is_mode_mix != (kind == "mode_mix"));
         });
}

// Resolves the finding if it exists and is open.
Status end_one(store::Store& store, const std::string& id, const std::string& text, double now) {
  const auto known = store.read(store::read_finding, id);
  if (!known && known.error().code == Code::kNotFound) return {};
  if (!known) return tl::unexpected(known.error());
  if (!api::is_open(known->state)) return {};
  return store.write(store::write_finding_step, id,
                     {.at = now, .who = "judge", .action = "resolve", .text = text});
}

// Ends open findings of the upgrade whose loss the verdict does not show any more.
Status close_findings(store::Store& store, const analysis::UpgradeVerdict& verdict,
                      const api::Upgrade& report, double now) {
  const bool is_pass = verdict.verdict == analysis::Verdict::kPass;
  for (const std::string_view kind : kKinds)
    if (is_over(verdict, std::string(kind)))
      RG_TRY_OK(end_one(store, fmt::format("{}-{}", report.upgrade_id(), kind),
                        fmt::format("measured again: {}", is_pass ? "pass" : report.reason()),
                        now));
  return {};
}

// The side of an upgrade whose stack is compared.
enum class Side { kBefore, kAfter };
// Reports whether all changed nodes of `earlier` have on side `now` of this upgrade the stack of
// side `then` of the earlier one. An unknown stack is none.
Result<bool> is_stack_of(const store::Store& store, const UpgradeData& sides, Side now,
                         const store::UpgradeRow& earlier, Side then) {
  for (const store::UpgradeNodeRow& node : changed_nodes(earlier)) {
    const auto stacks = sides.stacks.find(node.node);
    const std::int64_t stack = then == Side::kBefore ? node.stack_before : node.stack_after;
    if (stacks == sides.stacks.end() || !stacks->second.known || stack == 0) return false;
    const store::StackParts& mine =
        now == Side::kBefore ? stacks->second.before : stacks->second.after;
    if (!moved_to(RG_TRY(store.read(store::read_stack_parts, stack)), mine).empty()) return false;
  }
  return true;
}

// Reports whether the report shows a known and unconfirmed slowdown by another run than the one it
// was found in. Each run of the after side is a fresh one, so that two are no single chance.
bool is_confirmed_by(const store::FindingRow& known, const store::FindingRow& now) {
  return is_slower(now.kind == "regression" ? "performance" : now.kind) &&
         api::is_unseen(known.state) && !now.run_id.empty() && known.run_id != now.run_id;
}

// Stores the regression as the one finding of its kind, whose id `report` then has. A finding that
// is judged again takes the new levels. A settled one stays settled unless it got worse, or was
// fixed. A slowdown that a further run still shows is confirmed. `now`: unix seconds.
Status keep_finding(store::Store& store, const UpgradeData& sides,
                    const analysis::UpgradeVerdict& verdict, api::Upgrade& report, double now) {
  RG_TRY_OK(close_findings(store, verdict, report, now));
  if (report.verdict() != kRegressed) return {};
  store::FindingRow finding = finding_of(sides, report, now);
  const std::string id = finding.finding_id;
  report.set_finding_id(id);
  const auto known = store.read(store::read_finding, id);
  if (!known && known.error().code == Code::kNotFound)
    return store.write(store::write_finding, std::move(finding));
  if (!known) return tl::unexpected(known.error());
  const bool is_open =
      api::is_unseen(known->state) || known->state == store::FindingState::kConfirmed;
  const bool grew = is_worse(*known, finding, report);
  // Stored by a judgement that did not come to its end: the same run shows nothing new.
  if (is_open && !grew && known->run_id == finding.run_id && known->summary == finding.summary)
    return {};
  const bool opens = !is_open && (store::opens_when_seen(*known) || grew);
  const char* action = opens                              ? "reopen"
                       : is_confirmed_by(*known, finding) ? "confirm"
                       : grew                             ? "worse"
                                                          : "comment";
  store::FindingStepRow step{.at = now,
                             .who = "judge",
                             .action = action,
                             .text = fmt::format("measured again: {}", report.reason())};
  if (!is_open && !opens) return store.write(store::write_finding_step, id, std::move(step));
  return store.write(store::write_finding_again, std::move(finding), std::move(step));
}

// A pass ends the findings of earlier gates of the same nodes and suite: of the same change, or,
// where the nodes' stack is compared with its own past (`is_itself_again`), of a change that is
// undone. Without `prepare` each gate is an upgrade of its own.
Status close_earlier(store::Store& store, const UpgradeData& sides, bool is_itself_again,
                     double now) {
  constexpr std::uint32_t kLooked = 200;
  const std::string text = fmt::format("measured as upgrade {}: pass", sides.upgrade.upgrade_id);
  for (const store::UpgradeRow& row : RG_TRY(store.read(store::read_upgrades, kLooked))) {
    if (row.upgrade_id == sides.upgrade.upgrade_id || row.verdict != kRegressed ||
        row.suite != sides.upgrade.suite || changed_ids(row) != changed_ids(sides.upgrade))
      continue;
    const bool is_undone =
        is_itself_again && RG_TRY(is_stack_of(store, sides, Side::kAfter, row, Side::kBefore));
    const bool is_the_same = RG_TRY(is_stack_of(store, sides, Side::kAfter, row, Side::kAfter)) &&
                             RG_TRY(is_stack_of(store, sides, Side::kBefore, row, Side::kBefore));
    if (!is_undone && !is_the_same) continue;
    for (const std::string_view kind : kKinds)
      RG_TRY_OK(end_one(store, fmt::format("{}-{}", row.upgrade_id, kind), text, now));
  }
  return {};
}

// The after side compared with figures of that very stack from an earlier time.
struct OwnPast {
  UpgradeData sides{};
  analysis::UpgradeVerdict verdict{};
  api::Upgrade report{};
};

// Judges against the stack's own past and adds the result to the report. Absent where there is no
// such past, or where it is the before side itself.
Result<std::optional<OwnPast>> add_own_past(const store::Store& store, const UpgradeData& sides,
                                            api::Upgrade& report) {
  const auto earlier = RG_TRY(earlier_self(store, sides.upgrade));
  if (!earlier) return std::optional<OwnPast>();
  const auto is_before = [](const store::UpgradeRunRow& run) { return !run.after; };
  if (std::ranges::none_of(earlier->row.runs, is_before)) {
    report.add_notes(
        fmt::format("the nodes had this stack before, until {}, and nothing that was "
                    "measured then is kept: it is not compared with itself",
                    rfc3339(earlier->until)));
    return std::optional<OwnPast>();
  }
  if (std::ranges::equal(earlier->row.runs, sides.upgrade.runs, {}, &store::UpgradeRunRow::run_id,
                         &store::UpgradeRunRow::run_id))
    return std::optional<OwnPast>();
  OwnPast own{.sides = RG_TRY(read_upgrade_data(store, earlier->row))};
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

// Reports whether the own past decides. A stack that comes back has its own baseline: a loss
// against that is a loss, however bad the stack was that the nodes left. Where the before side is
// of this stack, it is the baseline already.
bool decides(const std::optional<OwnPast>& own, const UpgradeData& sides,
             const analysis::UpgradeVerdict& verdict) {
  return own && !is_same_stack(sides) && own->verdict.verdict == analysis::Verdict::kRegressed &&
         verdict.verdict != analysis::Verdict::kRegressed;
}

// Replaces the verdict, the excluded causes and the next steps by those of the own past.
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

// Stores the findings that the verdict rests on. A pass ends no finding that the own past leaves
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

namespace {

// The row is written last: a process that ends in between leaves the upgrade unjudged, and the next
// call judges it again. The caller has the turn.
Result<api::Upgrade> judge_in_turn(store::Store& store, const std::string& upgrade_id, double now,
                                   std::optional<double> min_coverage) {
  UpgradeData sides = RG_TRY(read_upgrade_data(store, upgrade_id));
  GateTerms terms = terms_of(sides.upgrade);
  terms.min_coverage = min_coverage.value_or(terms.min_coverage);
  sides.min_coverage = terms.min_coverage;
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
  add_terms(terms, report);
  const double age_days = (now - RG_TRY(measured_before(store, sides.upgrade))) / kDaySeconds;
  if (age_days > kCheckDays)
    report.add_notes(fmt::format("the before side was measured {:.0f} days ago", age_days));
  if (auto earlier = said_before(sides.upgrade, report)) return std::move(*earlier);
  RG_TRY_OK(keep_findings(store, sides, verdict, own, report, now));
  judged.report = json_of(report);
  RG_TRY_OK(store.write(store::write_upgrade_verdict, std::move(judged)));
  return report;
}

}  // namespace

Result<AfterSide> after_side_of(const store::Store& store, const store::UpgradeRow& upgrade,
                                double now) {
  if (upgrade.state != store::UpgradeState::kMeasuring) return AfterSide::kNone;
  double newest = upgrade.created_at;
  for (const store::UpgradeRunRow& one : upgrade.runs) {
    if (!one.after) continue;
    const store::RunRow run = RG_TRY(store.run_summary(one.run_id)).run;
    if (!has_ended(run)) return AfterSide::kMeasuring;
    newest = std::max({newest, run.created_at, run.ended_at});
  }
  return now - newest > kWindowAgoSeconds ? AfterSide::kForgotten : AfterSide::kMeasured;
}

Result<api::Upgrade> judge_and_keep(store::Store& store, const std::string& upgrade_id, double now,
                                    std::optional<double> min_coverage) {
  const JudgingTurn turn(store, upgrade_id);
  return judge_in_turn(store, upgrade_id, now, min_coverage);
}

// The state is read in the turn: a verdict by other terms, as of --min-coverage, stays.
Result<std::optional<api::Upgrade>> judge_if_measured(store::Store& store,
                                                      const std::string& upgrade_id, double now) {
  const JudgingTurn turn(store, upgrade_id);
  const store::UpgradeRow upgrade = RG_TRY(store.read(store::read_upgrade, upgrade_id));
  if (RG_TRY(after_side_of(store, upgrade, now)) != AfterSide::kMeasured) return std::nullopt;
  return RG_TRY(judge_in_turn(store, upgrade_id, now, std::nullopt));
}

// A stored report that cannot be read is replaced by the present state.
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
  add_terms(terms_of(row), report);
  add_promise(runs_of(RG_TRY(read_upgrade_data(store, id))), report);
  return report;
}

// --- the promise of the before side ---

namespace {

constexpr double kPercentOfBound = 100;

// The variance of the logarithms of a pair's runs; 0 for fewer than two.
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

// The variance of a node is the mean over its pairs, divided by their number, because pairs of a
// node average out. Fewer than two controls count as none.
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
    const double percent = kPercentOfBound * analysis::worse_fraction(metric.traits.better, loss);
    upgrade.set_visible_loss_percent(std::max(upgrade.visible_loss_percent(), percent));
    upgrade.add_notes(
        fmt::format("{}: a loss of {:.2f} % will be called unless nodes drift by more than their "
                    "runs scatter, the bound is {:.1f} %",
                    metric.name, percent, kPercentOfBound * metric.traits.delta));
  }
}

}  // namespace railgauge
