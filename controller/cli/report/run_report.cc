#include "controller/cli/report/run_report.h"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "controller/cli/input/series_file.h"
#include "controller/cli/render/points_summary.h"
#include "controller/cli/render/results_table.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/nccl_settings.h"
#include "controller/cli/report/placement_costs.h"
#include "controller/cli/report/plan_report.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/units.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kMostPoints = 100'000;
// The judgement of a run that has ended takes seconds, of a night minutes.
constexpr double kJudgementSeconds = 300;
constexpr double kFirstPauseSeconds = 0.05;
constexpr double kLongestPauseSeconds = 2;
constexpr std::uint32_t kMostFindings = 1'000;
constexpr int kPointsOfResults = 1'000;  // that railgauge results prints without --limit
// Lines of the sections of a report, which together fit a screen.
constexpr ShortTable kFindingLines{.lines = 8, .remedy = "railgauge findings lists them"};
constexpr ShortTable kTaskLines{.lines = 10, .remedy = "railgauge runs show RUN has them"};
constexpr ShortTable kNoteLines{.lines = 7, .remedy = "railgauge runs show RUN --tasks has them"};

// Waits until the run's figures are compared with the past, or somebody interrupts.
Result<FindingList> findings_of_run(Session& session, const std::string& run_id) {
  ListFindingsRequest request;
  request.set_run_id(run_id);
  request.set_limit(kMostFindings);
  const int presses = session.interrupts.presses();
  double pause = kFirstPauseSeconds;
  for (double waited = 0;; waited += pause) {
    auto list = call_through(session, rpc::kListFindings, request);
    if (!list && list.error().code == Code::kUnimplemented) {
      print_notice(session.output,
                   fmt::format("run {}: this controller does not tell a run's findings; upgrade it "
                               "to have them here",
                               run_id));
      return FindingList();
    }
    if (!list || list->has_judged_at()) return list;
    pause = std::min(2 * pause, kLongestPauseSeconds);
    if (waited < kJudgementSeconds && !session.interrupts.wait_beyond(presses, pause)) continue;
    print_notice(session.output, fmt::format("run {}: not judged yet; its findings: railgauge "
                                             "findings",
                                             run_id));
    return list;
  }
}

// The findings that the run showed, apart from its outcome. Those whose sentences differ in names
// and numbers alone are a row.
std::string findings_of_report(const RunReport& report, bool colour) {
  std::map<std::string, std::vector<const Finding*>> by_state;
  for (const Finding& finding : report.findings()) by_state[finding.state()].push_back(&finding);
  Rows rows;
  for (const auto& [state, findings] : by_state) {
    std::vector<std::string> texts;
    for (const Finding* finding : findings) texts.push_back(finding->summary());
    for (const TextGroup& group : group_texts(texts)) {
      const std::size_t count = group.members.size();
      rows.push_back({state_cell(state), count > 1 ? std::to_string(count) : "",
                      findings[group.members.front()]->finding_id(), group.text});
    }
  }
  return render_short_section("STATE|COUNT>|FINDING|WHAT", rows, colour, kFindingLines);
}

// Waived tasks too, since each row gives the reason. Tasks whose reasons differ in names and
// numbers alone are a row.
std::string unsuccessful_tasks(const RunReport& report, bool colour) {
  std::map<std::pair<std::string, std::string>, std::vector<const TaskDetail*>> alike;
  for (const TaskDetail& task : report.tasks())
    if (task.outcome() != kPassed)
      alike[{task.outcome().empty() ? task.state() : task.outcome(), task.kernel()}].push_back(
          &task);
  Rows rows;
  for (const auto& [key, tasks] : alike) {
    std::vector<std::string> reasons;
    std::vector<std::string> nodes;
    for (const TaskDetail* task : tasks) {
      reasons.push_back(task->reason());
      for (const std::string& endpoint : task->endpoints())
        nodes.push_back(endpoint.substr(0, endpoint.find('/')));
    }
    for (const TextGroup& group : group_texts(reasons, nodes)) {
      std::vector<std::string> endpoints;
      for (const std::size_t member : group.members)
        endpoints.insert(endpoints.end(), tasks[member]->endpoints().begin(),
                         tasks[member]->endpoints().end());
      rows.push_back({state_cell(key.first), key.second, group.members.size(),
                      fold_names(endpoints), group.text, tasks[group.members.front()]->task_id()});
    }
  }
  return render_short_section("OUTCOME|KERNEL|TASKS>|ENDPOINTS|REASON|FIRST", rows, colour,
                              kTaskLines);
}

// A row a point where they are few or all are wanted, else what they gave together.
std::string points_text(const RunReport& report, const Output& output) {
  const auto& points = report.points();
  if (output.is_full || points.size() <= kFewPoints)
    return results_tables(points, output.units, output.colour);
  const std::string limit =
      points.size() > kPointsOfResults ? fmt::format(" --limit {}", points.size()) : "";
  // Remarks hold for the points as they do in their tables.
  const std::string remarks = remarks_on(points);
  return points_summary(points, output.units, output.colour) +
         (remarks.empty() ? "" : "\n" + remarks) + "\n" +
         wrapped_line(fmt::format("{} points; railgauge results {}{} has them all",
                                  format_count(points.size()), report.run().run_id(), limit));
}

}  // namespace

// Both times come from the controller's clock.
std::string took_text(const RunSummary& run) {
  const auto start = parse_series_time(run.started_at());
  const auto end = parse_series_time(run.ended_at());
  // A clock that stepped back leaves no duration to show.
  return start && end && *end >= *start ? seconds_text(*end - *start) : "";
}

