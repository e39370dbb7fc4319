#include "controller/report/gather.h"

#include <utility>

#include <fmt/format.h>

#include "kernels/core/text/rfc3339.h"

namespace railgauge::report {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kMostRuns = 200;
constexpr std::uint32_t kMostUpgrades = 50;
constexpr std::uint32_t kMostFindings = 200;
constexpr int kMostDetails = 20;  // findings whose figures and steps are asked for
constexpr std::uint32_t kMostEvents = 5'000;

// Adds parts to one material. Times are compared as texts, which all have one form.
class Gatherer {
 public:
  Gatherer(const Source& source, double until) : source_(source) {
    material().until_at = rfc3339(until);
  }

  Material& material() { return gathered_.material; }
  Gathered take() { return std::move(gathered_); }
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
    if (gathered_.matrix || !source_.matrix) return {};
    add_matrix(run_id);
    return {};
  }

  // Notes that `list` has as many entries as were asked for, the last of which is of the report.
  void note_cut(const char* list, int size, std::uint32_t most, bool is_last_of_report) {
    if (size < static_cast<int>(most) || !is_last_of_report) return;
    ReportedCut& cut = material().cuts.emplace_back();
    cut.set_list(list);
    cut.set_shown(size);
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
    const ScheduleList schedules = RG_TRY(source_.schedules(""));
    for (const ScheduleInfo& one : schedules.schedules()) {
      const ScheduleList whole = RG_TRY(source_.schedules(one.name()));
      material().schedules.insert(material().schedules.end(), whole.schedules().begin(),
                                  whole.schedules().end());
    }
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

  // A report without a picture is better than none.
  void add_matrix(const std::string& run_id) {
    auto matrix = source_.matrix(run_id);
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
    const FindingList fixed = RG_TRY(source_.findings("fixed", kMostFindings));
    for (const Finding& finding : fixed.findings())
      if (is_recent(finding.changed_at())) material().findings.push_back(finding);
    note_cut("fixed findings", fixed.findings().size(), kMostFindings,
             !fixed.findings().empty() && is_recent(fixed.findings().rbegin()->changed_at()));
    return {};
  }

  const Source& source_;
  Gathered gathered_;
};

}  // namespace

Result<Gathered> gather_since(const Source& source, double from, double until) {
  Gatherer gatherer(source, until);
  gatherer.material().from_at = rfc3339(from);
  const RunList runs = RG_TRY(source.runs(kMostRuns));
  const auto is_of_report = [&](const RunSummary& run) {
    return gatherer.is_recent(run.ended_at().empty() ? run.created_at() : run.ended_at());
  };
  for (const RunSummary& run : runs.runs())
    if (is_of_report(run)) RG_TRY_OK(gatherer.add_run(run.run_id()));
  gatherer.note_cut("runs", runs.runs().size(), kMostRuns,
                    !runs.runs().empty() && is_of_report(*runs.runs().rbegin()));
  RG_TRY_OK(gatherer.add_common());
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
  material.schedules.clear();
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
  material.schedules.clear();
  return gatherer.take();
}

}  // namespace railgauge::report
