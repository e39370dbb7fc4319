// OSU's tables from our points.
#include "kernels/peers/osu/table.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/lookup.h"
#include "kernels/core/report/text_table.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// Units of OSU's columns.
constexpr double kUsPerNs = 1e-3;
constexpr double kMsPerNs = 1e-6;
// The metric of a point that the table has as facts of another one.
constexpr std::string_view kExposed = "exposed_ns";
constexpr double kBytesPerMb = 1e6;

// With two digits behind the point, as OSU's programs print.
std::string two_digits(std::optional<double> value, double factor) {
  return value ? fmt::format("{:.2f}", *value * factor) : std::string("-");
}

std::optional<double> rate_in(const Point& point) {
  return point.has_rate() ? std::optional(point.rate()) : std::nullopt;
}

std::optional<double> fact_of(const Point& point, std::string_view name) {
  const auto number = parse_number(value_of(point.facts(), std::string(name)));
  return number ? std::optional(*number) : std::nullopt;
}

std::string bytes_of_message(const Point& point) {
  return fmt::format("{:.0f}", point.message_bytes());
}
std::string iterations_of(const Point& point) {
  return fmt::format("{:.0f}", point.sample_count());
}

// A column of each kind of program.
TextTable columns_of(const OsuProgram& program) {
  if (program.kernel == "mpi.init")
    return TextTable({{"# Avg Init(ms)"}, {"Min Init(ms)"}, {"Max Init(ms)"}});
  if (program.call == "nonblocking")
    return TextTable({{"# Size"},
                      {"Overall(us)"},
                      {"Compute(us)"},
                      {"Pure Comm.(us)"},
                      {"Min Pure Comm.(us)"},
                      {"Max Pure Comm.(us)"},
                      {"Overlap(%)"}});
  if (program.kernel == "mpi.rate") return TextTable({{"# Size"}, {"MB/s"}, {"Messages/s"}});
  if (program.kernel.ends_with("bw")) return TextTable({{"# Size"}, {"Bandwidth (MB/s)"}});
  if (program.pair || program.kernel.find("multi") != std::string_view::npos)
    return TextTable({{"# Size"}, {"Avg Latency(us)"}});
  return TextTable(
      {{"# Size"}, {"Avg Latency(us)"}, {"Min Latency(us)"}, {"Max Latency(us)"}, {"Iterations"}});
}

// The cells in the order of columns_of().
std::vector<std::string> row_of(const OsuProgram& program, const Point& point) {
  const std::string size = bytes_of_message(point);
  const auto of_ranks = [&point](double factor) {
    return std::vector{two_digits(fact_of(point, "least_rank_mean_ns"), factor),
                       two_digits(fact_of(point, "most_rank_mean_ns"), factor)};
  };
  if (program.kernel == "mpi.init") {
    const auto ends = of_ranks(kMsPerNs);
    return {two_digits(point.mean(), kMsPerNs), ends[0], ends[1]};
  }
  if (program.call == "nonblocking") {
    const auto ends = of_ranks(kUsPerNs);
    return {size,
            two_digits(fact_of(point, "overall_ns"), kUsPerNs),
            two_digits(fact_of(point, "compute_ns"), kUsPerNs),
            two_digits(point.mean(), kUsPerNs),
            ends[0],
            ends[1],
            two_digits(fact_of(point, "overlap_percent"), 1)};
  }
  if (program.kernel == "mpi.rate") {
    return {size, two_digits(rate_in(point), point.message_bytes() / kBytesPerMb),
            two_digits(rate_in(point), 1)};
  }
  if (program.kernel.ends_with("bw")) return {size, two_digits(rate_in(point), 1 / kBytesPerMb)};
  if (program.pair || program.kernel.find("multi") != std::string_view::npos)
    return {size, two_digits(point.mean(), kUsPerNs)};
  const auto ends = of_ranks(kUsPerNs);
  return {size, two_digits(point.mean(), kUsPerNs), ends[0], ends[1], iterations_of(point)};
}

}  // namespace

// A rank's own point has no place in OSU's table.
std::string osu_table(const OsuProgram& program, const RunnerReport& report,
                      const TableStyle& style) {
  TextTable table = columns_of(program);
  bool any = false;
  for (const Point& point : report.points()) {
    if (!point.pair().empty() || point.metric() == kExposed) continue;
    table.add(row_of(program, point));
    any = true;
  }
  return report_head(report, style) + (any ? "\n" + table.text() : "");
}

}  // namespace railgauge
