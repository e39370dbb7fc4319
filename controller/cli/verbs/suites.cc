// suites, suites show, suites check, suites plan
#include <fmt/format.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/table.h"
#include "controller/cli/report/plan_report.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

// Lines of the tables of a plan on a terminal.
constexpr std::size_t kLinesOfStages = 12;
constexpr std::size_t kLinesOfRounds = 14;
constexpr std::size_t kLinesOfPlannedTasks = 20;

// Nothing for plans without stages.
void print_stages(const RunPlan& plan, const Output& output) {
  const Rows rows = rows_of(plan.planned_stages(), [](const auto& stage) {
    return Row({stage.stage(), stage.kernel(), stage.rounds(), fmt::format("{:.0f}", stage.tasks()),
                stage.repetitions(),
                stage.has_time_budget_seconds() ? seconds_text(stage.time_budget_seconds()) : "-"});
  });
  output.out << render_short_section("STAGE|KERNEL|ROUNDS>|TASKS>|LAUNCHES>|BUDGET>", rows,
                                     output.colour, {.lines = kLinesOfStages});
}

// How the round pairs nodes: distance, mixed, reversed.
std::string pairs_text(const PlannedRound& round) {
  std::string text = round.has_distance() ? round.distance() : "-";
  if (round.mixed()) text += ", mixed";
  if (round.reversed()) text += ", reversed";
  return text;
}

void print_rounds(const RunPlan& plan, const Output& output) {
  const Rows rows = rows_of(plan.planned_rounds(), [](const PlannedRound& round) {
    return Row({round.round(), round.stage(), pairs_text(round), round.repetition(), round.tasks(),
                seconds_text(round.expected_seconds())});
  });
  output.out << render_short_section("ROUND>|STAGE|PAIRS|LAUNCH>|TASKS>|TIME>", rows, output.colour,
                                     {.lines = kLinesOfRounds});
}

// A plan that is too large has a count and no tasks.
void print_tasks(const RunPlan& plan, const Output& output) {
  const Rows rows = rows_of(plan.tasks(), [](const PlannedTask& task) {
    return Row({task.round(), task.task_id(), task.kernel(), task.endpoints(),
                seconds_text(task.expected_seconds()),
                task.expected_bytes() > 0 ? amount_text(task.expected_bytes()) : "-"});
  });
  output.out << '\n';
  if (plan.tasks_size() == 0 && plan.tasks_total() > 0)
    output.out << wrapped_line(fmt::format(
        "{:.0f} tasks are too many to list: a run makes those of a round when it begins",
        plan.tasks_total()));
  else
    output.out << render_short_table("ROUND>|TASK|KERNEL|ENDPOINTS|TIME>|BYTES>", rows,
                                     output.colour, {.lines = kLinesOfPlannedTasks});
}

}  // namespace

Result<int> list_suites(Session& session, const Arguments&) {
  const auto list = RG_TRY(call(session, rpc::kListSuites, ListSuitesRequest()));
  const Rows rows = rows_of(list.suites(), [](const SuiteInfo& suite) {
    const bool sound = suite.error().empty();
    return Row({suite.name(), suite.stages(),
                Cell(sound ? suite.summary() : suite.error(), sound ? Tone::kPlain : Tone::kBad),
                suite.path()});
  });
  return print_list(session.output, list, "suites", "SUITE|STAGES>|SUMMARY|FILE", rows,
                    "the controller's folder holds no suite");
}

// The text as the controller has it, with its problems where it is broken.
Result<int> show_suite(Session& session, const Arguments& arguments) {
  const auto source = RG_TRY(suite_source(arguments.operand(0)));
  const SuiteCheck check = RG_TRY(call(session, rpc::kCheckSuite, source));
  if (print_document(session.output, check, "problems")) return 0;
  session.output.out << render_list(
      {{"suite", {check.suite().name(), Tone::kHeading}},
       {"summary", check.suite().summary()},
       {"stages", check.suite().stages()},
       {"file", check.suite().path()},
       {"state", {check.ok() ? "ok" : "has problems", check.ok() ? Tone::kGood : Tone::kBad}}},
      session.output.colour);
  print_problems(check, session.output.out);
  return 0;
}

// 2 with problems, 3 where kernels could not be checked, else 0.
Result<int> check_suite(Session& session, const Arguments& arguments) {
  const auto source = RG_TRY(suite_source(arguments.operand(0)));
  const SuiteCheck check = RG_TRY(call(session, rpc::kCheckSuite, source));
  if (!print_document(session.output, check, "problems")) {
    print_problems(check, session.output.out);
    if (check.ok()) session.output.out << printable(arguments.operand(0)) << ": ok\n";
  }
  // A suite with problems is wrong use.
  if (!check.ok()) return kExitUsage;
  if (!check.kernels_checked()) {
    print_fault(session.output,
                "kernels and parameters were not checked, since no attached node has reported its "
                "kernels");
    return kExitInconclusive;
  }
  return kExitPassed;
}

// Asks for the plan only; nothing is started.
Result<int> plan_suite(Session& session, const Arguments& arguments) {
  RunRequest request;
  *request.mutable_suite() = RG_TRY(suite_to_run(arguments));
  request.set_node_set(RG_TRY(node_set_of(arguments)));
  request.set_trigger("cli");
  const auto plan = RG_TRY(plan_run(session, request));
  if (print_document(session.output, plan, "tasks")) return 0;
  session.output.out << wrapped_line(plan_line(plan));
  for (const std::string& note : plan.notes()) session.output.out << wrapped_line(note);
  print_stages(plan, session.output);
  print_rounds(plan, session.output);
  print_tasks(plan, session.output);
  return 0;
}

}  // namespace railgauge::cli
