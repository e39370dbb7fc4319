#include "controller/history/pair_matrices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/history/matrix_overview.h"
#include "controller/history/pair_table.h"
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

// The name of a row: the endpoint without its GPU for host memory, with a GPU for memory "gpu".
std::string row_name(const std::string& endpoint, const std::string& memory) {
  const std::size_t plus = endpoint.find('+', std::min(endpoint.find('/'), endpoint.size()));
  if (memory != "gpu") return endpoint.substr(0, plus);
  return plus == std::string::npos ? endpoint + std::string(kGpuRow) : endpoint;
}

// The figures of one series, with names as numbers: a night of a large site has millions. An end is
// parsed once.
class SeriesFigures {
 public:
  struct Figure {
    std::uint32_t from = 0;  // numbers of names
    std::uint32_t to = 0;
    double value = 0;
    float spread = 0;
    std::int32_t rail = 0;  // or kAcrossRails
  };
  // The end of a pair, as the row of a matrix.
  struct End {
    std::string name{};
    std::string node{};
    std::string memory{};
    std::int32_t rail = -1;
  };

  void add(const PairPoint& point, const PortMap& ports) {
    const std::uint32_t from = number(point.from, point.memory, ports);
    const std::uint32_t to = number(point.to, point.memory, ports);
    const std::int32_t rail = ends_[from].rail;
    figures_.push_back({.from = from,
                        .to = to,
                        .value = point.value,
                        .spread = static_cast<float>(point.spread),
                        .rail = rail == ends_[to].rail ? std::max(rail, 0) : kAcrossRails});
  }
  [[nodiscard]] std::span<const Figure> figures() const { return figures_; }
  [[nodiscard]] std::span<const End> ends() const { return ends_; }
  [[nodiscard]] const End& end(std::uint32_t number) const { return ends_[number]; }
  // Orders the figures by rail, sender and receiver.
  void sort() {
    std::ranges::stable_sort(figures_, {}, [](const Figure& figure) {
      return std::tuple(figure.rail, figure.from, figure.to);
    });
  }

 private:
  using Numbers = std::unordered_map<std::string, std::uint32_t>;

  // Ends that differ in what the row's name leaves out have one number.
  std::uint32_t number(const std::string& endpoint, const std::string& memory,
                       const PortMap& ports) {
    const auto [known, fresh] = numbers_[memory == "gpu" ? 1 : 0].try_emplace(endpoint);
    if (!fresh) return known->second;
    std::string name = row_name(endpoint, memory);
    const auto [found, is_first] =
        rows_.try_emplace(name, static_cast<std::uint32_t>(ends_.size()));
    if (is_first) {
      auto [node, port] = split_endpoint(endpoint);
      const std::int32_t rail = ports.rail(node, port);
      ends_.push_back(
          {.name = std::move(name), .node = std::move(node), .memory = memory, .rail = rail});
    }
    return known->second = found->second;
  }

  std::vector<Figure> figures_;
  std::vector<End> ends_;
  // By endpoint, for memory of the host and of a GPU, and by the name of a row.
  std::array<Numbers, 2> numbers_{};
  Numbers rows_{};
};

// The figures for localisation; none where the pairs are too many, which costs the outliers only.
localise::PairData data_or_none(const PairSeries& series, const SeriesFigures& figures,
                                const PortMap& ports) {
  const PairChoice choice;
  PairTable table(ports, choice);
  std::vector<std::optional<std::int32_t>> numbers(figures.ends().size());
  const auto number = [&](std::uint32_t end) {
    if (!numbers[end]) numbers[end] = table.number(figures.end(end).node);
    return *numbers[end];
  };
  for (const SeriesFigures::Figure& figure : figures.figures()) {
    if (figure.rail == kAcrossRails) continue;
    table.add(table.layer(figure.rail, figures.end(figure.from).memory), number(figure.from),
              number(figure.to), figure.value, figure.spread);
  }
  auto data = table.data("");
  if (!data && data.error().code == Code::kInvalidArgument)
    spdlog::warn("{} {}: too many pairs to look for outliers", series.kernel, series.metric);
  return data.value_or(localise::PairData{});
}

