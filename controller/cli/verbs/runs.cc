// runs, runs show, runs cancel
#include <algorithm>

#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/live/follow.h"
#include "controller/cli/peers/peer_commands.h"
#include "controller/cli/render/results_table.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/run_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kDefaultRuns = 20;
constexpr std::uint32_t kMostTasksOfAnswer = 200'000;  // that the controller lists
constexpr double kGroupSeconds = 120;                  // a run may have millions of tasks
constexpr std::size_t kLinesOfGroups = 42;             // below the head of the page
constexpr std::size_t kLinesOfTasks = 28;              // below it and above notes
constexpr std::size_t kLinesOfPhases = 15;             // below fewer lines of tasks

// The tasks of the run, in the order of the plan; on a terminal `most` lines of them.
std::string task_table(const RunDetail& detail, bool colour, std::size_t most) {
  const Rows rows = rows_of(detail.tasks(), [](const TaskDetail& task) {
    return Row({task.round(), task.task_id(), task.kernel(), task.endpoints(), task.state(),
                state_cell(task.outcome()),
                task.attempts() > 1 ? std::to_string(task.attempts()) : "", task.reason()});
  });
  return render_short_section("ROUND>|TASK|KERNEL|ENDPOINTS|STATE|OUTCOME|ATTEMPTS>|REASON", rows,
                              colour, {.lines = most});
}

// Why no task is listed of a run that has some, and the commands that show the rest; "" where there
// is nothing to say.
std::string unlisted_text(const RunDetail& detail) {
  const RunSummary& run = detail.run();
  if (!detail.tasks().empty() || run.tasks_total() == 0) return "";
  if (run.tasks_total() <= kMostTasksOfAnswer)
    return fmt::format("run {0}: none of its {1} tasks is listed before its round begins",
                       run.run_id(), run.tasks_total());
  return fmt::format(
      "run {0}: its {1} tasks are in no list, which has at most {2}. All of them: railgauge runs "
      "show "
      "{0} in groups, railgauge export {0} with their points; single ones: railgauge sql, table "
      "task",
      run.run_id(), run.tasks_total(), kMostTasksOfAnswer);
}

// Milliseconds; "-" for a phase that the rank did not reach.
std::string phase_text(bool reached, double ns) { return reached ? figure(ns / 1e6) : "-"; }

// One row for each rank, to find the slow one.
std::string phase_table(const RunDetail& detail, bool colour) {
  Rows rows;
  for (const TaskDetail& task : detail.tasks()) {
    for (const RankDetail& rank : task.ranks()) {
      const Phases& p = rank.phases();
      rows.push_back({task.task_id(), rank.rank(), rank.node(), rank.endpoint(),
                      state_cell(rank.outcome()), phase_text(p.has_start_ns(), p.start_ns()),
                      phase_text(p.has_open_ns(), p.open_ns()),
                      phase_text(p.has_wait_ns(), p.wait_ns()),
                      phase_text(p.has_exchange_ns(), p.exchange_ns()),
                      phase_text(p.has_measure_ns(), p.measure_ns()),
                      phase_text(p.has_stop_ns(), p.stop_ns())});
    }
  }
  return render_short_table(
      "TASK|RANK>|NODE|ENDPOINT|OUTCOME|START ms>|OPEN ms>|WAIT ms>|EXCHANGE ms>|MEASURE ms>|"
      "STOP ms>",
      rows, colour, {.lines = kLinesOfPhases});
}

// "gpu[001-512]".
std::string folded_nodes(const RunSummary& run) {
  return fold_names(std::vector<std::string>(run.nodes().begin(), run.nodes().end()));
}

// "2 confirmed, 1 new"; "" for none.
std::string findings_text(const RunSummary& run) {
  std::string text;
  if (run.findings_confirmed() > 0) text = fmt::format("{} confirmed", run.findings_confirmed());
  if (run.findings_new() > 0)
    text += fmt::format("{}{} new", text.empty() ? "" : ", ", run.findings_new());
  return text;
}

void print_head(const Output& output, const RunSummary& run) {
  output.out << render_list({{"run", {run.run_id(), Tone::kHeading}},
                             {"suite", run.suite()},
                             {"state", state_cell(run.state())},
                             {"outcome", state_cell(run.outcome())},
                             {"reason", run.reason()},
                             {"trigger", run.trigger()},
                             {"by", run.requested_by()},
                             {"nodes", folded_nodes(run)},
                             {"created", run.created_at()},
                             {"started", run.started_at()},
                             {"ended", run.ended_at()},
                             {"took", took_text(run)},
                             {"findings", findings_text(run)}},
                            output.colour);
  // By themselves, since they may be longer than a line.
  for (const std::string& text : run.left_out())
    output.out << render_list({{"left out", text}}, output.colour);
}

