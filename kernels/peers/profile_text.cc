// A profile's tests as text, in our layout and the other tool's units.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/report/text_table.h"
#include "kernels/peers/profile.h"

namespace railgauge {
namespace {

// The metrics of nvbandwidth's tests; others of the same task are of its surroundings.
const std::set<std::string, std::less<>> kVariedMetrics{"bandwidth_bytes_per_second", "latency_ns"};

// As many digits as the tool prints, and never fewer than four significant ones.
std::string value_text(double value) {
  if (!std::isfinite(value)) return "-";
  return fmt::format("{:.{}f}", value, std::fabs(value) < 10 ? 4 : 2);
}

// Explains gdrcopy's "MB/s", which counts 2^20 bytes, because the unit means 10^6 elsewhere.
std::string unit_text(const ProfileFigure& figure, std::string_view tool) {
  if (figure.unit() == "MB/s") return fmt::format("MB/s as {} has it (2^20 bytes)", tool);
  if (figure.unit() == "GB/s") return "GB/s (10^9 bytes)";
  return figure.unit();
}

// Keeps the order of the first appearance.
void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// GPUs by number; anything else as it came.
void sort_gpus(std::vector<std::string>& names) {
  if (std::ranges::all_of(names, [](const std::string& name) { return name.starts_with("gpu"); }))
    std::ranges::sort(names, {},
                      [](const std::string& name) { return std::pair(name.size(), name); });
}

// "!" for held clocks, "*" for a wide interval. With the tool's own counts no interval is asked
// for, so there is no "*" then.
std::string marks_of(const ProfileCell& cell) {
  return std::string(cell.throttled() ? "! " : "") + (cell.wide() ? "* " : "");
}

// Prints the matrix, with a dash for a pair that was not measured.
std::string matrix(const ProfileFigure& figure) {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  for (const ProfileCell& cell : figure.cells()) {
    add_once(rows, cell.row());
    add_once(columns, cell.column());
  }
  sort_gpus(rows);
  sort_gpus(columns);
  std::vector<TextTable::Column> titles{{"", TextTable::Align::kRight}};
  for (const std::string& column : columns) titles.push_back({column});
  TextTable table(titles);
  for (const std::string& row : rows) {
    std::vector<std::string> cells{row};
    for (const std::string& column : columns) {
      const auto cell = std::ranges::find_if(figure.cells(), [&](const ProfileCell& candidate) {
        return candidate.row() == row && candidate.column() == column;
      });
      if (cell == figure.cells().end())
        cells.emplace_back("-");
      else
        cells.push_back(marks_of(*cell) + value_text(cell->value()));
    }
    table.add(std::move(cells));
  }
  return table.text();
}

// The largest of all points' standard deviations over their means: each is of the samples of one
// cell. nvbandwidth 0.10 prints one number of a test's runs. Negative where no point has one.
double largest_variation(const ProfileFigure& figure) {
  double largest = -1;
  for (const RunnerReport& report : figure.reports())
    for (const Point& point : report.points())
      if (point.has_stddev() && point.mean() > 0 && kVariedMetrics.contains(point.metric()))
        largest = std::max(largest, point.stddev() / point.mean());
  return largest;
}

// The heading, the matrix, the sums, and an explanation of each mark that appears.
std::string figure_text(const ProfileFigure& figure, const ProfileTest& test,
                        std::string_view tool) {
  if (figure.cells().empty()) return "";
  std::string out = fmt::format("{}, {}{}{}, by {}\n", test.test(), unit_text(figure, tool),
                                figure.cell_meaning().empty() ? "" : ", ", figure.cell_meaning(),
                                figure.kernel());
  out += matrix(figure);
  if (figure.has_sum()) out += fmt::format("SUM {}  ", value_text(figure.sum()));
  if (figure.has_median()) out += fmt::format("median {}\n", value_text(figure.median()));
  if (std::ranges::any_of(figure.cells(), [](const ProfileCell& cell) { return cell.throttled(); }))
    out += "! the GPU's clocks were held down meanwhile\n";
  if (std::ranges::any_of(figure.cells(), [](const ProfileCell& cell) { return cell.wide(); }))
    out += "* the interval is wider than asked: stopped by the time cap\n";
  std::uint32_t most_visits = 1;
  for (const ProfileCell& cell : figure.cells()) most_visits = std::max(most_visits, cell.visits());
  if (most_visits > 1)
    out += fmt::format("measured up to {} times, some time apart: medians of that\n", most_visits);
  if (const double variation = largest_variation(figure); tool == "nvbandwidth" && variation >= 0)
    out += fmt::format("coefficient of variation of a cell's samples: at most {:.4f}\n", variation);
  return out;
}

// Any point of a fake device makes the whole test synthetic.
bool is_synthetic(const ProfileTest& test) {
  return std::ranges::any_of(test.figures(), [](const ProfileFigure& figure) {
    return std::ranges::any_of(figure.reports(), [](const RunnerReport& report) {
      return std::ranges::any_of(report.points(), &Point::synthetic);
    });
  });
}

}  // namespace

std::string profile_test_text(const ProfileTest& test, std::string_view tool) {
  std::string out;
  if (is_synthetic(test))
    out += "SYNTHETIC: a fake device took part; these figures measure no hardware\n";
  for (const ProfileFigure& figure : test.figures()) out += figure_text(figure, test, tool);
  if (test.outcome() != kPassed || !test.reason().empty())
    out += fmt::format("{}: {}{}{}\n", test.test(), test.outcome(),
                       test.reason().empty() ? "" : ": ", test.reason());
  return out + fmt::format("{} took {:.2f} s\n\n", test.test(), test.duration_seconds());
}

// Tasks that did not pass have lines without a value.
std::string profile_csv(const ProfileReport& report) {
  std::string out = "test,kernel,unit,row,column,value,throttled,outcome,wide,visits\n";
  for (const ProfileTest& test : report.tests())
    for (const ProfileFigure& figure : test.figures()) {
      const std::string begin =
          fmt::format("{},{},{},", test.test(), figure.kernel(), figure.unit());
      for (const ProfileCell& cell : figure.cells())
        out +=
            fmt::format("{}{},{},{},{},{},{},{}\n", begin, cell.row(), cell.column(), cell.value(),
                        cell.throttled(), test.outcome(), cell.wide(), cell.visits());
      for (const RunnerReport& task : figure.reports())
        if (task.outcome() != kPassed)
          out += fmt::format("{},{},,,{},,\n", begin, task.started().endpoint(), task.outcome());
    }
  return out;
}

// Outcomes in alphabetical order.
std::string profile_summary(const ProfileReport& report) {
  std::map<std::string, int> counts;
  for (const ProfileTest& test : report.tests()) ++counts[test.outcome()];
  std::string words;
  for (const auto& [outcome, count] : counts)
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, outcome);
  return fmt::format("{}: {}; {:.1f} s\n", report.profile(), words.empty() ? "no test" : words,
                     report.duration_seconds());
}

}  // namespace railgauge
