#include "controller/report/site_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/report/next_steps.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"

namespace railgauge::report {
namespace {

using namespace railgauge::api;

constexpr std::size_t kMostGroups = 20;     // of one run
constexpr std::size_t kMostSuspects = 20;   // of one run
constexpr std::size_t kMostEventRows = 30;  // rows

bool is_within(const Material& material, const std::string& at) {
  return at >= material.from_at && at <= material.until_at;
}

// Reports whether it is news: within the time, and not in an earlier report.
bool is_news(const Material& material, const std::string& at) {
  return is_within(material, at) && at >= material.news_from_at;
}

std::string folded(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return fold_names(std::vector<std::string>(names.begin(), names.end()));
}

void add_nodes(const Material& material, SiteReport& report) {
  struct Like {
    std::vector<std::string> names;
    std::vector<std::string> reasons;
  };
  std::map<std::string, Like> by_state;
  // A pause is a person's decision and no fault: a paused node is neither lost nor busy.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> paused;
  for (const NodeInfo& node : material.nodes.nodes()) {
    if (node.has_pause()) {
      paused[{node.pause().until_at(),
              fmt::format("by {}: {}", node.pause().who(), node.pause().reason())}]
          .push_back(node.name());
      continue;
    }
    const bool is_busy = node.busy() && node.state() == "attached";
    Like& like = by_state[is_busy ? "busy" : node.state()];
    like.names.push_back(node.name());
    for (const std::string& reason : node.busy_reasons())
      if (is_busy) like.reasons.push_back(reason);
  }
  for (const auto& [state, like] : by_state) {
    ReportedNodes& row = *report.add_nodes();
    row.set_state(state);
    row.set_count(static_cast<std::uint32_t>(like.names.size()));
    row.set_nodes(fold_names(like.names));
    for (const TextGroup& group : group_texts(like.reasons, like.names))
      row.set_why(row.why() + (row.why().empty() ? "" : "; ") + group.text);
  }
  for (const auto& [pause, names] : paused) {
    ReportedNodes& row = *report.add_nodes();
    row.set_state("paused");
    row.set_count(static_cast<std::uint32_t>(names.size()));
    row.set_nodes(fold_names(names));
    row.set_until_at(pause.first);
    row.set_why(pause.second);
  }
}

void add_cut(SiteReport& report, const char* list, const std::string& run_id, std::size_t size,
             std::size_t most) {
  if (size <= most) return;
  ReportedCut& cut = *report.add_cuts();
  cut.set_list(list);
  cut.set_run_id(run_id);
  cut.set_shown(static_cast<double>(most));
  cut.set_left(static_cast<double>(size - most));
}

bool has_failed(const TaskGroup& group) {
  const std::string& outcome = group.outcome();
  return outcome == kFailed || outcome == kCrashed || outcome == kTimedOut;
}

void add_runs(const Material& material, SiteReport& report) {
  for (const TaskGroups& groups : material.runs) {
    ReportedRun& row = *report.add_runs();
    *row.mutable_run() = groups.run();
    row.set_nodes(folded(groups.run().nodes()));
    row.mutable_run()->clear_nodes();
    std::vector<const TaskGroup*> others;
    for (const TaskGroup& group : groups.groups()) {
      if (group.outcome() == kPassed) {
        row.set_passed(row.passed() + group.tasks());
        continue;
      }
      if (has_failed(group))
        row.set_failed(row.failed() + group.tasks());
      else
        row.set_left_out(row.left_out() + group.tasks());
      others.push_back(&group);
    }
    // They come in the order of stages, and a failure of the last one is no less urgent.
    std::stable_partition(others.begin(), others.end(),
                          [](const TaskGroup* one) { return has_failed(*one); });
    for (std::size_t i = 0; i < std::min(others.size(), kMostGroups); ++i)
      *row.add_groups() = *others[i];
    add_cut(report, "groups", groups.run().run_id(), others.size(), kMostGroups);
  }
}

void add_schedules(const Material& material, SiteReport& report) {
  for (const ScheduleInfo& schedule : material.schedules) {
    ReportedSchedule& row = *report.add_schedules();
    row.set_schedule(schedule.name());
    row.set_suite(schedule.suite());
    row.set_state(schedule.state());
    if (schedule.has_next_at()) row.set_next_at(schedule.next_at());
    for (const ScheduleDue& due : schedule.dues()) {
      const bool is_missed = due.result() == "missed" || due.result() == "skipped";
      if (!is_missed || !is_within(material, due.due_at())) continue;
      row.set_missed(due.reason().empty() ? due.result() : due.reason());
      row.set_missed_at(due.due_at());
      break;  // the newest
    }
  }
}

// Reports whether the cause of the finding is gone; the report calls it fixed.
bool is_mended(const Finding& finding) {
  return finding.state() == "fixed" || finding.state() == "rolled_back";
}

// The change of a finding in the report's time; its steps decide where they are known.
std::string change_of(const Material& material, const Finding& finding) {
  if (is_mended(finding)) return "fixed";
  bool is_confirmed = false;
  bool is_worse = false;
  for (const FindingStep& step : finding.steps()) {
    if (!is_news(material, step.at())) continue;
    is_confirmed = is_confirmed || step.action() == "confirm";
    is_worse = is_worse || step.action() == "reopen" || step.action() == "worse";
  }
  if (is_confirmed) return "confirmed";
  if (is_news(material, finding.opened_at())) return "new";
  return is_worse ? "worse" : "open";
}

// Bad news before good, and within it the largest loss.
int rank_of(const std::string& change) {
  constexpr std::array<std::string_view, 5> kOrder{"confirmed", "worse", "new", "open", "fixed"};
  return static_cast<int>(std::ranges::find(kOrder, change) - kOrder.begin());
}

void add_findings(const Material& material, SiteReport& report) {
  for (const Finding& finding : material.findings) {
    if (is_mended(finding) && !is_news(material, finding.changed_at())) continue;
    if (finding.state() == "false" || finding.state() == "accepted") continue;
    ReportedFinding& row = *report.add_findings();
    row.set_change(change_of(material, finding));
    row.set_finding_id(finding.finding_id());
    row.set_event_id(finding.has_event_id() ? finding.event_id() : finding.finding_id());
    row.set_kind(finding.kind());
    row.set_state(finding.state());
    row.set_severity(finding.severity());
    row.set_part(finding.suspect());
    row.set_summary(finding.summary());
    if (finding.has_worse_percent()) row.set_worse_percent(finding.worse_percent());
    row.set_opened_at(finding.opened_at());
    if (finding.has_since()) row.set_since_at(finding.since());
    *row.mutable_before_levels() = finding.before_levels();
    *row.mutable_after_levels() = finding.after_levels();
  }
  std::stable_sort(report.mutable_findings()->begin(), report.mutable_findings()->end(),
                   [](const ReportedFinding& a, const ReportedFinding& b) {
                     return std::tuple(rank_of(a.change()), -a.worse_percent()) <
                            std::tuple(rank_of(b.change()), -b.worse_percent());
                   });
}

void add_suspects(const Material& material, SiteReport& report) {
  for (const SuspectList& list : material.suspects) {
    ReportedCoverage& coverage = *report.add_coverage();
    coverage.set_run_id(list.run_id());
    coverage.set_kernel(list.kernel());
    coverage.set_measured_pairs(list.measured_pairs());
    coverage.set_possible_pairs(list.possible_pairs());
    coverage.set_noise_share(list.noise_share());
    coverage.set_without_data(folded(list.unmeasured_nodes()));
    report.set_synthetic(report.synthetic() || list.synthetic());
    std::size_t standing = 0;
    for (const Suspect& suspect : list.suspects()) {
      if (suspect.retest_answer() == "cleared" || ++standing > kMostSuspects) continue;
      ReportedSuspect& row = *report.add_suspects();
      row.set_run_id(list.run_id());
      row.set_name(suspect.name());
      row.set_sentence(suspect.sentence());
      row.set_confirmed(suspect.confirmed());
      row.set_drop_share(suspect.drop_share());
    }
    add_cut(report, "suspects", list.run_id(), standing, kMostSuspects);
  }
}

// Reports whether the upgrade measured the node after the proposal: it began later, was judged
// later, or measures now.
bool is_answer(const Upgrade& upgrade, const std::string& node, const std::string& proposed_at) {
  if (std::ranges::find(upgrade.nodes(), node) == upgrade.nodes().end()) return false;
  return upgrade.created_at() >= proposed_at || upgrade.judged_at() >= proposed_at ||
         upgrade.state() == "measuring";
}

void add_upgrades(const Material& material, SiteReport& report) {
  for (const Upgrade& upgrade : material.upgrades) {
    ReportedUpgrade& row = *report.add_upgrades();
    row.set_upgrade_id(upgrade.upgrade_id());
    row.set_state(upgrade.state());
    if (upgrade.has_verdict()) row.set_verdict(upgrade.verdict());
    row.set_nodes(folded(upgrade.nodes()));
    row.set_at(upgrade.has_judged_at() ? upgrade.judged_at() : upgrade.created_at());
    row.set_text(upgrade.reason());
    report.set_synthetic(report.synthetic() || upgrade.synthetic());
  }
  for (const WaitingProposal& waiting : material.proposals) {
    const Proposal& proposal = waiting.proposal;
    ReportedUpgrade& row = *report.add_upgrades();
    row.set_state("proposed");
    row.set_nodes(fold_names(proposal.nodes));
    row.set_at(waiting.at);
    row.set_text("changed " + proposal.to);
    if (!proposal.why_not.empty())
      row.set_text(row.text() + "; not measured by policy: " + proposal.why_not);
  }
}

// Events that a person would act on; agents that come, go or are busy are in the nodes' rows.
bool is_telling(const Event& event) {
  const std::string& kind = event.kind();
  return kind.starts_with("watch_") || kind.starts_with("run_") || kind == "stack_changed" ||
         kind == "hardware_replaced" || kind == "node_refused" || kind == "node_clock_off" ||
         kind == "controller_started" || kind.starts_with("delivery_") ||
         kind.starts_with("maintenance_") || kind.starts_with("backup_") ||
         kind == "record_refused" || kind == "orphans_dropped" || kind == "node_barred" ||
         kind == "crl_expired" || kind == "crl_refused" || kind == "tls_refused";
}

void add_events(const Material& material, SiteReport& report) {
  std::map<std::string, std::vector<const Event*>> by_kind;
  for (const Event& event : material.events)
    if (is_telling(event)) by_kind[event.kind()].push_back(&event);
  std::vector<ReportedEvents> rows;
  for (const auto& [kind, events] : by_kind) {
    std::vector<std::string> texts;
    std::vector<std::string> nodes;
    for (const Event* event : events) {
      texts.push_back(event->text());
      nodes.push_back(event->node());
    }
    for (const TextGroup& group : group_texts(texts, nodes)) {
      ReportedEvents& row = rows.emplace_back();
      row.set_at(events[group.members.front()]->at());
      row.set_kind(kind);
      row.set_count(static_cast<double>(group.members.size()));
      std::set<std::string> named;
      for (const std::size_t member : group.members)
        if (!nodes[member].empty()) named.insert(nodes[member]);
      row.set_nodes(fold_names(std::vector<std::string>(named.begin(), named.end())));
      row.set_text(group.text);
    }
  }
  std::ranges::stable_sort(rows, std::greater{}, [](const auto& row) { return row.at(); });
  for (std::size_t i = 0; i < std::min(rows.size(), kMostEventRows); ++i)
    *report.add_events() = std::move(rows[i]);
  add_cut(report, "events", "", rows.size(), kMostEventRows);
}

// Counts that the verdict, the headline and the next steps need.
struct Tally {
  std::size_t confirmed_findings = 0;
  std::size_t bad_findings = 0;  // new or worse
  std::size_t open_findings = 0;
  std::size_t fixed_findings = 0;
  std::size_t bad_suspects = 0;  // confirmed
  std::size_t bad_upgrades = 0;
  std::size_t waiting = 0;  // upgrades without a verdict
  std::size_t missed = 0;   // due times
  double tasks = 0;
  double passed = 0;
  double failed = 0;
  double left_out = 0;
  std::uint32_t lost_nodes = 0;
  std::uint32_t paused_nodes = 0;
  std::uint32_t unmeasured = 0;  // coverage rows with nodes without data
  std::size_t unread = 0;        // lists of which not all was read
};

Tally tally_of(const SiteReport& report) {
  Tally tally;
  for (const ReportedFinding& finding : report.findings()) {
    tally.fixed_findings += finding.change() == "fixed" ? 1 : 0;
    tally.open_findings += finding.change() == "open" ? 1 : 0;
    tally.confirmed_findings += finding.change() == "confirmed" ? 1 : 0;
    tally.bad_findings += finding.change() == "new" || finding.change() == "worse" ? 1 : 0;
  }
  for (const ReportedSuspect& suspect : report.suspects())
    tally.bad_suspects += suspect.confirmed() ? 1 : 0;
  for (const ReportedUpgrade& upgrade : report.upgrades()) {
    tally.bad_upgrades += upgrade.verdict() == "regressed" ? 1 : 0;
    tally.waiting += upgrade.has_verdict() ? 0 : 1;
  }
  for (const ReportedSchedule& schedule : report.schedules())
    tally.missed += schedule.missed().empty() ? 0 : 1;
  for (const ReportedRun& run : report.runs()) {
    tally.passed += run.passed();
    tally.failed += run.failed();
    tally.left_out += run.left_out();
  }
  tally.tasks = tally.passed + tally.failed + tally.left_out;
  for (const ReportedNodes& nodes : report.nodes()) {
    tally.lost_nodes += nodes.state() == "lost" ? nodes.count() : 0;
    tally.paused_nodes += nodes.state() == "paused" ? nodes.count() : 0;
  }
  for (const ReportedCoverage& coverage : report.coverage())
    tally.unmeasured += coverage.without_data().empty() ? 0 : 1;
  for (const ReportedCut& cut : report.cuts()) tally.unread += cut.has_left() ? 0 : 1;
  return tally;
}

std::string verdict_of(const Tally& tally) {
  const std::size_t bad =
      tally.confirmed_findings + tally.bad_findings + tally.bad_suspects + tally.bad_upgrades;
  if (bad > 0) return "regressed";
  if (tally.passed == 0) return "invalid";
  const bool is_doubtful = tally.failed > 0 || tally.left_out > 0 || tally.missed > 0 ||
                           tally.waiting > 0 || tally.open_findings > 0 || tally.unmeasured > 0 ||
                           tally.lost_nodes > 0 || tally.unread > 0;
  return is_doubtful ? "inconclusive" : "pass";
}

// "3 findings", "1 finding".
std::string count_text(std::size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Joins what there is of: bad parts, failed and left-out tasks, missed due times, lost nodes.
std::string headline_of(const Tally& tally) {
  std::vector<std::string> parts;
  if (tally.confirmed_findings > 0)
    parts.push_back(count_text(tally.confirmed_findings, "finding") + " confirmed");
  if (tally.bad_findings > 0)
    parts.push_back(count_text(tally.bad_findings, "finding") + " new or worse");
  if (tally.bad_suspects > 0) parts.push_back(count_text(tally.bad_suspects, "confirmed suspect"));
  if (tally.bad_upgrades > 0) parts.push_back(count_text(tally.bad_upgrades, "upgrade") + " worse");
  if (tally.failed > 0) parts.push_back(fmt::format("{:.0f} tasks failed", tally.failed));
  if (tally.left_out > 0) parts.push_back(fmt::format("{:.0f} left out", tally.left_out));
  if (tally.missed > 0) parts.push_back(count_text(tally.missed, "schedule") + " missed");
  if (tally.lost_nodes > 0) parts.push_back(count_text(tally.lost_nodes, "node") + " lost");
  if (tally.paused_nodes > 0) parts.push_back(count_text(tally.paused_nodes, "node") + " paused");
  if (tally.waiting > 0) parts.push_back(count_text(tally.waiting, "upgrade") + " waiting");
  if (tally.open_findings > 0) parts.push_back(count_text(tally.open_findings, "older finding"));
  std::string text = tally.tasks == 0
                         ? std::string("nothing was measured")
                         : fmt::format("{:.0f} of {:.0f} tasks passed", tally.passed, tally.tasks);
  for (const std::string& part : parts) text += ", " + part;
  return text;
}

}  // namespace

std::vector<WaitingProposal> waiting_proposals(
    const google::protobuf::RepeatedPtrField<Event>& events,
    const google::protobuf::RepeatedPtrField<Upgrade>& upgrades) {
  std::vector<WaitingProposal> waiting;
  std::set<std::string> named;  // by a newer proposal
  for (const Event& event : events) {
    auto proposal = proposal_of(event.text());
    if (!proposal) continue;
    std::erase_if(proposal->nodes, [&](const std::string& node) {
      return !named.insert(node).second ||
             std::ranges::any_of(upgrades, [&](const Upgrade& upgrade) {
               return is_answer(upgrade, node, event.at());
             });
    });
    if (!proposal->nodes.empty())
      waiting.push_back({.at = event.at(), .proposal = std::move(*proposal)});
  }
  return waiting;
}

SiteReport make_report(const Material& material) {
  auto report = new_document<SiteReport>();
  report.set_report_id(material.scope == "since"
                           ? fmt::format("{}/{}", material.from_at, material.until_at)
                           : fmt::format("{}-{}", material.scope, material.subject));
  report.set_scope(material.scope);
  report.set_made_at(material.until_at);
  report.set_from_at(material.from_at);
  report.set_until_at(material.until_at);
  report.set_synthetic(material.is_synthetic);
  report.mutable_cuts()->Assign(material.cuts.begin(), material.cuts.end());
  add_nodes(material, report);
  add_runs(material, report);
  add_schedules(material, report);
  add_findings(material, report);
  add_suspects(material, report);
  add_upgrades(material, report);
  add_events(material, report);
  if (material.measured_twice) report.set_measured_twice(*material.measured_twice);
  if (material.measured_twice_apart)
    report.set_measured_twice_apart(*material.measured_twice_apart);
  report.set_false_alarm_budget(kFalseAlarmBudget);
  const Tally tally = tally_of(report);
  report.set_verdict(verdict_of(tally));
  report.set_headline((report.synthetic() ? "SYNTHETIC: " : "") + headline_of(tally));
  add_next(material.findings, report);
  return report;
}

}  // namespace railgauge::report
