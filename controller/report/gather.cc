#include "controller/report/gather.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/text/rfc3339.h"

namespace railgauge::report {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kMostRuns = 200;
constexpr std::uint32_t kMostUpgrades = 200;
constexpr std::uint32_t kMostProposals = 200;
constexpr std::uint32_t kMostFindings = 200;
constexpr int kMostDetails = 20;  // findings whose figures and steps are asked for
constexpr std::uint32_t kMostEvents = 5'000;
constexpr double kFirstMorningSeconds = 86'400;  // before a schedule's first run

// The rail in a suspect's words: "n1 rail 3, sending".
std::optional<std::int32_t> rail_in(std::string_view suspect) {
  constexpr std::string_view kRail = "rail ";
  const std::size_t at = suspect.find(kRail);
  if (at == std::string_view::npos) return std::nullopt;
  suspect.remove_prefix(at + kRail.size());
  std::int32_t rail = 0;
  const auto [end, error] = std::from_chars(suspect.data(), suspect.data() + suspect.size(), rail);
  return error == std::errc() ? std::optional(rail) : std::nullopt;
}

// Adds parts to one material. Times are compared as texts, which all have one form.
class Gatherer {
 public:
  Gatherer(const Source& source, double until) : source_(source) {
    material().until_at = rfc3339(until);
  }

  Material& material() { return gathered_.material; }
  Gathered take() {
    material().is_synthetic = source_.is_synthetic && source_.is_synthetic();
    return std::move(gathered_);
  }
  [[nodiscard]] bool is_recent(const std::string& at) const {
    return at >= gathered_.material.from_at;
  }

  Status add_run(const std::string& run_id) {
    material().runs.push_back(RG_TRY(source_.groups(run_id)));
    if (material().runs.back().run().state() != "ended") return {};
    auto suspects = source_.suspects(run_id);
    if (!suspects) {
      const Code code = suspects.error().code;
      const bool has_none = code == Code::kInvalidArgument || code == Code::kFailedPrecondition ||
                            code == Code::kNotFound;
      return has_none ? Status() : tl::unexpected(suspects.error());
    }
    material().suspects.push_back(std::move(*suspects));
    double tasks = 0;
    for (const TaskGroup& group : material().runs.back().groups()) tasks += group.tasks();
    with_pairs_.emplace_back(run_id, tasks);
    return {};
  }

  // Adds the runs that ended since `since`, or began and have not ended, but `apart`.
  Status add_runs_since(const std::string& since, const std::string& apart = "") {
    const RunList runs = RG_TRY(source_.runs(kMostRuns));
    const auto is_of_report = [&](const RunSummary& run) {
      return (run.ended_at().empty() ? run.created_at() : run.ended_at()) >= since;
    };
    for (const RunSummary& run : runs.runs())
      if (is_of_report(run) && run.run_id() != apart) RG_TRY_OK(add_run(run.run_id()));
    note_cut("runs", runs.runs().size(), kMostRuns,
             !runs.runs().empty() && is_of_report(*runs.runs().rbegin()));
    return {};
  }

  // Sets the begin of the morning after a schedule's run: the times of the run before it.
  Status begin_morning(const std::string& run_id, double until) {
    RG_TRY_OK(add_schedules());
    std::string previous;
    for (const ScheduleInfo& schedule : material().schedules) {
      const auto& dues = schedule.dues();
      auto due = std::ranges::find(dues, run_id, &ScheduleDue::run_id);
      if (due == dues.end()) continue;
      do ++due;
      while (due != dues.end() && due->run_id().empty());
      if (due == dues.end()) continue;
      material().from_at = due->due_at();
      previous = due->run_id();
    }
    const RunSummary& run = material().runs.front().run();
    if (material().from_at.empty())
      material().from_at =
          rfc3339(parse_calendar(run.created_at()).value_or(until) - kFirstMorningSeconds);
    material().news_from_at = material().from_at;
    if (previous.empty()) return {};
    // A run that retention deleted has no report that anybody would repeat.
    const auto earlier = source_.groups(previous);
    if (!earlier)
      return earlier.error().code == Code::kNotFound ||
                     earlier.error().code == Code::kInvalidArgument
                 ? Status()
                 : tl::unexpected(earlier.error());
    const RunSummary& before = earlier->run();
    material().news_from_at = std::max(
        material().from_at, before.has_judged_at() ? before.judged_at() : before.ended_at());
    return {};
  }