// Tasks of one stage that ended alike, for reasons of one kind, are a row.
void print_groups(const Output& output, const TaskGroups& answer) {
  print_head(output, answer.run());
  const Rows rows = rows_of(answer.groups(), [](const TaskGroup& group) {
    const std::string& word = group.outcome().empty() ? group.state() : group.outcome();
    return Row({group.stage(), group.kernel(), fmt::format("{:.0f}", group.tasks()),
                state_cell(word), group.endpoints(), group.reason(),
                word == kPassed ? "" : group.first_task_id()});
  });
  if (rows.empty()) return;
  output.out << '\n'
             << render_short_table("STAGE>|KERNEL|TASKS>|OUTCOME|ENDPOINTS|REASON|FIRST", rows,
                                   output.colour,
                                   {.lines = kLinesOfGroups, .remedy = "--tasks lists them all"});
}

// The run, its tasks, values from the site profile, notes and on demand the phases.
void print_run(const Output& output, const RunDetail& detail, bool phases) {
  print_head(output, detail.run());
  if (detail.tasks_size() == 0) return;
  const std::size_t most = phases ? kLinesOfTasks - kLinesOfPhases - 1 : kLinesOfTasks;
  output.out << task_table(detail, output.colour, most)
             << site_defaults_table(detail.tasks(), output.colour)
             << notes_table(detail.tasks(), output.colour);
  if (phases) output.out << '\n' << phase_table(detail, output.colour);
}

}  // namespace

// A run without an outcome shows its state, and the reason column what it waits for. It is there
// only while a run waits.
Result<int> list_runs(Session& session, const Arguments& arguments) {
  ListRunsRequest request;
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultRuns)));
  const auto list = RG_TRY(call(session, rpc::kListRuns, request));
  const auto waits = [](const RunSummary& run) {
    return run.ended_at().empty() ? run.reason() : "";
  };
  const bool any_waits =
      std::ranges::any_of(list.runs(), [&](const RunSummary& run) { return !waits(run).empty(); });
  const Rows rows = rows_of(list.runs(), [&](const RunSummary& run) {
    Row row{run.run_id(),
            run.suite(),
            state_cell(run.outcome().empty() ? run.state() : run.outcome()),
            fmt::format("{}/{}", run.tasks_ended(), run.tasks_total()),
            run.nodes_size(),
            run.started_at().empty() ? run.created_at() : run.started_at(),
            took_text(run),
            run.trigger(),
            run.requested_by()};
    if (any_waits) row.push_back(waits(run));
    return row;
  });
  return print_list(session.output, list, "runs",
                    any_waits ? "RUN|SUITE|OUTCOME|TASKS>|NODES>|STARTED|TOOK>|TRIGGER|BY|REASON"
                              : "RUN|SUITE|OUTCOME|TASKS>|NODES>|STARTED|TOOK>|TRIGGER|BY",
                    rows, "no run yet; railgauge run SUITE starts one");
}

// With --as the tasks are printed as command lines of another tool. The page has the tasks in
// groups; with --tasks or --phases, and in the machine formats, each is there.
Result<int> show_run(Session& session, const Arguments& arguments) {
  const bool has_all = arguments.has("tasks") || arguments.has("phases") || arguments.has("as");
  if (session.output.format == Format::kTable && !has_all) {
    print_groups(session.output,
                 RG_TRY(call(session, rpc::kGetTaskGroups,
                             request_for<TaskGroupsRequest>(arguments.operand(0)), kGroupSeconds)));
    return 0;
  }
  const RunDetail detail =
      RG_TRY(call(session, rpc::kGetRun, request_for<RunRef>(arguments.operand(0))));
  if (const std::string text = unlisted_text(detail); !text.empty())
    print_notice(session.output, text);
  // Another tool's command lines replace the page.
  if (arguments.has("as")) {
    print_peer_commands(session.output, RG_TRY(peer_commands(detail, arguments.value("as"))));
    return 0;
  }
  if (print_document(session.output, detail, "tasks")) return 0;
  print_run(session.output, detail, arguments.has("phases"));
  return 0;
}

// Returns only after the run has ended, because a cancel that was merely accepted frees no node.
Result<int> cancel_run_verb(Session& session, const Arguments& arguments) {
  const RunSummary run = RG_TRY(cancel_run(session, arguments.operand(0)));
  return print_page(session.output, run, line_of(summary_line(run)));
}

}  // namespace railgauge::cli
