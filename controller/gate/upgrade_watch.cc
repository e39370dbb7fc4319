#include "controller/gate/upgrade_watch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include "controller/report/proposal.h"
#include "controller/store/queries/events.h"
#include "controller/upgrades/gate_terms.h"
#include "controller/upgrades/upgrade_judge.h"
#include "controller/upgrades/upgrade_reading.h"

namespace railgauge {
namespace {

// Newest upgrades, stacks of a node and events that a look reads.
constexpr std::uint32_t kUpgrades = 200;
constexpr std::uint32_t kEpochs = 20;
constexpr std::uint32_t kEvents = 1000;
constexpr std::string_view kAttachedState = "attached";
// Who cancels a run at the end of its gate's time: "cancelled by the time limit of its gate".
constexpr std::string_view kTimeLimitWho = "the time limit of its gate";

// Reports whether an upgrade of the node to this stack is measured, or one was judged since the
// change.
bool is_handled(const std::vector<store::UpgradeRow>& upgrades, const std::string& node_id,
                std::int64_t stack, double since) {
  for (const store::UpgradeRow& upgrade : upgrades)
    for (const store::UpgradeNodeRow& node : upgrade.nodes) {
      if (!node.changed || node.node_id != node_id) continue;
      if (node.stack_after == stack || upgrade.judged_at > since) return true;
    }
  return false;
}

// Reports whether the watch started the newest run of the after side.
Result<bool> is_ours(const store::Store& store, const store::UpgradeRow& upgrade) {
  if (upgrade.runs.empty() || !upgrade.runs.back().after) return false;
  const store::RunRow newest = RG_TRY(store.run_summary(upgrade.runs.back().run_id)).run;
  return newest.requested_by == UpgradeWatch::kWho;
}

// Reports whether only one look has shown the slowdown: nobody is paged before another does.
Result<bool> is_unconfirmed(const store::Store& store, const store::UpgradeRow& upgrade) {
  if (upgrade.kind != "performance" && upgrade.kind != "mode_mix") return false;
  const auto finding =
      store.read(store::read_finding, fmt::format("{}-{}", upgrade.upgrade_id, upgrade.kind));
  if (!finding && finding.error().code == Code::kNotFound) return false;
  if (!finding) return tl::unexpected(finding.error());
  return api::is_unseen(finding->state);
}

// Reports whether further runs can settle an open metric.
bool may_settle(const api::Upgrade& upgrade) {
  for (const api::JudgedMetric& metric : upgrade.metrics())
    if (metric.verdict() == word(analysis::Verdict::kInconclusive) && metric.more_runs() > 0)
      return true;
  return false;
}

// Judges the upgrade if its run has ended, whoever asked for the run. Returns whether it is still
// measured.
Result<bool> judge_when_ended(store::Store& store, const store::UpgradeRow& upgrade, double now) {
  if (RG_TRY(after_side_of(store, upgrade, now)) == AfterSide::kMeasuring) return true;
  const auto report = RG_TRY(judge_if_measured(store, upgrade.upgrade_id, now));
  if (report)
    spdlog::info("upgrade {}: {}{}{}", upgrade.upgrade_id, report->verdict(),
                 report->reason().empty() ? "" : ": ", report->reason());
  return false;
}

// The attached ones of the nodes in `changed`, with the newest change of each. Changes of Railgauge
// alone, or of hardware, are no upgrade and are skipped.
Result<std::vector<MovedNode>> moved_nodes(const store::Store& store, const api::NodeList& nodes,
                                           const std::set<std::string>& changed,
                                           const std::vector<store::UpgradeRow>& upgrades) {
  std::vector<MovedNode> out;
  for (const api::NodeInfo& node : nodes.nodes()) {
    if (node.state() != kAttachedState || !changed.contains(node.node_id())) continue;
    const auto epochs = RG_TRY(store.read(store::read_epochs, node.node_id(), kEpochs));
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

}  // namespace

// The window is compiled as that of a schedule, whose cron line is never used.
Result<WatchPolicy> watch_policy_of(const std::string& policy, const std::string& window) {
  WatchPolicy out{.policy = api::state_of<UpgradePolicy>(kUpgradePolicyTexts, policy)
                                .value_or(UpgradePolicy::kPropose)};
  if (window.empty()) return out;
  const auto compiled =
      run::compile({.name = "upgrade-window", .cron = "0 0 * * *", .windows = window});
  if (!compiled)
    return fail(compiled.error().code, "--upgrade-window: " + compiled.error().message);
  out.window = *compiled;
  return out;
}

// A look may last long, because it judges; the next tick must not wait for it.
void UpgradeWatch::tick(double now) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  {
    const std::lock_guard policy_lock(policy_mutex_);
    policy_ = next_;
  }
  if (const Status looked = look(now); !looked)
    spdlog::warn("upgrades by policy: {}", looked.error().message);
}

// The upgrades are read again after judging. One cohort is measured at a time, so that two gates do
// not disturb each other.
Status UpgradeWatch::look(double now) {
  const auto earlier = RG_TRY(store_.read(store::read_upgrades, kUpgrades));
  const std::size_t measuring = RG_TRY(judge_ended_runs(earlier, now));
  if (policy_.policy == UpgradePolicy::kOff) return {};
  const auto upgrades =
      RG_TRY(store_.read(store::read_upgrades, kUpgrades));           // as they are judged now
  bool is_busy = measuring > 0 || RG_TRY(extend_one(upgrades, now));  // one after the other
  // Mostly none: a list of all nodes is the dear part of a look.
  RG_TRY_OK(store_.flush());
  const auto changed = RG_TRY(store_.read(store::read_changed_nodes, now - long_ago()));
  if (changed.empty()) return {};
  const api::NodeList nodes = RG_TRY(control_.list_nodes({}));
  const auto moved = RG_TRY(moved_nodes(store_, nodes, changed, upgrades));
  std::size_t attached = 0;
  for (const api::NodeInfo& node : nodes.nodes())
    attached += node.state() == kAttachedState ? 1 : 0;
  for (const Cohort& cohort : stable_cohorts(moved, now, long_ago())) {
    if (!may_begin(now)) {
      RG_TRY_OK(propose(cohort, now));
    } else if (!is_busy) {
      const std::string why_not = run(cohort, upgrades, most_at_once(attached));
      is_busy = why_not.empty();
      if (!is_busy) RG_TRY_OK(propose(cohort, now, why_not));
    }
  }
  return {};
}

// An upgrade that cannot be judged is logged and delays no other.
Result<std::size_t> UpgradeWatch::judge_ended_runs(const std::vector<store::UpgradeRow>& upgrades,
                                                   double now) {
  std::size_t measuring = 0;
  for (const store::UpgradeRow& upgrade : upgrades) {
    if (upgrade.state != store::UpgradeState::kMeasuring) continue;
    if (const Status ended = end_what_is_late(upgrade, now); !ended)
      log_trouble(upgrade, ended.error());
    const auto is_measuring = judge_when_ended(store_, upgrade, now);
    if (!is_measuring) log_trouble(upgrade, is_measuring.error());
    measuring += is_measuring.value_or(false) ? 1 : 0;
  }
  return measuring;
}

// The verdict comes at a later look, when the run has ended. Whoever called the gate may be gone.
Status UpgradeWatch::end_what_is_late(const store::UpgradeRow& upgrade, double now) {
  const GateTerms terms = terms_of(RG_TRY(store_.read(store::read_upgrade, upgrade.upgrade_id)));
  if (terms.ends_at == 0 || now < terms.ends_at) return {};
  for (const store::UpgradeRunRow& run : upgrade.runs) {
    if (!run.after || has_ended(RG_TRY(store_.run_summary(run.run_id)).run)) continue;
    const auto cancelled = control_.cancel_run(run.run_id, std::string(kTimeLimitWho));
    record_("cancel_run", fmt::format("{}: run {}", upgrade.upgrade_id, run.run_id),
            cancelled ? Status() : tl::unexpected(cancelled.error()));
    if (!cancelled) return tl::unexpected(cancelled.error());
    spdlog::info("run {}: cancelled, as the time limit of upgrade {}'s gate is over", run.run_id,
                 upgrade.upgrade_id);
  }
  return {};
}

void UpgradeWatch::log_trouble(const store::UpgradeRow& upgrade, const Error& error) {
  const std::string text = fmt::format("upgrade {}: {}", upgrade.upgrade_id, error.message);
  if (troubles_.insert(text).second) spdlog::warn("{}", text);  // not at every look
}

// The newest upgrade first: for nodes that were upgraded once more only the last upgrade counts.
Result<bool> UpgradeWatch::extend_one(const std::vector<store::UpgradeRow>& upgrades, double now) {
  if (!may_begin(now)) return false;
  std::set<std::string> seen;
  for (const store::UpgradeRow& upgrade : upgrades) {
    bool is_newest = true;
    for (const store::UpgradeNodeRow& node : upgrade.nodes)
      if (node.changed && !seen.insert(node.node_id).second) is_newest = false;
    if (!is_newest) continue;
    const auto may = may_extend(upgrade, now);
    const auto begun = may && *may ? extend(upgrade) : may;
    if (!begun) log_trouble(upgrade, begun.error());
    if (begun.value_or(false)) return true;
  }
  return false;
}

// An inconclusive verdict is extended where more runs can settle it, a regression where it is not
// confirmed.
Result<bool> UpgradeWatch::may_extend(const store::UpgradeRow& upgrade, double now) {
  const bool is_regressed = upgrade.verdict == word(analysis::Verdict::kRegressed);
  const auto runs = std::ranges::count(upgrade.runs, true, &store::UpgradeRunRow::after);
  if (upgrade.state != store::UpgradeState::kJudged ||
      (upgrade.verdict != word(analysis::Verdict::kInconclusive) && !is_regressed) ||
      runs >= static_cast<std::ptrdiff_t>(kMostRuns) || now - upgrade.judged_at > long_ago() ||
      !RG_TRY(is_ours(store_, upgrade)))
    return false;
  for (const store::UpgradeNodeRow& node : upgrade.nodes) {
    if (!node.changed || node.stack_after == 0) continue;
    const auto epochs = RG_TRY(store_.read(store::read_epochs, node.node_id, 1));
    const store::StackParts measured =
        RG_TRY(store_.read(store::read_stack_parts, node.stack_after));
    if (epochs.empty() || !moved_to(measured, epochs.front().parts).empty()) return false;
  }
  if (is_regressed) return RG_TRY(is_unconfirmed(store_, upgrade));
  return may_settle(RG_TRY(upgrade_report(store_, upgrade.upgrade_id)));
}

Result<bool> UpgradeWatch::extend(const store::UpgradeRow& upgrade) {
  api::GateRequest more;
  more.set_continue_upgrade_id(upgrade.upgrade_id);
  const api::GateStep step = RG_TRY(gate_.gate(more, std::string(kWho)));
  if (step.state() != text_of(GateState::kWaiting)) {
    record_("gate_upgrade", fmt::format("{}: run {}", upgrade.upgrade_id, step.run_id()), {});
    return true;
  }
  spdlog::debug("upgrade {}: not measured once more yet: {}", upgrade.upgrade_id, step.reason());
  return false;
}

// Once for each cohort, also over a restart: the stored events are read at the first call. A change
// is younger than long_ago(), so an older proposal of the same nodes was about an earlier change.
Status UpgradeWatch::propose(const Cohort& cohort, double now, const std::string& why_not) {
  if (!has_read_proposals_) {
    const store::EventFilter filter{
        .since = now - long_ago(), .kinds = {std::string(report::kProposedKind)}, .limit = kEvents};
    for (const store::StoredEvent& stored : RG_TRY(store_.read(store::find_events, filter)))
      if (const auto earlier = report::proposal_of(stored.event.text))
        proposed_.emplace(report::cohort_key(*earlier), stored.event.at);  // the newest come first
    has_read_proposals_ = true;
  }
  const report::Proposal proposal{.nodes = cohort.nodes, .to = cohort.to, .why_not = why_not};
  const auto [known, is_new] = proposed_.try_emplace(report::cohort_key(proposal), now);
  if (!is_new && known->second > now - long_ago()) return {};
  known->second = now;
  const std::string text = report::proposal_text(proposal, kStableSeconds);
  spdlog::info("{}", text);
  RG_TRY_OK(
      store_.add_event({.at = now, .kind = std::string(report::kProposedKind), .text = text}));
  return store_.flush();  // it is counted after this look
}

// Nodes that were prepared together are gated together, whatever their number.
std::string UpgradeWatch::run(const Cohort& cohort, const std::vector<store::UpgradeRow>& upgrades,
                              std::size_t most) {
  std::vector<std::string> nodes = cohort.nodes;
  const auto is_prepared = [&](const store::UpgradeRow& row) {
    const std::set<std::string> changed = changed_names(row);
    return row.state == store::UpgradeState::kPrepared && !row.before_is_history &&
           std::ranges::equal(changed, nodes);
  };
  if (std::ranges::none_of(upgrades, is_prepared) && nodes.size() > most) nodes.resize(most);
  api::GateRequest request;
  request.set_node_set(fmt::format("{}", fmt::join(nodes, ",")));
  const auto step = gate_.gate(request, std::string(kWho));
  if (!step) return step.error().message;
  if (step->state() == text_of(GateState::kWaiting)) return step->reason();
  record_("gate_upgrade", fmt::format("{}: run {}", step->upgrade_id(), step->run_id()), {});
  spdlog::info("upgrade {} of {} ({}): {} by policy", step->upgrade_id(), request.node_set(),
               cohort.to, step->state());
  return "";
}

}  // namespace railgauge