  // Notes that `list` has as many entries as were asked for, the last of which is of the report.
  void note_cut(const char* list, int size, std::uint32_t most, bool is_last_of_report) {
    if (size < static_cast<int>(most) || !is_last_of_report) return;
    ReportedCut& cut = material().cuts.emplace_back();
    cut.set_list(list);
    cut.set_shown(size);
  }

  // Adds the picture. A report without one is better than none.
  void add_picture() {
    if (!source_.matrix || with_pairs_.empty()) return;
    std::string run_id = std::ranges::max_element(with_pairs_, {}, &PairRun::second)->first;
    std::optional<std::int32_t> rail;
    double worst = 0;
    for (const Finding& finding : material().findings) {
      const bool is_drawn =
          std::ranges::find(with_pairs_, finding.run_id(), &PairRun::first) != with_pairs_.end();
      const auto of_finding = rail_in(finding.suspect());
      if (!is_drawn || !of_finding || finding.kind() != "part" || finding.state() == "fixed" ||
          finding.state() == "rolled_back" || finding.worse_percent() <= worst)
        continue;
      worst = finding.worse_percent();
      run_id = finding.run_id();
      rail = of_finding;
    }
    add_matrix(run_id, rail);
  }

  // The parts that no run owns: nodes, findings, upgrades, schedules, events.
  Status add_common() {
    material().nodes = RG_TRY(source_.nodes());
    RG_TRY_OK(add_findings());
    const UpgradeList upgrades = RG_TRY(source_.upgrades(kMostUpgrades));
    for (const Upgrade& upgrade : upgrades.upgrades())
      if (is_of_report(upgrade)) material().upgrades.push_back(upgrade);
    note_cut("upgrades", upgrades.upgrades().size(), kMostUpgrades,
             !upgrades.upgrades().empty() && is_of_report(*upgrades.upgrades().rbegin()));
    material().proposals =
        waiting_proposals(RG_TRY(source_.proposals(kMostProposals)).events(), upgrades.upgrades());
    if (material().schedules.empty()) RG_TRY_OK(add_schedules());
    const double since = parse_calendar(material().from_at).value_or(0);
    const EventList list = RG_TRY(source_.events(since, kMostEvents));
    material().events.assign(list.events().begin(), list.events().end());
    note_cut("events", list.events().size(), kMostEvents, true);
    return {};
  }

 private:
  [[nodiscard]] bool is_of_report(const Upgrade& upgrade) const {
    return !upgrade.has_verdict() || is_recent(upgrade.judged_at());
  }

  Status add_schedules() {
    const ScheduleList schedules = RG_TRY(source_.schedules(""));
    for (const ScheduleInfo& one : schedules.schedules()) {
      const ScheduleList whole = RG_TRY(source_.schedules(one.name()));
      material().schedules.insert(material().schedules.end(), whole.schedules().begin(),
                                  whole.schedules().end());
    }
    return {};
  }

  void add_matrix(const std::string& run_id, std::optional<std::int32_t> rail) {
    auto matrix = source_.matrix(run_id, rail);
    const std::int64_t size = matrix ? matrix->nodes_size() : 0;
    if (!matrix)
      gathered_.no_matrix = fmt::format("run {}: {}", run_id, matrix.error().message);
    else if (matrix->values_size() != size * size)
      gathered_.no_matrix = fmt::format("run {}: {} figures of {} nodes are no square", run_id,
                                        matrix->values_size(), size);
    else
      gathered_.matrix = std::move(*matrix);
  }