// The values that localisation expects for the pairs of a series.
class Expectation {
 public:
  Expectation(const PairSeries& series, const SeriesFigures& figures, const PortMap& ports)
      : data_(data_or_none(series, figures, ports)), larger_is_better_(series.larger_is_better) {
    localise::PairData& data = data_;
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
  // A row of a matrix: its layer and its node; absent where localisation took no figure of them. A
  // matrix may hold such ends.
  struct Row {
    std::optional<std::size_t> layer{};
    std::optional<std::int32_t> node{};
  };
  [[nodiscard]] Row row(std::int32_t rail, const std::string& endpoint) const {
    const auto layer = layers_.find({rail, memory_of_row(endpoint)});
    const auto node = nodes_.find(split_endpoint(endpoint).first);
    Row found;
    if (layer != layers_.end()) found.layer = layer->second;
    if (node != nodes_.end()) found.node = node->second;
    return found;
  }
  // Zeros where the pair has no expectation.
  [[nodiscard]] Judged judge(const Row& from, const Row& to, double value) const {
    if (!from.layer || !from.node || !to.node) return {};
    const double expected = cells_->expected(*from.layer, *from.node, *to.node);
    if (!(expected > 0)) return {};
    const double share = value / expected;
    const double worse = larger_is_better_ ? 1 - share : share - 1;
    const double least = std::max(localise::Options{}.least_path_drop,
                                  kOutlierDeviations * cells_->layers()[*from.layer].noise);
    return {expected, worse, worse > least};
  }

 private:
  localise::PairData data_;
  bool larger_is_better_;
  std::optional<localise::Cells> cells_{};
  std::map<std::string, std::int32_t> nodes_{};
  std::map<std::pair<std::int32_t, std::string>, std::size_t> layers_{};
};

// Adds the outliers of the matrix, the worst first.
void find_outliers(const Expectation& expectation, store::PairMatrixRow& matrix) {
  const std::size_t count = matrix.endpoints.size();
  std::vector<std::pair<double, store::PairMatrixRow::Outlier>> found;
  std::vector<Expectation::Row> rows;
  for (const std::string& endpoint : matrix.endpoints)
    rows.push_back(expectation.row(matrix.rail, endpoint));
  for (std::uint32_t from = 0; from < count; ++from)
    for (std::uint32_t to = 0; to < count; ++to) {
      const float value = matrix.values[from * count + to];
      if (!std::isfinite(value)) continue;
      const auto judged = expectation.judge(rows[from], rows[to], value);
      if (judged.is_outlier)
        found.push_back(
            {judged.worse, {.from = from, .to = to, .value = value, .expected = judged.expected}});
    }
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (found.size() > kMaxOutliersOfMatrix) found.resize(kMaxOutliersOfMatrix);
  for (auto& [worse, outlier] : found) matrix.outliers.push_back(outlier);
}

// Fills rows, columns and cells from the figures of one rail, which are in the order of their
// pairs. Rows of a large matrix are in the order of leaves, so that its coarse cells are of
// neighbours; else in that of names. False: there are more endpoints than a matrix may have.
bool fill(const SeriesFigures& all, std::span<const SeriesFigures::Figure> figures,
          const PortMap& ports, store::PairMatrixRow& matrix) {
  std::vector<bool> is_used(all.ends().size(), false);
  for (const SeriesFigures::Figure& figure : figures)
    is_used[figure.from] = is_used[figure.to] = true;
  std::map<std::string, std::size_t> index;
  for (std::size_t end = 0; end < is_used.size(); ++end)
    if (is_used[end]) index.try_emplace(all.ends()[end].name);
  for (const auto& [name, place] : index) matrix.endpoints.push_back(name);
  const std::size_t count = matrix.endpoints.size();
  if (count > store::kMaxMatrixEndpoints) return false;
  if (count >= kLeastWideRows) order_by_leaf(matrix, ports);
  for (std::size_t place = 0; place < count; ++place) index[matrix.endpoints[place]] = place;
  std::vector<std::size_t> places(all.ends().size());
  for (std::size_t end = 0; end < places.size(); ++end)
    if (const auto found = index.find(all.ends()[end].name); found != index.end())
      places[end] = found->second;
  matrix.values.assign(count * count, kNoFigure);
  std::vector<float> of_cell;
  for (std::size_t first = 0, next = 0; first < figures.size(); first = next) {
    const SeriesFigures::Figure& figure = figures[first];
    of_cell.clear();
    for (; next < figures.size() && figures[next].from == figure.from &&
           figures[next].to == figure.to;
         ++next)
      of_cell.push_back(static_cast<float>(figures[next].value));
    matrix.values[places[figure.from] * count + places[figure.to]] =
        of_cell.size() == 1 ? of_cell.front() : upper_median(of_cell);
  }
  return true;
}

// Makes the matrices of one series, one for each rail.
Status make_of_series(const std::string& run_id, const PairSeries& series, SeriesFigures& figures,
                      const PortMap& ports, const TakeMatrix& take) {
  const Expectation expectation(series, figures, ports);
  figures.sort();
  const std::span<const SeriesFigures::Figure> all = figures.figures();
  for (auto first = all.begin(); first != all.end();) {
    const auto next =
        std::find_if(first, all.end(), [&](const auto& each) { return each.rail != first->rail; });
    store::PairMatrixRow matrix{.run_id = run_id,
                                .rail = first->rail,
                                .kernel = series.kernel,
                                .metric = series.metric,
                                .meaning = series.meaning,
                                .message_bytes = series.message_bytes,
                                .unit = series.unit,
                                .larger_is_better = series.larger_is_better};
    const bool filled = fill(figures, {first, next}, ports, matrix);
    first = next;
    if (!filled) {
      spdlog::warn(
          "run {}: a matrix of {} endpoints is more than can be stored ({}); its points "
          "stay",
          run_id, matrix.endpoints.size(), store::kMaxMatrixEndpoints);
      continue;
    }
    find_outliers(expectation, matrix);
    add_overview(matrix, ports);
    RG_TRY_OK(take(std::move(matrix)));
  }
  return {};
}

using FiguresBySeries = std::map<PairSeries, SeriesFigures>;

// Each series is localised once, and its figures go before the next series is.
Status make_of_all(const std::string& run_id, FiguresBySeries& all, const PortMap& ports,
                   const TakeMatrix& take) {
  while (!all.empty()) {
    auto first = all.extract(all.begin());
    RG_TRY_OK(make_of_series(run_id, first.key(), first.mapped(), ports, take));
  }
  return {};
}

}  // namespace

