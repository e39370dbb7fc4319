#include "controller/history/pair_matrices.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/localise/localise_cells.h"
#include "controller/store/queries/pair_matrix.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {
namespace {

// Deviations of the noise by which an outlier exceeds its class.
constexpr double kOutlierDeviations = 5;
// The rail of a matrix with figures between two rails.
constexpr std::int32_t kAcrossRails = -1;
// A cell without a figure.
constexpr float kNoFigure = std::numeric_limits<float>::quiet_NaN();

// The figures of each cell by the names of its row and column.
using Values = std::map<std::pair<std::string, std::string>, std::vector<float>>;

// The name of a row: the endpoint without its GPU for host memory, with a GPU for memory "gpu".
std::string row_name(const std::string& endpoint, const std::string& memory) {
  const std::size_t plus = endpoint.find('+', std::min(endpoint.find('/'), endpoint.size()));
  if (memory != "gpu") return endpoint.substr(0, plus);
  return plus == std::string::npos ? endpoint + std::string(kGpuRow) : endpoint;
}

// The figures for localisation; none where the pairs are too many, which costs the outliers only.
PairFigures figures_or_none(const PairSeries& series, const std::vector<PairPoint>& points,
                            const PortMap& ports) {
  auto figures = figures_of_points("", points, ports);
  if (!figures && figures.error().code == Code::kInvalidArgument)
    spdlog::warn("{} {}: too many pairs to look for outliers", series.kernel, series.metric);
  return figures.value_or(PairFigures{});
}

// The values that localisation expects for the pairs of a series.
class Expectation {
 public:
  Expectation(const PairSeries& series, const std::vector<PairPoint>& points, const PortMap& ports)
      : figures_(figures_or_none(series, points, ports)),
        larger_is_better_(series.larger_is_better) {
    localise::PairData& data = figures_.data;
    data.model = larger_is_better_ ? localise::Model::kMinimum : localise::Model::kAdditive;
    cells_.emplace(data, localise::Options{});
    for (std::size_t i = 0; i < data.nodes.size(); ++i)
      nodes_[data.nodes[i]] = static_cast<std::int32_t>(i);
    for (std::size_t i = 0; i < data.layers.size(); ++i)
      layers_[{data.layers[i].rail, data.layers[i].memory}] = i;
  }

  // A figure compared with its expectation.
  struct Judged {
    double expected = 0;
    // The loss as a fraction of the expected value.
    double worse = 0;
    bool is_outlier = false;
  };
  // Zeros where the pair has no expectation: a matrix may have ends without a figure in
  // localisation.
  [[nodiscard]] Judged judge(std::int32_t rail, const std::string& from, const std::string& to,
                             double value) const {
    const auto layer = layers_.find({rail, memory_of_row(from)});
    const auto sender = nodes_.find(split_endpoint(from).first);
    const auto receiver = nodes_.find(split_endpoint(to).first);
    // A matrix may hold ends of which localisation took no figure.
    if (layer == layers_.end() || sender == nodes_.end() || receiver == nodes_.end()) return {};
    const double expected = cells_->expected(layer->second, sender->second, receiver->second);
    if (!(expected > 0)) return {};
    const double share = value / expected;
    const double worse = larger_is_better_ ? 1 - share : share - 1;
    const double least = std::max(localise::Options{}.least_path_drop,
                                  kOutlierDeviations * cells_->layers()[layer->second].noise);
    return {expected, worse, worse > least};
  }

 private:
  PairFigures figures_;
  bool larger_is_better_;
  std::optional<localise::Cells> cells_{};
  std::map<std::string, std::int32_t> nodes_{};
  std::map<std::pair<std::int32_t, std::string>, std::size_t> layers_{};
};

// Adds the outliers of the matrix, the worst first.
void find_outliers(const Expectation& expectation, store::PairMatrixRow& matrix) {
  const std::size_t count = matrix.endpoints.size();
  std::vector<std::pair<double, store::PairMatrixRow::Outlier>> found;
  for (std::uint32_t from = 0; from < count; ++from)
    for (std::uint32_t to = 0; to < count; ++to) {
      const float value = matrix.values[from * count + to];
      if (!std::isfinite(value)) continue;
      const auto judged =
          expectation.judge(matrix.rail, matrix.endpoints[from], matrix.endpoints[to], value);
      if (judged.is_outlier)
        found.push_back(
            {judged.worse, {.from = from, .to = to, .value = value, .expected = judged.expected}});
    }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > kMaxOutliersOfMatrix) found.resize(kMaxOutliersOfMatrix);
  for (auto& [worse, outlier] : found) matrix.outliers.push_back(outlier);
}

