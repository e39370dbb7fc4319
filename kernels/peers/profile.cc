// From a tool's tests to tasks, and from the tasks' reports to the tool's matrices.
#include "kernels/peers/profile.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

// The mean seconds of a task of an adaptive list on one GPU, and the share for each further GPU,
// since a task measures all pairs. 18 tasks on one GPU take 4.7 s (nvbandwidth: 20 s), 43 on two
// take 13.4 s (62 to 72 s); contexts take 0.3 s to 1.3 s more.
constexpr double kTaskSeconds = 0.26;
constexpr double kFurtherGpuShare = 0.2;
// The time cap of a point on one visit: some 5 copies of 512 MiB.
constexpr const char* kVisitCap = "60ms";
// A task that is noisy after so many visits stays noisy.
constexpr std::uint32_t kMostVisits = 9;

// The two ends of a point's pair, "gpu0>gpu1".
struct Pair {
  std::string from;
  std::string to;
};

// `to` is empty where the point names one place only.
Pair split_pair(const std::string& pair) {
  const std::size_t sign = pair.find('>');
  if (sign == std::string::npos) return {pair, ""};
  return {pair.substr(0, sign), pair.substr(sign + 1)};
}

// "pin_ns" as "pin": the heading has the unit.
std::string step_of(const std::string& metric) { return metric.substr(0, metric.rfind('_')); }

// "host" is the other kind of end.
bool is_gpu(const std::string& name) { return name.starts_with("gpu"); }

// The GPU of a column: the task's own, else the one of the pair; between two GPUs the one that
// receives the data.
std::string column_of(const std::string& endpoint, const Pair& pair) {
  if (!endpoint.empty()) return endpoint;
  return is_gpu(pair.to) || !is_gpu(pair.from) ? pair.to : pair.from;
}

// Kernels that measure one pair of GPUs after the other, of which --pair takes one.
const std::set<std::string_view> kOfPairs{"cuda.peer_copy_bw", "cuda.peer_latency"};

// By rising priority: the tool's defaults, the tool's counts, the flags, --set. Leaves out
// parameters that the kernel does not declare.
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
  if (!options.pair.empty() && kOfPairs.contains(row.kernel)) out["gpus"] = options.pair;
  // A build without the kernel still lists the task, which then waives.
  const KernelRow* kernel = find(row.kernel);
  if (kernel == nullptr) return out;
  const KernelInfo info = kernel->info();
  for (const ParameterInfo& parameter : info.parameters()) {
    if (options.adaptive && parameter.name() == "time_cap" && row.tool == "nvbandwidth")
      out["time_cap"] = kVisitCap;
    // The tool measures a few copies, and so do we beside it.
    if (parameter.name() == "least_time") out["least_time"] = "0s";
    if (const auto given = options.parameters.find(parameter.name());
        given != options.parameters.end())
      out[given->first] = given->second;
  }
  return out;
}

}  // namespace

// Only nvbandwidth's lists are long enough.
bool visits_again(const ProfileOptions& options) {
  return options.adaptive && options.tool == "nvbandwidth" &&
         !options.parameters.contains("time_cap");
}

// A budget for the whole list, in seconds.
double list_seconds(std::size_t tasks, int gpus) {
  return kTaskSeconds * static_cast<double>(tasks) *
         (1 + kFurtherGpuShare * static_cast<double>(std::max(gpus, 1) - 1));
}

// Ties go to the first, so that the order of a list is kept.
std::optional<std::size_t> next_visit(std::span<const Visited> noisy, double left_seconds) {
  std::optional<std::size_t> next;
  for (std::size_t i = 0; i < noisy.size(); ++i) {
    if (noisy[i].visits >= kMostVisits || noisy[i].longest_seconds > left_seconds) continue;
    if (!next || noisy[i].visits < noisy[*next].visits) next = i;
  }
  return next;
}

// A visit is too short for a claim about the median: the spread of its few copies decides.
bool is_wide(const Point& point) {
  constexpr double kSpread = 0.02;  // the default precision to either side
  return !point.converged() && point.stop_reason() == "time_cap" &&
         point.max() - point.min() > kSpread * point.median();
}

// A test that is named twice is measured twice.
std::vector<const PeerTest*> profile_rows(const ProfileOptions& options) {
  std::vector<const PeerTest*> rows;
  for (const std::string& test : options.tests)
    for (const PeerTest* row : find_peer_tests(options.tool, test)) rows.push_back(row);
  return rows;
}