// Outcomes are sorted by name, so that equal runs print equal lines.
std::string summary_line(const RunSummary& run) {
  const std::map<std::string, std::uint32_t> outcomes(run.outcomes().begin(), run.outcomes().end());
  std::string counts;
  for (const auto& [word, count] : outcomes)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, word);
  const std::string took = took_text(run);
  return fmt::format(
      "run {} {}: {} of {} ended{}{}{}", run.run_id(),
      run.outcome().empty() ? run.state() : run.outcome(), run.tasks_ended(),
      counted(run.tasks_total(), "task"), counts.empty() ? "" : fmt::format(" ({})", counts),
      took.empty() ? "" : ", " + took, run.reason().empty() ? "" : "; " + run.reason());
}

// Notes that differ in names and numbers alone are a row.
std::string notes_table(const google::protobuf::RepeatedPtrField<TaskDetail>& tasks, bool colour) {
  std::vector<std::string> notes;
  std::vector<std::string> nodes;       // by note
  std::vector<const TaskDetail*> told;  // likewise
  for (const TaskDetail& task : tasks)
    for (const auto& rank : task.ranks())
      for (const std::string& note : rank.notes()) {
        notes.push_back(note);
        nodes.push_back(rank.node());
        told.push_back(&task);
      }
  Rows rows;
  for (const TextGroup& group : group_texts(notes, nodes)) {
    std::vector<std::string> names;
    for (const std::size_t member : group.members) names.push_back(nodes[member]);
    rows.push_back({group.members.size(), fold_names(names), group.text,
                    told[group.members.front()]->task_id()});
  }
  return render_short_section("NOTES>|NODES|NOTE|FIRST TASK", rows, colour, kNoteLines);
}

// The first rank that reports the fact speaks for its task; tasks with the same values are a row.
std::string site_defaults_table(const google::protobuf::RepeatedPtrField<TaskDetail>& tasks,
                                bool colour) {
  std::map<std::string, std::vector<std::string>> alike;
  for (const TaskDetail& task : tasks)
    for (const auto& rank : task.ranks())
      if (const auto given = rank.facts().find("site_defaults"); given != rank.facts().end()) {
        alike[given->second].push_back(task.task_id());
        break;  // the same for all ranks
      }
  const Rows rows = rows_of(alike, [](const auto& entry) {
    return Row({fold_briefly(entry.second), entry.first});
  });
  return render_short_section("TASKS|FROM THE SITE PROFILE", rows, colour, kNoteLines);
}

// At most kMostPoints: a report is read by people. The cut is said.
Result<ResultList> points_of_report(Session& session, const std::string& run_id) {
  auto wanted = request_for<ResultsRequest>(run_id);
  wanted.set_limit(kMostPoints);
  auto points = call_through(session, rpc::kQueryResults, wanted);
  if (points && points->points_size() >= static_cast<int>(kMostPoints))
    print_fault(session.output,
                fmt::format("run {}: only the newest {} points are in this report; railgauge "
                            "export {} --format csv has all",
                            run_id, format_count(kMostPoints), run_id));
  return points;
}

// Three comparisons, each empty where the run measured nothing for it.
void compare_points(RunReport& report) {
  for (NearFarRatio& ratio : near_far_ratios(report.points()))
    report.add_near_far_ratios()->Swap(&ratio);
  for (DistanceCost& cost : distance_costs(report.points()))
    report.add_distance_costs()->Swap(&cost);
  for (NcclSettingRank& rank : nccl_setting_ranks(report.points(), report.tasks()))
    report.add_nccl_setting_ranks()->Swap(&rank);
}

// csv has room for the points alone; the summary goes to stderr.
void print_report(const Output& output, const RunReport& report) {
  if (output.format == Format::kNdjson) return;
  if (print_document(output, report, "points")) {
    if (output.format == Format::kCsv) print_notice(output, summary_line(report.run()));
    return;
  }
  std::string last = wrapped_line(summary_line(report.run()));
  last.pop_back();  // the newline stays without colour
  const bool is_alone = report.points().empty() && report.findings().empty();
  const std::string end =
      (is_alone ? "" : "\n") + toned(last, tone_of(report.run().outcome()), output.colour) + "\n";
  output.out << page_with_end(
      points_text(report, output) + near_far_table(report.near_far_ratios(), output.colour) +
          distance_table(report.distance_costs(), output.colour) +
          nccl_settings_table(report.nccl_setting_ranks(), output.colour) +
          unsuccessful_tasks(report, output.colour) + notes_table(report.tasks(), output.colour) +
          findings_of_report(report, output.colour),
      end);
}

// The calls ignore Ctrl-C: the run has ended, and its result is what the user waited for. Findings
// come first, since the run's counts of them are final then.
Result<int> report_run(Session& session, const std::string& run_id) {
  auto findings = RG_TRY(findings_of_run(session, run_id));
  const auto ref = request_for<RunRef>(run_id);
  auto detail = RG_TRY(call_through(session, rpc::kGetRun, ref));
  auto results = RG_TRY(points_of_report(session, run_id));
  RunReport report;
  report.set_schema_version(1);
  report.mutable_run()->Swap(detail.mutable_run());
  report.mutable_tasks()->Swap(detail.mutable_tasks());
  report.mutable_points()->Swap(results.mutable_points());
  report.mutable_findings()->Swap(findings.mutable_findings());
  compare_points(report);
  print_report(session.output, report);
  const int outcome = exit_code_of(report.run().outcome());
  if (report.run().findings_confirmed() == 0) return outcome;
  return combine_exit_codes(std::array{outcome, +kExitFailed});
}

}  // namespace railgauge::cli
