// suites, suites show, suites check, suites plan
#include <fmt/format.h>

#include "controller/cli/commands.h"
#include "controller/cli/inputs.h"
#include "controller/cli/plan_text.h"
#include "controller/cli/suite_problems.h"
#include "controller/cli/table.h"
#include "kernels/core/outcome.h"

namespace railgauge::cli {
namespace {

using railgauge::api::ListSuitesRequest;
using railgauge::api::RunRequest;
using railgauge::api::SuiteCheck;
using railgauge::api::SuiteInfo;

}  // namespace

Result<int> list_suites(Session& session, const Arguments&) {
  const auto list = RG_TRY(call(session, &Control::StubInterface::ListSuites, ListSuitesRequest()));
  if (print_document(session.output, list, "suites")) return 0;
  std::vector<std::vector<Cell>> rows;
  for (const SuiteInfo& suite : list.suites()) {
    const bool sound = suite.error().empty();
    rows.push_back({suite.name(),
                    std::to_string(suite.stages()),
                    {sound ? suite.summary() : suite.error(), sound ? Tone::kPlain : Tone::kBad},
                    suite.path()});
  }
  if (rows.empty()) {
    session.output.err << "railgauge: the controller's folder holds no suite\n";
    return 0;
  }
  session.output.out << render_table({{"SUITE"}, {"STAGES", true}, {"SUMMARY"}, {"FILE"}}, rows,
                                     session.output.colour);
  return 0;
}

Result<int> show_suite(Session& session, const Arguments& arguments) {
  const auto source = RG_TRY(suite_source(arguments.operand(0)));
  const SuiteCheck check = RG_TRY(call(session, &Control::StubInterface::CheckSuite, source));
  if (print_document(session.output, check, "problems")) return 0;
  session.output.out << render_list(
      {{"suite", {check.suite().name(), Tone::kHeading}},
       {"summary", check.suite().summary()},
       {"stages", std::to_string(check.suite().stages())},
       {"file", check.suite().path()},
       {"state", {check.ok() ? "ok" : "has problems", check.ok() ? Tone::kGood : Tone::kBad}}},
      session.output.colour);
  print_problems(check, session.output.out);
  return 0;
}

Result<int> check_suite(Session& session, const Arguments& arguments) {
  const auto source = RG_TRY(suite_source(arguments.operand(0)));
  const SuiteCheck check = RG_TRY(call(session, &Control::StubInterface::CheckSuite, source));
  if (!print_document(session.output, check, "problems")) {
    print_problems(check, session.output.out);
    if (check.ok()) session.output.out << printable(arguments.operand(0)) << ": ok\n";
  }
  if (!check.ok()) return kExitUsage;
  if (!check.kernels_checked()) {
    session.output.err << "railgauge: kernels and parameters were not checked, since no attached "
                          "node has told its kernels\n";
    return kExitInconclusive;
  }
  return kExitPassed;
}

Result<int> plan_suite(Session& session, const Arguments& arguments) {
  RunRequest request;
  *request.mutable_suite() = RG_TRY(suite_source(arguments.operand(0)));
  request.set_node_set(RG_TRY(node_set_of(arguments, 1)));
  request.set_trigger("cli");
  const auto plan = RG_TRY(plan_run(session, request));
  if (print_document(session.output, plan, "tasks")) return 0;
  std::vector<std::vector<Cell>> rows;
  for (const auto& task : plan.tasks()) {
    rows.push_back({std::to_string(task.round()), task.task_id(), task.kernel(),
                    fmt::format("{}", fmt::join(task.endpoints(), " ")),
                    seconds_text(task.expected_seconds()), amount_text(task.expected_bytes())});
  }
  session.output.out << printable(plan_line(plan)) << '\n'
                     << render_table({{"ROUND", true},
                                      {"TASK"},
                                      {"KERNEL"},
                                      {"ENDPOINTS"},
                                      {"TIME", true},
                                      {"BYTES", true}},
                                     rows, session.output.colour);
  return 0;
}

}  // namespace railgauge::cli
