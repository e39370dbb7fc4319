#include "controller/upgrade_watch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/upgrade_judge.h"
#include "controller/upgrade_stack.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kUpgrades = 200;
constexpr std::uint32_t kEpochs = 20;
constexpr std::uint32_t kEvents = 1000;
constexpr std::string_view kProposed = "upgrade_proposed";

// Whether an upgrade of the node was gated since it moved, or is.
bool is_handled(const std::vector<store::UpgradeRow>& upgrades, const std::string& node_id,
                std::int64_t stack, double since) {
  for (const store::UpgradeRow& upgrade : upgrades)
    for (const store::UpgradeNodeRow& node : upgrade.nodes) {
      if (!node.changed || node.node_id != node_id) continue;
      if (node.stack_after == stack || upgrade.judged_at > since) return true;
    }
  return false;
}

bool may_settle(const api::Upgrade& upgrade) {
  for (const api::JudgedMetric& metric : upgrade.metrics())
    if (metric.verdict() == "inconclusive" && metric.more_runs() > 0) return true;
  return false;
}

}  // namespace

Result<WatchPolicy> watch_policy_of(std::string policy, const std::string& window) {
  WatchPolicy out{.policy = std::move(policy)};
  if (window.empty()) return out;
  const auto compiled =
      run::compile({.name = "upgrade-window", .cron = "0 0 * * *", .windows = window});
  if (!compiled)
    return fail(compiled.error().code, "--upgrade-window: " + compiled.error().message);
  out.window = *compiled;
  return out;
}

void UpgradeWatch::tick(double now) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || policy_ == kPolicyOff) return;
  if (const Status looked = look(now); !looked)
    spdlog::warn("upgrades by policy: {}", looked.error().message);
}

Status UpgradeWatch::look(double now) {
  const auto upgrades = RG_TRY(store_.list_upgrades(kUpgrades));
  const std::size_t measuring = RG_TRY(see_to_runs(upgrades, now));
  api::ListNodesRequest request;
  const api::NodeList nodes = RG_TRY(control_.list_nodes(request));
  RG_TRY_OK(store_.flush());
  const auto moved = RG_TRY(moved_nodes(nodes, upgrades));
  std::size_t attached = 0;
  for (const api::NodeInfo& node : nodes.nodes()) attached += node.state() == "attached" ? 1 : 0;
  for (const Cohort& cohort :
       stable_cohorts(moved, now, window_ ? kWindowAgoSeconds : kLongAgoSeconds)) {
    if (!may_begin(now))
      RG_TRY_OK(propose(cohort, now));
    else if (measuring == 0)
      return run(cohort, upgrades, most_at_once(attached));  // one after the other
  }
  return {};
}

Result<std::size_t> UpgradeWatch::see_to_runs(const std::vector<store::UpgradeRow>& upgrades,
                                              double now) {
  std::size_t measuring = 0;
  for (const store::UpgradeRow& upgrade : upgrades) {
    if (upgrade.state != "measuring" || upgrade.runs.empty() || !upgrade.runs.back().after)
      continue;
    const store::RunRow newest = RG_TRY(store_.run_summary(upgrade.runs.back().run_id)).run;
    if (newest.requested_by != kWho) continue;
    if (newest.state != "ended") {
      ++measuring;
      continue;
    }
    const auto runs = static_cast<std::size_t>(
        std::ranges::count(upgrade.runs, true, &store::UpgradeRunRow::after));
    RG_TRY_OK(judge(upgrade, runs, now));
  }
  return measuring;
}

Status UpgradeWatch::judge(const store::UpgradeRow& upgrade, std::size_t runs, double now) {
  const api::Upgrade report = RG_TRY(judge_and_keep(store_, upgrade.upgrade_id, now));
  spdlog::info("upgrade {}: {}{}{}", upgrade.upgrade_id, report.verdict(),
               report.reason().empty() ? "" : ": ", report.reason());
  if (report.verdict() != "inconclusive" || runs >= kMostRuns || !may_settle(report) ||
      !may_begin(now))
    return {};
  api::GateRequest more;
  more.set_continue_upgrade_id(upgrade.upgrade_id);
  const auto step = desk_.gate(more, std::string(kWho));
  if (!step) return tl::unexpected(step.error());
  if (step->state() == "waiting")
    spdlog::info("upgrade {}: not measured once more: {}", upgrade.upgrade_id, step->reason());
  return {};
}

Result<std::vector<MovedNode>> UpgradeWatch::moved_nodes(
    const api::NodeList& nodes, const std::vector<store::UpgradeRow>& upgrades) {
  std::vector<MovedNode> out;
  for (const api::NodeInfo& node : nodes.nodes()) {
    if (node.state() != "attached") continue;
    const auto epochs = RG_TRY(store_.epochs(node.node_id(), kEpochs));
    for (std::size_t i = 0; i + 1 < epochs.size(); ++i) {
      const auto moved = moved_to(epochs[i + 1].parts, epochs[0].parts);
      if (moved.empty()) continue;  // Railgauge alone, or hardware
      const double since = epochs[i].valid_from;
      out.push_back({.node = node.name(),
                     .to = words_of(moved),
                     .since = since,
                     .handled = is_handled(upgrades, node.node_id(), epochs[0].stack, since)});
      break;
    }
  }
  return out;
}

// Once for each cohort, also over a restart: the events are asked.
Status UpgradeWatch::propose(const Cohort& cohort, double now) {
  const std::string text = fmt::format(
      "{} changed {} and stayed so for {:.0f} minutes; railgauge upgrades gate --nodes {} says "
      "what "
      "it cost",
      fmt::join(cohort.nodes, ", "), cohort.to, kStableSeconds / 60, fmt::join(cohort.nodes, ","));
  if (told_.empty())
    for (const store::EventRow& event : RG_TRY(store_.list_events(kEvents)))
      if (event.kind == kProposed) told_.insert(event.text);
  if (!told_.insert(text).second) return {};
  spdlog::info("{}", text);
  return store_.add_event({.at = now, .kind = std::string(kProposed), .text = text});
}

// What was prepared together is gated together; else as many as may be measured at once.
Status UpgradeWatch::run(const Cohort& cohort, const std::vector<store::UpgradeRow>& upgrades,
                         std::size_t most) {
  std::vector<std::string> nodes = cohort.nodes;
  const auto is_prepared = [&](const store::UpgradeRow& row) {
    std::vector<std::string> changed;
    for (const store::UpgradeNodeRow& node : row.nodes)
      if (node.changed) changed.push_back(node.node);
    std::ranges::sort(changed);
    return row.state == "prepared" && !row.before_is_history && changed == nodes;
  };
  if (std::ranges::none_of(upgrades, is_prepared) && nodes.size() > most) nodes.resize(most);
  api::GateRequest request;
  request.set_node_set(fmt::format("{}", fmt::join(nodes, ",")));
  const api::GateStep step = RG_TRY(desk_.gate(request, std::string(kWho)));
  if (step.state() == "waiting") {
    spdlog::debug("upgrade of {}: {}", request.node_set(), step.reason());
    return {};
  }
  spdlog::info("upgrade {} of {} ({}): {} by policy", step.upgrade_id(), request.node_set(),
               cohort.to, step.state());
  return {};
}

}  // namespace railgauge
