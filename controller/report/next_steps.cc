#include "controller/report/next_steps.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/fold.h"

namespace railgauge::report {
namespace {

using namespace railgauge::api;

// So many of each kind of thing have a step of their own; one step has the others. The sum is
// kMostUrgentSteps.
constexpr std::size_t kMostEventSteps = 5;
constexpr std::size_t kMostRunsOfSuspects = 2;
constexpr std::size_t kMostUpgradeSteps = 4;
constexpr std::string_view kNothingMeasured =
    "railgauge schedules set nightly active, or railgauge run quick: no run ended in this time; "
    "railgauge doctor looks for a cause";

// Collects steps once each.
class Steps {
 public:
  explicit Steps(SiteReport& report) : report_(report) {}
  void add(std::string step) {
    if (once_.insert(step).second) report_.add_next(std::move(step));
  }

 private:
  SiteReport& report_;
  std::set<std::string> once_;
};

// Reports whether somebody has to do something about it: it is news, or confirmed and not done.
bool is_urgent(const ReportedFinding& finding) {
  return finding.change() == "open" ? finding.state() == "confirmed" : finding.change() != "fixed";
}

// The most urgent finding of each event: first one of each kind, then the others.
struct UrgentEvents {
  std::vector<const ReportedFinding*> first_of_kind{};
  std::vector<const ReportedFinding*> others{};
};

// The findings come with the most urgent first.
UrgentEvents urgent_events(const SiteReport& report) {
  UrgentEvents events;
  std::set<std::string> seen;
  std::set<std::string> kinds;
  for (const ReportedFinding& finding : report.findings()) {
    if (!is_urgent(finding) || !seen.insert(finding.event_id()).second) continue;
    const bool is_first = kinds.insert(finding.kind()).second;
    (is_first ? events.first_of_kind : events.others).push_back(&finding);
  }
  return events;
}

std::string step_of(const ReportedFinding& finding) {
  return fmt::format("railgauge findings show {}: evidence and causes", finding.finding_id());
}

void add_lost(const SiteReport& report, Steps& steps) {
  std::string lost;
  for (const ReportedNodes& nodes : report.nodes())
    if (nodes.state() == "lost") lost += (lost.empty() ? "" : ",") + nodes.nodes();
  if (lost.empty()) return;
  steps.add(fmt::format(
      "bring back {}: its agent is not attached (systemctl status railgauge-agent there)", lost));
}

// The confirmed suspects of a run are a step.
void add_suspects(const SiteReport& report, Steps& steps) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_run;
  for (const ReportedSuspect& suspect : report.suspects()) {
    if (!suspect.confirmed()) continue;
    if (by_run.empty() || by_run.back().first != suspect.run_id())
      by_run.emplace_back(suspect.run_id(), std::vector<std::string>());
    by_run.back().second.push_back(suspect.name());
  }
  for (std::size_t i = 0; i < std::min(by_run.size(), kMostRunsOfSuspects); ++i)
    steps.add(fmt::format("railgauge runs suspects {}: {}", by_run[i].first,
                          fold_briefly(by_run[i].second)));
}

// Those that got worse, then those that wait.
void add_upgrades(const SiteReport& report, Steps& steps) {
  std::vector<std::string> lines;
  for (const ReportedUpgrade& upgrade : report.upgrades())
    if (upgrade.verdict() == "regressed")
      lines.push_back(fmt::format("railgauge upgrades show {}: what got worse, where and why",
                                  upgrade.upgrade_id()));
  for (const ReportedUpgrade& upgrade : report.upgrades()) {
    if (upgrade.has_verdict()) continue;
    const std::string about = upgrade.upgrade_id().empty()
                                  ? "they " + upgrade.text().substr(0, upgrade.text().find(';')) +
                                        ", measure what it cost"
                                  : "judge upgrade " + upgrade.upgrade_id();
    lines.push_back(fmt::format("railgauge upgrades gate --nodes {}: {}", upgrade.nodes(), about));
  }
  for (std::size_t i = 0; i < std::min(lines.size(), kMostUpgradeSteps); ++i)
    steps.add(std::move(lines[i]));
  if (lines.size() > kMostUpgradeSteps)
    steps.add(fmt::format("railgauge upgrades: {} more wait or got worse",
                          lines.size() - kMostUpgradeSteps));
}

// The first of the names, and the number of the others.
std::string and_others(const std::vector<std::string>& names) {
  return names.size() < 2 ? "" : fmt::format(" (and {} more)", names.size() - 1);
}

void add_failed_and_missed(const SiteReport& report, Steps& steps) {
  std::vector<std::string> failed;
  for (const ReportedRun& run : report.runs())
    if (run.failed() > 0) failed.push_back(run.run().run_id());
  if (!failed.empty())
    steps.add(fmt::format("railgauge runs show {}: why tasks failed{}", failed.front(),
                          and_others(failed)));
  std::vector<std::string> missed;
  std::string missed_at;
  for (const ReportedSchedule& schedule : report.schedules()) {
    if (schedule.missed().empty()) continue;
    if (missed.empty()) missed_at = schedule.missed_at();
    missed.push_back(schedule.schedule());
  }
  if (!missed.empty())
    steps.add(fmt::format("railgauge schedules run-now {}: its run at {} did not start{}",
                          missed.front(), missed_at, and_others(missed)));
}

// Backups and reports that fail: the doctor names the cause and the remedy. The newest events come
// first.
void add_failing(const SiteReport& report, std::string_view begin, std::string_view what,
                 Steps& steps) {
  const auto newest = std::ranges::find_if(
      report.events(), [&](const auto& row) { return row.kind().starts_with(begin); });
  if (newest != report.events().end() && !newest->kind().ends_with("_works"))
    steps.add(fmt::format("railgauge doctor: {}", what));
}

}  // namespace

void add_next(std::span<const Finding> findings, SiteReport& report) {
  Steps steps(report);
  if (report.scope() == "since" && report.runs().empty()) steps.add(std::string(kNothingMeasured));
  const UrgentEvents events = urgent_events(report);
  const std::size_t first = std::min(events.first_of_kind.size(), kMostEventSteps);
  for (std::size_t i = 0; i < first; ++i) steps.add(step_of(*events.first_of_kind[i]));
  add_lost(report, steps);
  add_suspects(report, steps);
  add_upgrades(report, steps);
  add_failed_and_missed(report, steps);
  add_failing(report, "backup_", "backups fail", steps);
  add_failing(report, "delivery_", "reports do not arrive", steps);
  const std::size_t further = std::min(events.others.size(), kMostEventSteps - first);
  for (std::size_t i = 0; i < further; ++i) steps.add(step_of(*events.others[i]));
  const std::size_t left = events.first_of_kind.size() + events.others.size() - first - further;
  if (left > 0) steps.add(fmt::format("railgauge findings: {} more", left));
  for (const Finding& finding : findings) {
    const auto shown =
        std::ranges::find(report.findings(), finding.finding_id(), &ReportedFinding::finding_id);
    if (shown == report.findings().end() || !is_urgent(*shown)) continue;
    for (const std::string& step : finding.next()) steps.add(step);
  }
}

}  // namespace railgauge::report