Status make_matrices(const std::string& run_id, const std::vector<PairPoint>& points,
                     const PortMap& ports, const TakeMatrix& take) {
  FiguresBySeries all;
  for (const PairPoint& point : points) all[point.series].add(point, ports);
  return make_of_all(run_id, all, ports, take);
}

// All matrices are collected before the write, so that it is one transaction.
Status store_pair_matrices(store::Store& store, const std::string& run_id, const LeafSource& leaves,
                           const std::atomic<bool>* ends) {
  const auto check_ends = [&]() -> Status {
    if (ends == nullptr || !*ends) return {};
    return fail(Code::kCancelled,
                fmt::format("run {}: make its pair matrices: the controller stops", run_id));
  };
  const store::RunRow run = RG_TRY(store.run_summary(run_id)).run;
  const PortMap ports = RG_TRY(read_ports(store, leaves, run.nodes));
  const store::ExportScope scope = RG_TRY(store.export_scope(run_id));
  FiguresBySeries all;
  auto present = all.end();  // the series of the last figure
  std::size_t figures = 0;
  RG_TRY_OK(visit_pair_points(store, scope, {}, [&](const PairPoint& point) -> Status {
    if (++figures > kMaxMatrixFigures)
      return fail(
          Code::kInvalidArgument,
          fmt::format("run {}: it has more than {} figures of pairs", run_id, kMaxMatrixFigures));
    if (present == all.end() || present->first != point.series)
      present = all.try_emplace(point.series).first;
    present->second.add(point, ports);
    return check_ends();
  }));
  std::vector<store::PairMatrixRow> matrices;
  RG_TRY_OK(make_of_all(run_id, all, ports, [&](store::PairMatrixRow matrix) -> Status {
    matrices.push_back(std::move(matrix));
    return check_ends();
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
  const Status kept = store_pair_matrices(store_, run_id, leaves_, &ending_);
  if (kept)
    ++done_;
  else if (kept.error().code != Code::kNotFound)  // figures of a run that a backup lacks
    spdlog::warn("run {}: its pair matrices are not stored, its points stay: {}", run_id,
                 kept.error().message);
  report(run_id);
}

}  // namespace railgauge
