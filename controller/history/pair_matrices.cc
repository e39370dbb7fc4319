#include "controller/history/pair_matrices.h"

#include <algorithm>
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

// The figures of one series, with names as numbers: a night of a large site has millions.
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
  };

  void add(const PairPoint& point, const PortMap& ports) {
    const auto [from, from_port] = split_endpoint(point.from);
    const auto [to, to_port] = split_endpoint(point.to);
    const std::int32_t rail = ports.rail(from, from_port);
    figures_.push_back(
        {.from = number(row_name(point.from, point.memory), from, point.memory),
         .to = number(row_name(point.to, point.memory), to, point.memory),
         .value = point.value,
         .spread = static_cast<float>(point.spread),
         .rail = rail == ports.rail(to, to_port) ? std::max(rail, 0) : kAcrossRails});
  }
  [[nodiscard]] std::span<const Figure> figures() const { return figures_; }
  [[nodiscard]] const End& end(std::uint32_t number) const { return ends_[number]; }
  // Orders the figures by rail, sender and receiver.
  void sort() {
    std::ranges::stable_sort(figures_, {}, [](const Figure& figure) {
      return std::tuple(figure.rail, figure.from, figure.to);
    });
  }

 private:
  std::uint32_t number(std::string name, const std::string& node, const std::string& memory) {
    const auto [found, fresh] =
        numbers_.try_emplace(name, static_cast<std::uint32_t>(ends_.size()));
    if (fresh) ends_.push_back({std::move(name), node, memory});
    return found->second;
  }

  std::vector<Figure> figures_;
  std::vector<End> ends_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// The figures for localisation; none where the pairs are too many, which costs the outliers only.
localise::PairData data_or_none(const PairSeries& series, const SeriesFigures& figures,
                                const PortMap& ports) {
  const PairChoice choice;
  PairTable table(ports, choice);
  std::map<std::uint32_t, std::int32_t> numbers;
  const auto number = [&](std::uint32_t end) {
    const auto [found, fresh] = numbers.try_emplace(end);
    if (fresh) found->second = table.number(figures.end(end).node);
    return found->second;
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

// Fills rows, columns and cells from the figures of one rail, which are in the order of their
// pairs. False: there are more endpoints than a matrix may have.
bool fill(const SeriesFigures& all, std::span<const SeriesFigures::Figure> figures,
          store::PairMatrixRow& matrix) {
  std::map<std::string, std::size_t> index;
  for (const SeriesFigures::Figure& figure : figures)
    for (const std::uint32_t end : {figure.from, figure.to}) index.try_emplace(all.end(end).name);
  for (auto& [name, place] : index) {
    place = matrix.endpoints.size();
    matrix.endpoints.push_back(name);
  }
  const std::size_t count = matrix.endpoints.size();
  if (count > store::kMaxMatrixEndpoints) return false;
  matrix.values.assign(count * count, kNoFigure);
  for (std::size_t first = 0, next = 0; first < figures.size(); first = next) {
    const auto& [from, to, value, spread, rail] = figures[first];
    std::vector<float> of_cell;
    for (; next < figures.size() && figures[next].from == from && figures[next].to == to; ++next)
      of_cell.push_back(static_cast<float>(figures[next].value));
    matrix.values[index[all.end(from).name] * count + index[all.end(to).name]] =
        upper_median(std::move(of_cell));
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
    const bool filled = fill(figures, {first, next}, matrix);
    first = next;
    if (!filled) {
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
Status store_pair_matrices(store::Store& store, const std::string& run_id,
                           const LeafSource& leaves) {
  const PortMap ports = RG_TRY(read_ports(store, leaves));
  const store::ExportScope scope = RG_TRY(store.export_scope(run_id));
  FiguresBySeries all;
  std::size_t figures = 0;
  RG_TRY_OK(visit_pair_points(store, scope, {}, [&](PairPoint&& point) -> Status {
    if (++figures > kMaxMatrixFigures)
      return fail(
          Code::kInvalidArgument,
          fmt::format("run {}: it has more than {} figures of pairs", run_id, kMaxMatrixFigures));
    all[point.series].add(point, ports);
    return {};
  }));
  std::vector<store::PairMatrixRow> matrices;
  RG_TRY_OK(make_of_all(run_id, all, ports, [&matrices](store::PairMatrixRow matrix) -> Status {
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
