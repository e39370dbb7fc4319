#include "controller/cli/report/suite_problems.h"

#include <fmt/format.h>

#include "controller/cli/report/plan_text.h"

namespace railgauge::cli {
namespace {

using railgauge::api::RunRequest;
using railgauge::api::SuiteCheck;

Error explain(Session& session, const RunRequest& request, Error error) {
  if (error.code != Code::kInvalidArgument) return error;
  const auto check = call(session, &Control::StubInterface::CheckSuite, request.suite());
  if (!check || check->ok() || check->problems().empty()) return error;
  print_problems(*check, session.output.err);
  const auto& first = check->problems(0);
  const std::string& name =
      request.suite().name().empty() ? request.suite().file_name() : request.suite().name();
  return {error.code,
          fmt::format("suite {}: {}, the first in line {} of {}; nothing ran", name,
                      counted(static_cast<std::size_t>(check->problems_size()), "problem"),
                      first.line(), first.file())};
}

}  // namespace

void print_problems(const SuiteCheck& check, std::ostream& out) {
  for (const auto& problem : check.problems()) {
    out << printable(fmt::format("{}:{}:{}: {}{}{}", problem.file(), problem.line(),
                                 problem.column(), problem.key(), problem.key().empty() ? "" : ": ",
                                 problem.message()))
        << '\n';
  }
}

Result<railgauge::api::RunPlan> plan_run(Session& session, const RunRequest& request) {
  auto planned = call(session, &Control::StubInterface::PlanRun, request);
  if (!planned) return tl::unexpected(explain(session, request, std::move(planned).error()));
  return planned;
}

}  // namespace railgauge::cli
