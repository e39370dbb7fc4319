#include "kernels/runner/profile.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "kernels/core/outcome.h"
#include "kernels/core/units.h"

namespace railgauge {
namespace {

// The mean time of a task of a list that stops by itself; most take half of it. 43 tasks on two
// GPUs are 15 s, where nvbandwidth takes 62 to 71.
constexpr double kTaskSeconds = 0.35;
// What a point gets when nothing was saved; some 10 samples of the list's 512 MiB.
constexpr double kUsualCapSeconds = 0.25;
constexpr double kLeastCapSeconds = 0.2;
constexpr double kMostCapSeconds = 0.75;
// A noisy task has two to four points, and others come behind it.
constexpr double kShareOfSaved = 0.25;

struct Pair {
  std::string from;
  std::string to;
};

Pair split_pair(const std::string& pair) {
  const std::size_t sign = pair.find('>');
  if (sign == std::string::npos) return {pair, ""};
  return {pair.substr(0, sign), pair.substr(sign + 1)};
}

// "pin_ns" as "pin": the unit stands above.
std::string step_of(const std::string& metric) { return metric.substr(0, metric.rfind('_')); }

bool is_gpu(const std::string& name) { return name.starts_with("gpu"); }

// The GPU that a column stands for: the task's own, else the one of the pair; between two GPUs the
// one that the data goes to.
std::string column_of(const std::string& endpoint, const Pair& pair) {
  if (!endpoint.empty()) return endpoint;
  return is_gpu(pair.to) || !is_gpu(pair.from) ? pair.to : pair.from;
}

std::map<std::string, std::string> parameters_of(const ProfileOptions& options, const PeerTest& row,
                                                 const FindKernel& find) {
  auto out = row.parameters;
  if (options.adaptive) out.erase("iterations");
  if (!options.adaptive) out.insert(row.exact.begin(), row.exact.end());
  if (options.samples && row.exact.contains("iterations"))
    out["iterations"] = std::to_string(*options.samples * row.samples_of_ours);
  const auto& count =
      row.kernel.find("write") != std::string_view::npos ? options.writes : options.reads;
  if (count) out["iterations"] = std::to_string(*count);
  if (options.buffer_bytes && out.contains("sizes"))
    out["sizes"] = canonical_bytes(*options.buffer_bytes);
  const KernelRow* kernel = find(row.kernel);
  if (kernel == nullptr) return out;
  const KernelInfo info = kernel->info();
  for (const ParameterInfo& parameter : info.parameters())
    if (options.adaptive && parameter.name() == "time_cap" && row.tool == "nvbandwidth")
      out["time_cap"] = adaptive_time_cap(0, 0);
  for (const ParameterInfo& parameter : info.parameters())
    if (const auto given = options.parameters.find(parameter.name());
        given != options.parameters.end())
      out[given->first] = given->second;
  return out;
}

}  // namespace

std::string adaptive_time_cap(std::size_t tasks_done, double elapsed_seconds) {
  const double saved = kTaskSeconds * static_cast<double>(tasks_done) - elapsed_seconds;
  const double cap =
      std::clamp(kUsualCapSeconds + kShareOfSaved * saved, kLeastCapSeconds, kMostCapSeconds);
  return fmt::format("{:.0f}ms", cap * 1e3);
}

std::vector<const PeerTest*> profile_rows(const ProfileOptions& options) {
  std::vector<const PeerTest*> rows;
  for (const std::string& test : options.tests)
    for (const PeerTest* row : find_peer_tests(options.tool, test)) rows.push_back(row);
  return rows;
}

std::vector<ProfileTask> profile_tasks(const ProfileOptions& options, const FindKernel& find,
                                       int gpus) {
  std::vector<ProfileTask> tasks;
  const auto rows = profile_rows(options);
  for (std::uint32_t index = 0; index < rows.size(); ++index) {
    const PeerTest& row = *rows[index];
    std::vector<std::string> endpoints;
    if (row.scope == PeerScope::kEachGpu && options.endpoint) endpoints = {*options.endpoint};
    if (row.scope == PeerScope::kEachGpu && !options.endpoint)
      for (int gpu = 0; gpu < gpus; ++gpu) endpoints.push_back(fmt::format("gpu{}", gpu));
    if (endpoints.empty()) endpoints.emplace_back();
    for (std::uint32_t place = 0; place < endpoints.size(); ++place)
      tasks.push_back({.row = &row,
                       .at = {index, place},
                       .endpoint = endpoints[place],
                       .parameters = parameters_of(options, row, find)});
  }
  return tasks;
}

ProfileCell cell_of(const PeerTest& row, const Point& point, const std::string& endpoint,
                    bool many_sizes) {
  const Pair pair = split_pair(point.pair());
  ProfileCell cell;
  cell.set_value(point.median() * row.factor);
  cell.set_throttled(point.throttled());
  cell.set_wide(!point.converged() && point.stop_reason() == "time_cap");
  switch (row.cell) {
    case PeerCell::kSingle:
      cell.set_column(endpoint);
      if (many_sizes) cell.set_row(format_bytes(point.message_bytes()));
      break;
    case PeerCell::kColumn:
      cell.set_column(column_of(endpoint, pair));
      break;
    case PeerCell::kRowToColumn:
      cell.set_row(pair.from);
      cell.set_column(pair.to);
      break;
    case PeerCell::kColumnToRow:
      cell.set_row(pair.to);
      cell.set_column(pair.from);
      break;
    case PeerCell::kMetric:
      cell.set_row(format_bytes(point.message_bytes()));
      cell.set_column(step_of(point.metric()));
      break;
  }
  return cell;
}

namespace {

void set_median_and_sum(std::vector<double> values, bool is_matrix, ProfileFigure& figure) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  figure.set_median(values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2);
  if (is_matrix) figure.set_sum(std::reduce(values.begin(), values.end()));
}

bool is_of(const PeerTest& row, const Point& point) {
  return std::ranges::find(row.metrics, point.metric()) != row.metrics.end();
}

const char* meaning_of(PeerCell cell) {
  if (cell == PeerCell::kRowToColumn) return "from the row's GPU to the column's";
  if (cell == PeerCell::kColumnToRow) return "from the column's GPU to the row's";
  return "";
}

}  // namespace