  // The open ones, and those that were fixed in the report's time.
  Status add_findings() {
    const FindingList open = RG_TRY(source_.findings("", kMostFindings));
    note_cut("findings", open.findings().size(), kMostFindings, true);
    if (open.has_measured_twice()) material().measured_twice = open.measured_twice();
    if (open.has_measured_twice_apart())
      material().measured_twice_apart = open.measured_twice_apart();
    int details = 0;
    for (const Finding& finding : open.findings()) {
      const bool has_details = is_recent(finding.changed_at()) && details < kMostDetails;
      details += has_details ? 1 : 0;
      material().findings.push_back(has_details ? RG_TRY(source_.finding(finding.finding_id()))
                                                : finding);
    }
    for (const char* state : {"fixed", "rolled_back"}) {
      const FindingList mended = RG_TRY(source_.findings(state, kMostFindings));
      for (const Finding& finding : mended.findings())
        if (is_recent(finding.changed_at())) material().findings.push_back(finding);
      note_cut("fixed findings", mended.findings().size(), kMostFindings,
               !mended.findings().empty() && is_recent(mended.findings().rbegin()->changed_at()));
    }
    return {};
  }

  using PairRun = std::pair<std::string, double>;

  const Source& source_;
  Gathered gathered_;
  std::vector<PairRun> with_pairs_{};  // runs that measured pairs, with their tasks
};

}  // namespace

Result<Gathered> gather_since(const Source& source, double from, double until) {
  Gatherer gatherer(source, until);
  gatherer.material().from_at = rfc3339(from);
  RG_TRY_OK(gatherer.add_runs_since(gatherer.material().from_at));
  RG_TRY_OK(gatherer.add_common());
  gatherer.add_picture();
  return gatherer.take();
}

Result<Gathered> gather_run(const Source& source, const std::string& run_id, double until) {
  Gatherer gatherer(source, until);
  Material& material = gatherer.material();
  material.scope = "run";
  material.subject = run_id;
  RG_TRY_OK(gatherer.add_run(run_id));
  material.from_at = material.runs.front().run().created_at();
  RG_TRY_OK(gatherer.add_common());
  std::erase_if(material.findings, [&](const Finding& one) { return one.run_id() != run_id; });
  std::erase_if(material.events, [&](const Event& one) { return one.run_id() != run_id; });
  material.upgrades.clear();
  material.proposals.clear();
  material.schedules.clear();
  gatherer.add_picture();
  return gatherer.take();
}

Result<Gathered> gather_morning(const Source& source, const std::string& run_id, double until) {
  Gatherer gatherer(source, until);
  Material& material = gatherer.material();
  material.scope = "run";
  material.subject = run_id;
  RG_TRY_OK(gatherer.add_run(run_id));
  RG_TRY_OK(gatherer.begin_morning(run_id, until));
  RG_TRY_OK(gatherer.add_runs_since(material.news_from_at, run_id));
  RG_TRY_OK(gatherer.add_common());
  gatherer.add_picture();
  return gatherer.take();
}

Result<Gathered> gather_upgrade(const Source& source, const std::string& upgrade_id, double until) {
  Gatherer gatherer(source, until);
  Material& material = gatherer.material();
  const Upgrade upgrade = RG_TRY(source.upgrade(upgrade_id));
  material.scope = "upgrade";
  material.subject = upgrade.upgrade_id();
  material.from_at = upgrade.created_at();
  for (const std::string& run_id : upgrade.before_runs()) RG_TRY_OK(gatherer.add_run(run_id));
  for (const std::string& run_id : upgrade.after_runs()) RG_TRY_OK(gatherer.add_run(run_id));
  RG_TRY_OK(gatherer.add_common());
  std::erase_if(material.findings,
                [&](const Finding& one) { return one.upgrade_id() != upgrade.upgrade_id(); });
  material.upgrades = {upgrade};
  material.proposals.clear();
  material.schedules.clear();
  gatherer.add_picture();
  return gatherer.take();
}

}  // namespace railgauge::report
