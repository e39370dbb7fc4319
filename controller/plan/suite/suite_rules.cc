// What holds for a suite beside its keys: in the reader and in the planner alike.
#include <fmt/format.h>

#include "controller/plan/suite/suite.h"
#include "kernels/core/text/text.h"

namespace railgauge::plan {

std::optional<std::string> devices_problem(const Placement& placement, const std::string& devices) {
  if (devices.empty() || !placement.chooses_port()) return std::nullopt;
  const std::string where = placement.kind == PlacementKind::kLoopback ? std::string("loopback")
                            : placement.each.empty() ? "endpoint: " + placement.endpoint
                                                     : "each: " + placement.each;
  return fmt::format(
      "parameter devices: is {}, but {} chooses the port; leave devices out, or place by pairs: "
      "all without endpoint",
      in_quotes(devices), where);
}

std::string describe(const SuiteProblem& problem) {
  std::string place = problem.file;
  if (problem.line > 0) place += fmt::format(":{}:{}", problem.line, problem.column);
  return fmt::format("{}: {}{}", place, problem.key.empty() ? "" : problem.key + ": ",
                     problem.message);
}

Error error_of(std::span<const SuiteProblem> problems) {
  RG_CHECK(!problems.empty());
  std::string message = describe(problems.front());
  if (problems.size() > 1) message += fmt::format(" (and {} more)", problems.size() - 1);
  return Error{Code::kInvalidArgument, std::move(message)};
}

}  // namespace railgauge::plan
