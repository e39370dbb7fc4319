// The wall-clock points of our reports in nccl-tests' layout.
#include "kernels/peers/nccl_tests/table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "kernels/core/base/lookup.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/report/text_table.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/peers/profile.h"

namespace railgauge {
namespace {

// Replaces a figure that was not measured.
constexpr std::string_view kAbsent = "-";
// The meaning of points that are measured as nccl-tests does.
constexpr const char* kAggregate = "aggregate_wall";

// Returns the bytes of a call: the requested size, unless it had to be rounded.
double moved_bytes(const Point& point) {
  return parse_number(value_of(point.facts(), "moved_bytes")).value_or(point.message_bytes());
}

// Returns the size that the tool prints: the larger buffer of a call.
double printed_bytes(const Point& point) {
  return parse_number(value_of(point.facts(), "shares_bytes")).value_or(moved_bytes(point));
}

// Returns the busbw point beside an algbw point; nullptr for one rank, which has no busbw.
const Point* busbw_beside(const RunnerReport& report, const Point& algbw) {
  for (const Point& point : report.points())
    if (point.metric() == "busbw_bytes_per_second" && point.meaning() == kAggregate &&
        point.message_bytes() == algbw.message_bytes())
      return &point;
  return nullptr;
}

// Computes the time from the bandwidth, so that both describe the same samples.
NcclTestsFigure figure_of(const RunnerReport& report, const Point& algbw) {
  NcclTestsFigure figure;
  figure.set_time_us(moved_bytes(algbw) / algbw.median() * 1e6);
  figure.set_algbw_gigabytes_per_second(algbw.median() / 1e9);
  if (const Point* busbw = busbw_beside(report, algbw))
    figure.set_busbw_gigabytes_per_second(busbw->median() / 1e9);
  if (algbw.verified()) figure.set_wrong(0);  // a wrong element would have failed the task
  return figure;
}

// Returns the row of that size, type, reduction and root, which the task of the other placement may
// have added already.
NcclTestsRow& row_of(const NcclTestsTask& task, double size_bytes, NcclTestsReport& report) {
  const auto root = static_cast<double>(task.root);
  for (NcclTestsRow& row : *report.mutable_rows())
    if (row.size_bytes() == size_bytes && row.type() == task.type && row.redop() == task.redop &&
        row.root() == root)
      return row;
  NcclTestsRow& row = *report.add_rows();
  row.set_size_bytes(size_bytes);
  row.set_type(task.type);
  row.set_redop(task.redop);
  row.set_root(root);
  return row;
}

// Four significant digits.
std::string shown(double value) {
  if (!std::isfinite(value)) return std::string(kAbsent);
  return fmt::format("{:.{}f}", value, value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3);
}

// Adds four cells; dashes if the placement was not measured.
void add_cells(bool there, const NcclTestsFigure& figure, std::vector<std::string>& cells) {
  const auto cell = [&](bool has, double value) {
    cells.push_back(there && has ? shown(value) : std::string(kAbsent));
  };
  cell(true, figure.time_us());
  cell(true, figure.algbw_gigabytes_per_second());
  cell(figure.has_busbw_gigabytes_per_second(), figure.busbw_gigabytes_per_second());
  cells.push_back(there && figure.has_wrong() ? fmt::format("{:.0f}", figure.wrong())
                                              : std::string(kAbsent));
}

// Returns "20 calls", over which each time is a mean; the kernel may bound the requested number.
std::string calls_of(const RunnerReport& report) {
  std::string count;
  for (const Point& point : report.points())
    if (point.meaning() == kAggregate && point.facts().contains("iterations_in_sample"))
      count = point.facts().at("iterations_in_sample") + " ";
  const std::string group = value_of(report.started().parameters(), "aggregate");
  if (!group.empty() && group != "1") count += fmt::format("groups of {} ", group);
  if (value_of(report.started().parameters(), "mode") != "graph") return count + "calls";
  return fmt::format("{}launches of a graph of {} calls", count,
                     value_of(report.started().parameters(), "graph_calls"));
}

// Returns a line for each reason why tasks did not pass, each reason once: without a GPU all tasks
// have the same.
std::string unsuccessful(const NcclTestsReport& report) {
  std::vector<std::string> lines;
  std::string out;
  for (const RunnerReport& one : report.reports()) {
    if (one.outcome() == kPassed) continue;
    std::string line = fmt::format("{}: {}{}{}\n", report.profile(), one.outcome(),
                                   one.reason().empty() ? "" : ": ", one.reason());
    if (std::ranges::find(lines, line) != lines.end()) continue;
    out += line;
    lines.push_back(std::move(line));
  }
  return out;
}

}  // namespace

// Rows keep the order of the tasks.
NcclTestsReport nccl_tests_report(const NcclTestsProgram& program, const NcclTestsCall& call,
                                  const std::vector<RunnerReport>& reports) {
  NcclTestsReport out;
  out.set_schema_version(kReportSchemaVersion);
  out.set_railgauge_version(RAILGAUGE_VERSION);
  out.set_profile(std::string(program.name));
  out.set_kernel(std::string(program.kernel));
  out.set_ranks(call.ranks);
  out.set_launched(call.launched);
  std::vector<std::string> outcomes;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const RunnerReport& report = reports[i];
    const NcclTestsTask& task = call.tasks[i];
    // The call's outcome is that of all its tasks.
    outcomes.push_back(report.outcome());
    if (report.outcome() != kPassed && out.reason().empty()) out.set_reason(report.reason());
    *out.add_reports() = report;
    if (i == 0 && report.has_started_at()) out.set_started_at(report.started_at());
    out.set_duration_seconds(out.duration_seconds() + report.duration_seconds());
    // A task that did not pass has no row, but its reason is printed below the table.
    if (report.outcome() != kPassed) continue;
    for (const Point& point : report.points()) {
      if (point.metric() != "algbw_bytes_per_second" || point.meaning() != kAggregate) continue;
      NcclTestsRow& row = row_of(task, printed_bytes(point), out);
      *(task.in_place ? row.mutable_in_place() : row.mutable_out_of_place()) =
          figure_of(report, point);
    }
  }
  out.set_outcome(std::string(combined_outcome(outcomes)));
  return out;
}

