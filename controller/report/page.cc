#include "controller/report/page.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/report/next_steps.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/units.h"

namespace railgauge::report {
namespace {

using namespace railgauge::api;

// "2026-11-20 12:00 UTC"; other texts stay as they are.
std::string short_time(const std::string& at) {
  constexpr std::size_t kMinutes = 16;
  if (at.size() < kMinutes || at[10] != 'T') return at;
  return at.substr(0, 10) + " " + at.substr(11, 5) + " UTC";
}

Mood mood_of_verdict(const std::string& verdict) {
  if (verdict == "pass") return Mood::kGood;
  return verdict == "inconclusive" ? Mood::kDoubtful : Mood::kBad;
}

// Adds an entry, or counts it once there are enough.
void add(Section& section, std::size_t most, Entry entry) {
  if (section.entries.size() < most)
    section.entries.push_back(std::move(entry));
  else
    ++section.left;
}

Mood mood_of_outcome(const std::string& outcome) {
  if (outcome == kPassed) return Mood::kGood;
  const bool is_doubtful = outcome.empty() || outcome == kWaived || outcome == kCancelledOutcome;
  return is_doubtful ? Mood::kDoubtful : Mood::kBad;
}

Section runs_section(const SiteReport& report, std::size_t most) {
  Section section{.title = "Measured"};
  double tasks = 0;
  double passed = 0;
  for (const ReportedRun& row : report.runs()) {
    tasks += row.passed() + row.failed() + row.left_out();
    passed += row.passed();
    const RunSummary& run = row.run();
    std::string text = fmt::format("{:.0f} tasks passed", row.passed());
    if (row.failed() > 0) text += fmt::format(", {:.0f} failed", row.failed());
    if (row.left_out() > 0) text += fmt::format(", {:.0f} left out", row.left_out());
    if (!row.nodes().empty()) text += " on " + row.nodes();
    // The groups below have the reasons of tasks.
    if (!run.reason().empty() && row.groups().empty()) text += "; " + run.reason();
    for (const std::string& nodes : run.left_out()) text += "; " + nodes;
    const std::string word = run.outcome().empty() ? run.state() : run.outcome();
    add(section, most,
        {.mark = word,
         .mood = mood_of_outcome(run.outcome()),
         .head = fmt::format(
             "{} {}, {}", run.suite(), run.run_id(),
             short_time(run.started_at().empty() ? run.created_at() : run.started_at())),
         .text = text});
  }
  section.summary = report.runs().empty()
                        ? "no run began in this time"
                        : fmt::format("{} run{}, {:.0f} of {:.0f} tasks passed", report.runs_size(),
                                      report.runs_size() == 1 ? "" : "s", passed, tasks);
  return section;
}

// The places of a group, in a line's length.
std::string places_text(const std::string& endpoints) {
  constexpr std::size_t kMostBytes = 60;
  if (endpoints.empty()) return "";
  if (endpoints.size() <= kMostBytes) return " on " + endpoints;
  return " on " + endpoints.substr(0, endpoints.rfind(',', kMostBytes)) + " and others";
}

// Failures, parts that were left out, and due times that started nothing: each with its reason.
// The bad ones come first.
Section missed_section(const SiteReport& report, std::size_t most) {
  Section section{.title = "Missed or left out"};
  std::vector<Entry> entries;
  for (const ReportedSchedule& schedule : report.schedules())
    if (!schedule.missed().empty())
      entries.push_back({.mark = "missed",
                         .mood = Mood::kBad,
                         .head = fmt::format("schedule {} ({}) at {}", schedule.schedule(),
                                             schedule.suite(), short_time(schedule.missed_at())),
                         .text = schedule.missed()});
  for (const ReportedNodes& nodes : report.nodes())
    if (nodes.state() != "attached")
      entries.push_back(
          {.mark = nodes.state(),
           .mood = nodes.state() == "lost" ? Mood::kBad : Mood::kDoubtful,
           .head = fmt::format("{} node{}: {}", nodes.count(), nodes.count() == 1 ? "" : "s",
                               nodes.nodes()),
           .text = nodes.has_until_at()
                       ? fmt::format("until {} {}", short_time(nodes.until_at()), nodes.why())
                       : nodes.why()});
  double tasks = 0;
  for (const ReportedRun& run : report.runs())
    for (const TaskGroup& group : run.groups()) {
      tasks += group.tasks();
      entries.push_back({.mark = group.outcome().empty() ? group.state() : group.outcome(),
                         .mood = mood_of_outcome(group.outcome()),
                         .head = fmt::format("{:.0f} x {}{}", group.tasks(), group.kernel(),
                                             places_text(group.endpoints())),
                         .text = group.reason()});
    }
  for (const ReportedCoverage& coverage : report.coverage())
    if (!coverage.without_data().empty())
      entries.push_back(
          {.mark = "no data",
           .mood = Mood::kDoubtful,
           .head = fmt::format("{} in run {}", coverage.without_data(), coverage.run_id()),
           .text = ""});
  std::stable_partition(entries.begin(), entries.end(),
                        [](const Entry& one) { return one.mood == Mood::kBad; });
  for (Entry& entry : entries) add(section, most, std::move(entry));
  section.summary = section.entries.empty() ? "nothing" : fmt::format("{:.0f} tasks", tasks);
  return section;
}

using Alike = std::vector<const ReportedFinding*>;

// Findings of one event are one entry, as `railgauge findings` folds them: the most urgent of them
// comes first, with the largest loss and the earliest time of all.
Entry entry_of(const Alike& event) {
  const ReportedFinding& first = *event.front();
  std::vector<std::string> parts;
  std::vector<std::string> texts;
  std::string since;
  const ReportedFinding* worst = nullptr;
  for (const ReportedFinding* one : event) {
    parts.push_back(one->part().empty() ? one->finding_id() : one->part());
    texts.push_back(fmt::format("{}: {}", one->kind(), one->summary()));
    const std::string& at = one->has_since_at() ? one->since_at() : one->opened_at();
    since = since.empty() ? at : std::min(since, at);
    if (one->has_worse_percent() &&
        (worst == nullptr || one->worse_percent() > worst->worse_percent()))
      worst = one;
  }
  const auto groups = group_texts(texts, parts);
  std::string text = groups.front().text;
  if (groups.size() > 1) text += fmt::format("; more kinds: {}", groups.size() - 1);
  text += fmt::format(" ({}{})", first.finding_id(),
                      event.size() > 1 ? fmt::format(" and {} more", event.size() - 1) : "");
  const std::string loss =
      worst == nullptr ? "" : fmt::format(", {:.1f} % worse", worst->worse_percent());
  Entry entry{.mark = first.change(),
              .mood = first.change() == "fixed"  ? Mood::kGood
                      : first.change() == "open" ? Mood::kDoubtful
                                                 : Mood::kBad,
              .head = fmt::format("{}{}, since {}", fold_briefly(parts), loss, short_time(since)),
              .text = std::move(text)};
  entry.before.assign(first.before_levels().begin(), first.before_levels().end());
  entry.after.assign(first.after_levels().begin(), first.after_levels().end());
  return entry;
}

Section findings_section(const SiteReport& report, std::size_t most) {
  Section section{.title = "Findings"};
  std::map<std::string, int> counts;
  std::vector<std::pair<std::string, Alike>> events;  // in the order of their first finding
  for (const ReportedFinding& finding : report.findings()) {
    ++counts[finding.change()];
    // A fixed finding is no part of an open event.
    const std::string key = finding.change() == "fixed" ? finding.finding_id() : finding.event_id();
    const auto known = std::ranges::find(events, key, &std::pair<std::string, Alike>::first);
    (known == events.end() ? events.emplace_back(key, Alike()) : *known).second.push_back(&finding);
  }
  for (const auto& [key, alike] : events) add(section, most, entry_of(alike));
  for (const char* change : {"new", "worse", "confirmed", "fixed", "open"})
    section.summary += fmt::format("{}{} {}", section.summary.empty() ? "" : ", ", counts[change],
                                   std::string_view(change) == "open" ? "still open" : change);
  if (events.size() < static_cast<std::size_t>(report.findings_size()))
    section.summary += fmt::format(" ({} event{})", events.size(), events.size() == 1 ? "" : "s");
  return section;
}

Section suspects_section(const SiteReport& report, std::size_t most) {
  Section section{.title = "Suspects"};
  for (const ReportedSuspect& suspect : report.suspects())
    add(section, most,
        {.mark = suspect.confirmed() ? "confirmed" : "measure again",
         .mood = suspect.confirmed() ? Mood::kBad : Mood::kDoubtful,
         .head = fmt::format("{}, {:.1f} %", suspect.name(), 100 * suspect.drop_share()),
         .text = suspect.sentence()});
  if (report.suspects().empty()) section.summary = "none";
  return section;
}

Section upgrades_section(const SiteReport& report, std::size_t most) {
  Section section{.title = "Upgrades"};
  for (const ReportedUpgrade& upgrade : report.upgrades())
    add(section, most,
        {.mark = upgrade.has_verdict() ? upgrade.verdict() : upgrade.state(),
         .mood = upgrade.has_verdict() ? mood_of_verdict(upgrade.verdict()) : Mood::kDoubtful,
         .head = fmt::format(
             "{}{}, {}", upgrade.upgrade_id().empty() ? "" : upgrade.upgrade_id() + " of ",
             upgrade.nodes().empty() ? "nodes" : upgrade.nodes(), short_time(upgrade.at())),
         .text = upgrade.text()});
  if (report.upgrades().empty()) section.summary = "none waits";
  return section;
}

// The loss of one pair that stays unseen; a share of 1 is no bound.
std::string bound_text(double noise_share) {
  if (noise_share >= 1) return "too few figures for a bound of one pair's loss";
  return fmt::format("one pair's loss below {:.1f} % is within the noise", 100 * noise_share);
}

// How far the figures reach, and how often an alarm is false.
Section trust_section(const SiteReport& report, std::size_t most) {
  Section section{.title = "Coverage and false alarms"};
  for (const ReportedCoverage& coverage : report.coverage()) {
    const double share =
        coverage.possible_pairs() > 0 ? coverage.measured_pairs() / coverage.possible_pairs() : 0;
    add(section, most,
        {.mark = fmt::format("{:.1f} %", 100 * share),
         .mood = share >= 1 ? Mood::kGood : Mood::kDoubtful,
         .head = fmt::format("{:.0f} of {:.0f} figures of pairs, {}", coverage.measured_pairs(),
                             coverage.possible_pairs(), coverage.kernel()),
         .text =
             fmt::format("{} (run {})", bound_text(coverage.noise_share()), coverage.run_id())});
  }
  if (report.measured_twice() > 0) {
    const double share =
        static_cast<double>(report.measured_twice_apart()) / report.measured_twice();
    add(section, most,
        {.mark = fmt::format("{:.1f} %", 100 * share),
         .mood = share <= report.false_alarm_budget() ? Mood::kGood : Mood::kBad,
         .head = fmt::format("false alarms: {} of {} figures measured twice differ",
                             report.measured_twice_apart(), report.measured_twice()),
         .text = fmt::format("the budget is {:.0f} %", 100 * report.false_alarm_budget())});
  } else {
    section.summary =
        fmt::format("false alarms: unknown, no figure was measured twice; the budget is {:.0f} %",
                    100 * report.false_alarm_budget());
  }
  return section;
}

Section events_section(const SiteReport& report, std::size_t most) {
  Section section{.title = "Events"};
  for (const ReportedEvents& events : report.events()) {
    std::string head = short_time(events.at());
    if (events.count() > 1) head += fmt::format(", {:.0f} times", events.count());
    if (!events.nodes().empty()) head += ", " + events.nodes();
    const std::string& kind = events.kind();
    const bool is_bad = kind.starts_with("watch_") || kind == "run_interrupted" ||
                        kind == "run_not_judged" || kind.ends_with("_failed") ||
                        kind.ends_with("_dropped") || kind.ends_with("_refused") ||
                        kind.ends_with("_barred");
    add(section, most,
        {.mark = events.kind(),
         .mood = is_bad ? Mood::kDoubtful : Mood::kPlain,
         .head = head,
         .text = events.text()});
  }
  if (report.events().empty()) section.summary = "none";
  return section;
}

// The parts of long lists that are not here, so that nobody takes them for all there is.
Section cuts_section(const SiteReport& report, std::size_t most) {
  Section section{.title = "Not in this report"};
  for (const ReportedCut& cut : report.cuts()) {
    const std::string of_run = cut.run_id().empty() ? "" : " of run " + cut.run_id();
    add(section, most,
        {.mark = cut.has_left() ? fmt::format("{:.0f} more", cut.left()) : std::string("more"),
         .mood = Mood::kDoubtful,
         .head = fmt::format("{}{}: the first {:.0f} are here", cut.list(), of_run, cut.shown()),
         .text = cut.has_left() ? "" : "the others were not read; a shorter time has all of them"});
  }
  return section;
}

std::string scope_text(const SiteReport& report) {
  const std::string subject = report.scope() == "since" ? "" : report.report_id() + ", ";
  return subject + short_time(report.from_at()) + " to " + short_time(report.until_at());
}

}  // namespace

Page page_of(const SiteReport& report, std::size_t most_entries) {
  Page page{.title = "Railgauge report",
            .subtitle = scope_text(report) + (report.synthetic() ? ", SYNTHETIC figures" : ""),
            .verdict = report.verdict(),
            .mood = mood_of_verdict(report.verdict()),
            .headline = report.headline()};
  using Make = Section (*)(const SiteReport&, std::size_t);
  constexpr std::array<Make, 7> kSections{findings_section, suspects_section, runs_section,
                                          missed_section,   upgrades_section, trust_section,
                                          events_section};
  for (const Make make : kSections) page.sections.push_back(make(report, most_entries));
  if (!report.cuts().empty()) page.sections.push_back(cuts_section(report, most_entries));
  const auto steps = static_cast<std::size_t>(report.next_size());
  for (std::size_t i = 0; i < std::min(steps, std::max(most_entries, kMostUrgentSteps)); ++i)
    page.next.push_back(report.next(static_cast<int>(i)));
  page.next_left = steps - page.next.size();
  return page;
}

}  // namespace railgauge::report