// Fills rows, columns and cells. False: there are more endpoints than a matrix may have.
bool fill(Values& values, store::PairMatrixRow& matrix) {
  std::set<std::string> names;
  for (const auto& [pair, figures] : values) names.insert({pair.first, pair.second});
  matrix.endpoints.assign(names.begin(), names.end());
  if (names.size() > store::kMaxMatrixEndpoints) return false;
  std::map<std::string, std::size_t> index;
  for (const std::string& name : matrix.endpoints) index.emplace(name, index.size());
  matrix.values.assign(names.size() * names.size(), kNoFigure);
  for (auto& [pair, figures] : values)
    matrix.values[index[pair.first] * names.size() + index[pair.second]] =
        upper_median(std::move(figures));
  return true;
}

// Makes the matrices of one series, one for each rail.
Status make_of_series(const std::string& run_id, const PairSeries& series,
                      const std::vector<PairPoint>& points, const PortMap& ports,
                      const TakeMatrix& take) {
  std::map<std::int32_t, Values> rails;
  for (const PairPoint& point : points) {
    const auto [from, from_port] = split_endpoint(point.from);
    const auto [to, to_port] = split_endpoint(point.to);
    const std::int32_t rail = ports.rail(from, from_port);
    const bool one_rail = rail == ports.rail(to, to_port);
    Values& values = rails[one_rail ? std::max(rail, 0) : kAcrossRails];
    values[{row_name(point.from, point.memory), row_name(point.to, point.memory)}].push_back(
        static_cast<float>(point.value));
  }
  const Expectation expectation(series, points, ports);
  for (auto& [rail, values] : rails) {
    store::PairMatrixRow matrix{.run_id = run_id,
                                .rail = rail,
                                .kernel = series.kernel,
                                .metric = series.metric,
                                .meaning = series.meaning,
                                .message_bytes = series.message_bytes,
                                .unit = series.unit,
                                .larger_is_better = series.larger_is_better};
    if (!fill(values, matrix)) {
      spdlog::warn(
          "run {}: a matrix of {} endpoints is more than can be stored ({}); its points "
          "stay",
          run_id, matrix.endpoints.size(), store::kMaxMatrixEndpoints);
      continue;
    }
    find_outliers(expectation, matrix);
    RG_TRY_OK(take(std::move(matrix)));
  }
  return {};
}

}  // namespace

// Groups the points by series first, so that each series is localised once.
Status make_matrices(const std::string& run_id, std::vector<PairPoint> points, const PortMap& ports,
                     const TakeMatrix& take) {
  std::map<PairSeries, std::vector<PairPoint>> groups;
  for (PairPoint& point : points) groups[point.series].push_back(std::move(point));
  for (const auto& [series, group] : groups)
    RG_TRY_OK(make_of_series(run_id, series, group, ports, take));
  return {};
}

// All matrices are collected before the write, so that it is one transaction.
Status store_pair_matrices(store::Store& store, const std::string& run_id,
                           const LeafSource& leaves) {
  const PortMap ports = RG_TRY(read_ports(store, leaves));
  const store::ExportScope scope = RG_TRY(store.export_scope(run_id));
  std::vector<store::PairMatrixRow> matrices;
  RG_TRY_OK(make_matrices(run_id, RG_TRY(read_pair_points(store, scope, {})), ports,
                          [&matrices](store::PairMatrixRow matrix) -> Status {
                            matrices.push_back(std::move(matrix));
                            return {};
                          }));
  if (matrices.empty()) return {};
  return store.put_pair_matrices(run_id, std::move(matrices));
}

// A full queue drops the run; its points stay and serve readers.
void MatrixKeeper::queue(const std::string& run_id) {
  if (queue_.want(run_id)) return;
  spdlog::warn("run {}: too many runs wait for their pair matrices; its points stay", run_id);
  report(run_id);
}

void MatrixKeeper::want(const std::string& run_id) {
  {
    const std::lock_guard hold(quiet_lock_);
    quiet_.erase(run_id);
  }
  queue(run_id);
}

void MatrixKeeper::want_quietly(const std::string& run_id) {
  {
    const std::lock_guard hold(quiet_lock_);
    quiet_.insert(run_id);
  }
  queue(run_id);
}

void MatrixKeeper::report(const std::string& run_id) {
  {
    const std::lock_guard hold(quiet_lock_);
    if (quiet_.erase(run_id) > 0) return;
  }
  report_(run_id);
}

// A run that a restored backup lacks is no error.
void MatrixKeeper::keep(const std::string& run_id) {
  if (ending_) return;
  const Status kept = store_pair_matrices(store_, run_id, leaves_);
  if (kept)
    ++done_;
  else if (kept.error().code != Code::kNotFound)  // figures of a run that a backup lacks
    spdlog::warn("run {}: its pair matrices are not stored, its points stay: {}", run_id,
                 kept.error().message);
  report(run_id);
}

}  // namespace railgauge