// The head is the first report's: all tasks ran on the same GPUs.
std::string nccl_tests_table(const NcclTestsReport& report) {
  std::string out;
  const RunnerReport& first = report.reports(0);
  if (std::ranges::any_of(first.points(), &Point::synthetic))
    out += "SYNTHETIC: a fake device took part; these figures measure no hardware\n";
  out += fmt::format("{} by {}, {}{}, a process and a GPU each", report.profile(), report.kernel(),
                     report.ranks() == 1 ? "1 rank" : fmt::format("{} ranks", report.ranks()),
                     report.launched() ? " of a launcher" : " on this host");
  // The facts that nccl-tests prints in its own head, and whose memory a graph has.
  std::vector<const char*> facts{"gpu_model", "cuda_driver", "nccl", "nccl_transports"};
  if (value_of(first.started().parameters(), "mode") == "graph")
    facts.insert(facts.end(), {"buffers", "registered"});
  for (const char* fact : facts)
    if (const std::string value = value_of(first.started().facts(), fact); !value.empty())
      out += fmt::format("\n  {}: {}", fact, value);
  TextTable table({{"size B"},
                   {"type"},
                   {"redop"},
                   {"root"},
                   {"out: us"},
                   {"algbw"},
                   {"busbw"},
                   {"#wrong"},
                   {"in: us"},
                   {"algbw"},
                   {"busbw"},
                   {"#wrong"}});
  for (const NcclTestsRow& row : report.rows()) {
    std::vector<std::string> cells{fmt::format("{:.0f}", row.size_bytes()), row.type(), row.redop(),
                                   fmt::format("{:.0f}", row.root())};
    add_cells(row.has_out_of_place(), row.out_of_place(), cells);
    add_cells(row.has_in_place(), row.in_place(), cells);
    table.add(std::move(cells));
  }
  if (!report.rows().empty())
    out += fmt::format(
        "\nout of place and in place; GB/s (10^9 bytes); {} in a row by the CPU's "
        "clock, mean over the ranks\n{}",
        calls_of(first), table.text());
  else
    out += '\n';
  return out + unsuccessful(report);
}

// A row has no figures where nothing passed.
std::string nccl_tests_csv(const NcclTestsReport& report) {
  std::string out =
      "program,size_bytes,type,redop,root,placement,time_us,algbw_gigabytes_per_second,"
      "busbw_gigabytes_per_second,wrong,outcome\n";
  const auto add = [&](const NcclTestsRow& row, const char* placement,
                       const NcclTestsFigure& figure) {
    out += fmt::format("{},{:.0f},{},{},{:.0f},{},{},{},{},{},{}\n", report.profile(),
                       row.size_bytes(), row.type(), row.redop(), row.root(), placement,
                       figure.time_us(), figure.algbw_gigabytes_per_second(),
                       figure.has_busbw_gigabytes_per_second()
                           ? fmt::to_string(figure.busbw_gigabytes_per_second())
                           : "",
                       figure.has_wrong() ? fmt::format("{:.0f}", figure.wrong()) : "",
                       report.outcome());
  };
  for (const NcclTestsRow& row : report.rows()) {
    if (row.has_out_of_place()) add(row, "out", row.out_of_place());
    if (row.has_in_place()) add(row, "in", row.in_place());
  }
  if (report.rows().empty())
    out += fmt::format("{},,,,,,,,,,{}\n", report.profile(), report.outcome());
  return out;
}

}  // namespace railgauge
