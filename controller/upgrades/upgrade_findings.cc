#include "controller/upgrades/upgrade_findings.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/json_util.h>

#include "controller/upgrades/upgrade_knees.h"
#include "controller/upgrades/upgrade_stack.h"

namespace railgauge {

std::string json_of(const api::Upgrade& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  static_cast<void>(google::protobuf::util::MessageToJsonString(report, &text, options));
  return text;
}

std::optional<api::Upgrade> report_from(const std::string& text) {
  api::Upgrade report;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (!google::protobuf::util::JsonStringToMessage(text, &report, options).ok())
    return std::nullopt;
  return report;
}

namespace {

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

constexpr std::array<const char*, 4> kStatistics{"median", "p90", "p99", "p99.9"};

// Series of the changed nodes whose metric regressed, with their levels.
std::vector<store::FindingSeriesRow> moved_series(const UpgradeData& sides,
                                                  const api::Upgrade& report) {
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
    const auto regressed = [&](const char* statistic) {
      return names.contains(metric_text(series, statistic));
    };
    if (std::ranges::none_of(kStatistics, regressed) && !names.contains(knee_text(series)))
      continue;
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
  constexpr std::size_t kNamed = 10;  // the report has them all
  const auto& changes = report.causes(0).changes();
  return fmt::format(
      "{}", fmt::join(store::told_changes({changes.begin(), changes.end()}, kNamed), "; "));
}

// The lost functions of the report, in words that two reports share.
std::set<std::string> lost_of(const api::Upgrade& report) {
  std::set<std::string> out;
  for (const api::LostFunction& lost : report.lost())
    out.insert(fmt::format("{}/{} {}", lost.node(), lost.endpoint(), lost.name()));
  return out;
}

// Whether it is worse than the finding says; without a figure, whether more was lost.
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

store::FindingRow finding_of(const UpgradeData& sides, const api::Upgrade& report, double now) {
  store::FindingRow finding{.finding_id = fmt::format("{}-{}", report.upgrade_id(), report.kind()),
                            .kind = report.kind() == "performance" ? "regression" : report.kind(),
                            .severity = "critical",
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

constexpr std::array<std::string_view, 4> kKinds{"performance", "mode_mix", "lost_function",
                                                 "corruption"};

bool is_slower(const std::string& kind) { return kind == "performance" || kind == "mode_mix"; }

// Whether the verdict says that nothing of the kind is there any more: what could not be judged may
// still be as it was.
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
           const bool is_mix = metric.reason.starts_with("mode mix");
           return metric.verdict == analysis::Verdict::kPass ||
                  (metric.verdict == analysis::Verdict::kRegressed &&
                   is_mix != (kind == "mode_mix"));
         });
}

Status end_one(store::Store& store, const std::string& id, const std::string& text, double now) {
  const auto known = store.read(store::read_finding, id);
  if (!known && known.error().code == Code::kNotFound) return {};
  if (!known) return tl::unexpected(known.error());
  if (!store::is_open(known->state)) return {};
  return store.write(store::write_finding_step, id,
                     {.at = now, .who = "judge", .action = "resolve", .text = text});
}

// Ends what was open of the upgrade and is not there any more.
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

// Whether all changed nodes have now, or had before, what they had then.
enum class Side { kBefore, kAfter };
Result<bool> is_stack_of(const store::Store& store, const UpgradeData& sides, Side now,
                         const store::UpgradeRow& earlier, Side then) {
  for (const store::UpgradeNodeRow& node : earlier.nodes) {
    if (!node.changed) continue;
    const auto stacks = sides.stacks.find(node.node);
    const std::int64_t stack = then == Side::kBefore ? node.stack_before : node.stack_after;
    if (stacks == sides.stacks.end() || !stacks->second.known || stack == 0) return false;
    const store::StackParts& mine =
        now == Side::kBefore ? stacks->second.before : stacks->second.after;
    if (!moved_to(RG_TRY(store.read(store::read_stack_parts, stack)), mine).empty()) return false;
  }
  return true;
}

std::set<std::string> changed_of(const store::UpgradeRow& row) {
  std::set<std::string> ids;
  for (const store::UpgradeNodeRow& node : row.nodes)
    if (node.changed) ids.insert(node.node_id);
  return ids;
}

// Whether the report shows a slowdown that is known and not confirmed yet by another run than it
// was found in: each run of the after side is a fresh one, so that it is no single run's chance.
bool is_confirmed_by(const store::FindingRow& known, const store::FindingRow& now) {
  return is_slower(now.kind == "regression" ? "performance" : now.kind) &&
         store::is_unseen(known.state) && !now.run_id.empty() && known.run_id != now.run_id;
}

}  // namespace

Status keep_finding(store::Store& store, const UpgradeData& sides,
                    const analysis::UpgradeVerdict& verdict, api::Upgrade& report, double now) {
  RG_TRY_OK(close_findings(store, verdict, report, now));
  if (report.verdict() != "regressed") return {};
  store::FindingRow finding = finding_of(sides, report, now);
  const std::string id = finding.finding_id;
  report.set_finding_id(id);
  const auto known = store.read(store::read_finding, id);
  if (!known && known.error().code == Code::kNotFound)
    return store.write(store::write_finding, std::move(finding));
  if (!known) return tl::unexpected(known.error());
  const bool is_open =
      store::is_unseen(known->state) || known->state == store::FindingState::kConfirmed;
  const bool opens = !is_open && (known->state == store::FindingState::kFixed ||
                                  is_worse(*known, finding, report));
  const char* action = opens ? "reopen" : is_confirmed_by(*known, finding) ? "confirm" : "comment";
  store::FindingStepRow step{.at = now,
                             .who = "judge",
                             .action = action,
                             .text = fmt::format("measured again: {}", report.reason())};
  if (!is_open && !opens) return store.write(store::write_finding_step, id, std::move(step));
  return store.write(store::write_finding_again, std::move(finding), std::move(step));
}

Status close_earlier(store::Store& store, const UpgradeData& sides, bool is_itself_again,
                     double now) {
  constexpr std::uint32_t kLooked = 200;
  const std::string text = fmt::format("measured as upgrade {}: pass", sides.upgrade.upgrade_id);
  for (const store::UpgradeRow& row : RG_TRY(store.read(store::read_upgrades, kLooked))) {
    if (row.upgrade_id == sides.upgrade.upgrade_id || row.verdict != "regressed" ||
        row.suite != sides.upgrade.suite || changed_of(row) != changed_of(sides.upgrade))
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

}  // namespace railgauge
