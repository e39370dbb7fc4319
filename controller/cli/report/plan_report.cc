#include "controller/cli/report/plan_report.h"

#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "kernels/core/text/fold.h"

namespace railgauge::cli {
using namespace railgauge::api;

// Tenths below 10 s, then whole units, two at most.
std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) return "-";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  // From 10 s on whole seconds are precise enough.
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600)
    return whole % 60 == 0 ? fmt::format("{} min", whole / 60)
                           : fmt::format("{} min {} s", whole / 60, whole % 60);
  return whole % 3600 < 60 ? fmt::format("{} h", whole / 3600)
                           : fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

// The next unit begins at 999.5, so that no number has four digits.
std::string amount_text(double bytes) {
  if (!std::isfinite(bytes) || bytes < 0) return "-";
  constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  const bool whole = bytes >= 99.95 || bytes == std::trunc(bytes);
  return fmt::format("{:.{}f} {}", bytes, whole ? 0 : 1, kUnits[unit]);
}

std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string plan_line(const RunPlan& plan) {
  const std::vector<std::string> names(plan.nodes().begin(), plan.nodes().end());
  // Kernels that choose their own ports have no rate to estimate from.
  const std::string amount = plan.expected_bytes() > 0
                                 ? fmt::format("about {}, ", amount_text(plan.expected_bytes()))
                                 : "";
  return fmt::format("suite {}: {} in {} on {} ({}), {}about {}", plan.suite(),
                     counted(static_cast<std::size_t>(plan.tasks_total()), "task"),
                     counted(plan.rounds(), "round"),
                     counted(static_cast<std::size_t>(plan.nodes_size()), "node"),
                     fold_briefly(names), amount, seconds_text(plan.expected_seconds()));
}

namespace {

// Asks for the suite's problems, which the refused plan does not carry. The original error stays
// where there are none.
Error explain(Session& session, const RunRequest& request, Error error) {
  if (error.code != Code::kInvalidArgument) return error;
  const auto check = call(session, rpc::kCheckSuite, request.suite());
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

// One line for each problem, which editors can jump to.
void print_problems(const SuiteCheck& check, std::ostream& out) {
  for (const auto& problem : check.problems())
    out << printable(fmt::format("{}:{}:{}: {}{}{}", problem.file(), problem.line(),
                                 problem.column(), problem.key(), problem.key().empty() ? "" : ": ",
                                 problem.message()))
        << '\n';
}

// The suite is checked only after a refusal: the usual case costs one call.
Result<RunPlan> plan_run(Session& session, const RunRequest& request) {
  auto planned = call(session, rpc::kPlanRun, request);
  if (!planned) return tl::unexpected(explain(session, request, std::move(planned).error()));
  return planned;
}

}  // namespace railgauge::cli
