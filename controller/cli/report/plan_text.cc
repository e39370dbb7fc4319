#include "controller/cli/report/plan_text.h"

#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace railgauge::cli {
namespace {

constexpr int kNamesShown = 8;

}  // namespace

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) return "-";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) {
    return whole % 60 == 0 ? fmt::format("{} min", whole / 60)
                           : fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  return whole % 3600 < 60 ? fmt::format("{} h", whole / 3600)
                           : fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

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

std::string plan_line(const railgauge::api::RunPlan& plan) {
  std::string names;
  for (int i = 0; i < plan.nodes_size() && i < kNamesShown; ++i)
    names += (i > 0 ? " " : "") + plan.nodes(i);
  if (plan.nodes_size() > kNamesShown) names += " ...";
  return fmt::format("suite {}: {} in {} on {} ({}), about {}, about {}", plan.suite(),
                     counted(static_cast<std::size_t>(plan.tasks_total()), "task"),
                     counted(plan.rounds(), "round"),
                     counted(static_cast<std::size_t>(plan.nodes_size()), "node"), names,
                     amount_text(plan.expected_bytes()), seconds_text(plan.expected_seconds()));
}

}  // namespace railgauge::cli