// GPU by GPU within a row, so that a row's reports follow each other.
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
    // The task without an endpoint reports what is missing.
    if (endpoints.empty()) endpoints.emplace_back();
    for (std::uint32_t place = 0; place < endpoints.size(); ++place)
      tasks.push_back({.row = &row,
                       .at = {.visit = 0, .row = index, .gpu = place},
                       .endpoint = endpoints[place],
                       .parameters = parameters_of(options, row, find)});
  }
  return tasks;
}

// Row and column by the kind of matrix; the value in the tool's unit.
ProfileCell cell_of(const PeerTest& row, const Point& point, const std::string& endpoint,
                    bool many_sizes) {
  const Pair pair = split_pair(point.pair());
  ProfileCell cell;
  // The fact mean_is marks points whose samples are single copies.
  const bool over_time = is_wide(point) && point.facts().contains("mean_is");
  cell.set_value((over_time ? point.mean() : point.median()) * row.factor);
  cell.set_throttled(point.throttled());
  cell.set_wide(is_wide(point));
  cell.set_visits(1);
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

// The tool prints a sum for matrices only.
void set_median_and_sum(bool is_matrix, ProfileFigure& figure) {
  std::vector<double> values;
  for (const ProfileCell& cell : figure.cells()) values.push_back(cell.value());
  figure.set_median(median(values));
  if (is_matrix) figure.set_sum(std::reduce(values.begin(), values.end()));
}

// The cells of all visits, in the order of the first one.
class Cells {
 public:
  // Merges a later visit of a cell into the first: the value becomes the median of all visits,
  // `wide` stays only if every visit is wide, `throttled` if any visit is.
  void add(ProfileCell cell) {
    const auto same = std::ranges::find_if(cells_, [&cell](const ProfileCell& known) {
      return known.row() == cell.row() && known.column() == cell.column();
    });
    const auto at = static_cast<std::size_t>(same - cells_.begin());
    if (same == cells_.end()) {
      values_.push_back({cell.value()});
      cells_.push_back(std::move(cell));
      return;
    }
    values_[at].push_back(cell.value());
    same->set_value(median(values_[at]));
    same->set_visits(same->visits() + 1);
    same->set_throttled(same->throttled() || cell.throttled());
    same->set_wide(same->wide() && cell.wide());
  }
  void move_to(ProfileFigure& figure) {
    for (ProfileCell& cell : cells_) *figure.add_cells() = std::move(cell);
  }

 private:
  std::vector<ProfileCell> cells_;
  std::vector<std::vector<double>> values_;  // of each, by visit
};

// Whether the point is one of the row's figures.
bool is_of(const PeerTest& row, const Point& point) {
  return std::ranges::find(row.metrics, point.metric()) != row.metrics.end();
}

// Printed above matrices whose axes are both GPUs.
const char* meaning_of(PeerCell cell) {
  if (cell == PeerCell::kRowToColumn) return "from the row's GPU to the column's";
  if (cell == PeerCell::kColumnToRow) return "from the column's GPU to the row's";
  return "";
}

}  // namespace

// The sizes are collected first: with several of them the rows of the matrix are sizes.
ProfileFigure figure_of(const PeerTest& row, std::span<const RunnerReport> reports) {
  ProfileFigure figure;
  figure.set_kernel(std::string(row.kernel));
  figure.set_unit(std::string(row.unit));
  figure.set_cell_meaning(meaning_of(row.cell));
  std::set<double> sizes;
  Cells cells;
  const auto for_each_point = [&](auto take) {
    for (const RunnerReport& report : reports)
      for (const Point& point : report.points())
        if (report.outcome() == kPassed && is_of(row, point)) take(report, point);
  };
  for_each_point(
      [&](const RunnerReport&, const Point& point) { sizes.insert(point.message_bytes()); });
  for_each_point([&](const RunnerReport& report, const Point& point) {
    cells.add(cell_of(row, point, report.started().endpoint(), sizes.size() > 1));
  });
  cells.move_to(figure);
  // Sum and median over several sizes or different metrics have no meaning, and a sum over some of
  // the GPUs would look like the sum over all.
  const bool whole = std::ranges::all_of(
      reports, [](const RunnerReport& report) { return report.outcome() == kPassed; });
  if (sizes.size() == 1 && row.cell != PeerCell::kMetric && whole)
    set_median_and_sum(row.cell != PeerCell::kSingle, figure);
  figure.mutable_reports()->Assign(reports.begin(), reports.end());
  return figure;
}

// Returns the first outcome in kOrder that a task has.
std::string_view combined_outcome(std::span<const std::string> outcomes) {
  constexpr std::array kOrder{kCancelledOutcome, kFailed, kCrashed, kTimedOut, kPassed, kWaived};
  for (const std::string_view outcome : kOrder)
    if (std::ranges::find(outcomes, outcome) != outcomes.end()) return outcome;
  return kCrashed;
}

}  // namespace railgauge