ProfileFigure figure_of(const PeerTest& row, std::span<const RunnerReport> reports) {
  ProfileFigure figure;
  figure.set_kernel(std::string(row.kernel));
  figure.set_unit(std::string(row.unit));
  figure.set_cell_meaning(meaning_of(row.cell));
  std::set<double> sizes;
  std::vector<double> values;
  const auto for_each_point = [&](auto take) {
    for (const RunnerReport& report : reports)
      for (const Point& point : report.points())
        if (report.outcome() == kPassed && is_of(row, point)) take(report, point);
  };
  for_each_point(
      [&](const RunnerReport&, const Point& point) { sizes.insert(point.message_bytes()); });
  for_each_point([&](const RunnerReport& report, const Point& point) {
    *figure.add_cells() = cell_of(row, point, report.started().endpoint(), sizes.size() > 1);
    values.push_back(point.median() * row.factor);
  });
  // Of several sizes, of unlike metrics, or of a part of the GPUs, neither would mean anything.
  const bool whole = std::ranges::all_of(
      reports, [](const RunnerReport& report) { return report.outcome() == kPassed; });
  if (sizes.size() == 1 && row.cell != PeerCell::kMetric && whole)
    set_median_and_sum(std::move(values), row.cell != PeerCell::kSingle, figure);
  figure.mutable_reports()->Assign(reports.begin(), reports.end());
  return figure;
}

std::string_view combined_outcome(std::span<const std::string> outcomes) {
  constexpr std::array kOrder{kCancelledOutcome, kFailed, kCrashed, kTimedOut, kPassed, kWaived};
  for (const std::string_view outcome : kOrder)
    if (std::ranges::find(outcomes, outcome) != outcomes.end()) return outcome;
  return kCrashed;
}

}  // namespace railgauge
