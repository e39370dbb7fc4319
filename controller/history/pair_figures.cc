#include "controller/history/pair_figures.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "controller/history/pair_table.h"
#include "controller/localise/localise_cells.h"
#include "controller/plan/topology/node_set.h"

namespace railgauge {
namespace {

bool matches(const PairSeries& series, const api::PairsRequest& request) {
  return (request.kernel().empty() || series.kernel == request.kernel()) &&
         (request.metric().empty() || series.metric == request.metric()) &&
         (!request.has_message_bytes() || series.message_bytes == request.message_bytes());
}

// None where "all" runs were asked for.
std::vector<std::string> nodes_of(store::Store& store, const std::string& run_id) {
  const auto summary = store.run_summary(run_id);
  return summary ? summary->run.nodes : std::vector<std::string>{};
}

// What a request that leaves the choice open gets first: bandwidth before latency, then what has
// most figures.
std::vector<PairSeries> by_choice(const std::map<PairSeries, double>& counts) {
  std::vector<PairSeries> order;
  for (const auto& [series, count] : counts) order.push_back(series);
  std::ranges::sort(order, [&counts](const PairSeries& a, const PairSeries& b) {
    return std::tuple(a.larger_is_better, counts.at(a), a.message_bytes, b.kernel) >
           std::tuple(b.larger_is_better, counts.at(b), b.message_bytes, a.kernel);
  });
  return order;
}

PairSeries series_of(const store::PairMatrixRow& matrix) {
  return {.kernel = matrix.kernel,
          .metric = matrix.metric,
          .meaning = matrix.meaning,
          .unit = matrix.unit,
          .message_bytes = matrix.message_bytes,
          .larger_is_better = matrix.larger_is_better};
}

store::PairMatrixKey key_of(const store::PairMatrixRow& matrix) {
  return {.run_id = matrix.run_id,
          .rail = matrix.rail,
          .metric = matrix.metric,
          .message_bytes = matrix.message_bytes,
          .kernel = matrix.kernel,
          .meaning = matrix.meaning};
}

Result<double> figures_in(const store::Store& store, const store::PairMatrixRow& head) {
  double count = 0;
  RG_TRY_OK(store.visit_pair_matrix(key_of(head), [&count](const store::PairMatrixRow&, std::size_t,
                                                           std::size_t, float) { ++count; }));
  return count;
}

// A row's node and kind of memory are read off its endpoint once, not with each figure.
Status add_to(PairTable& table, const store::Store& store, const store::PairMatrixRow& head) {
  struct Row {
    std::int32_t node = PairTable::kNotChosen;
    std::size_t layer = 0;
  };
  std::vector<Row> rows;
  return store.visit_pair_matrix(key_of(head), [&](const store::PairMatrixRow& matrix,
                                                   std::size_t from, std::size_t to, float value) {
    if (rows.empty())
      for (const std::string& endpoint : matrix.endpoints)
        rows.push_back({.node = table.number(split_endpoint(endpoint).first),
                        .layer = table.layer(matrix.rail, memory_of_row(endpoint))});
    table.add(rows[from].layer, rows[from].node, rows[to].node, value);
  });
}

// A matrix does not say so itself: any point of the series does for all.
Result<bool> is_synthetic(store::Store& store, const std::string& run_id,
                          const PairSeries& series) {
  const auto rows = RG_TRY(store.results({.run_id = run_id,
                                          .kernel = series.kernel,
                                          .metric = series.metric,
                                          .message_bytes = series.message_bytes,
                                          .limit = 1}));
  return !rows.empty() && rows.front().point.synthetic();
}

// Matrices of one run that differ in their rail alone. kNotFound: none that matches is stored. None
// is in memory as a whole.
Result<PairFigures> figures_of_matrices(store::Store& store, const std::string& run_id,
                                        const api::PairsRequest& request, const PortMap& ports,
                                        const PairChoice& choice) {
  std::map<PairSeries, std::vector<store::PairMatrixRow>> stored;
  for (store::PairMatrixRow& head : RG_TRY(store.pair_matrices(run_id)))
    if (const PairSeries series = series_of(head); matches(series, request))
      stored[series].push_back(std::move(head));
  if (stored.empty())
    return fail(Code::kNotFound, fmt::format("run {}: no such pair matrix is stored", run_id));
  std::map<PairSeries, double> counts;
  for (const auto& [series, heads] : stored) {
    double& count = counts[series];
    if (stored.size() == 1) break;  // nothing to choose
    for (const store::PairMatrixRow& head : heads) count += RG_TRY(figures_in(store, head));
  }
  const std::vector<PairSeries> order = by_choice(counts);
  PairFigures figures{.run_id = run_id, .series = order.front()};
  figures.others.assign(order.begin() + 1, order.end());
  PairTable table(ports, choice);
  for (const std::string& node : nodes_of(store, run_id)) table.node(node);
  for (const store::PairMatrixRow& head : stored[figures.series]) {
    RG_TRY_OK(table.check(run_id));  // before too many are in memory
    if (head.rail < 0)
      figures.across_rails += RG_TRY(figures_in(store, head));
    else
      RG_TRY_OK(add_to(table, store, head));
  }
  figures.data = RG_TRY(table.data(run_id));
  if (figures.data.layers.empty())
    return fail(Code::kNotFound, fmt::format("run {}: no matrix of a rail is stored", run_id));
  figures.data.synthetic = RG_TRY(is_synthetic(store, run_id, figures.series));
  return figures;
}

}  // namespace

Result<PairFigures> figures_of_points(std::string run_id, const std::vector<PairPoint>& points,
                                      const PortMap& ports, const std::vector<std::string>& nodes,
                                      const PairChoice& choice) {
  std::map<PairSeries, double> counts;
  for (const PairPoint& point : points) ++counts[point.series];
  if (counts.empty())
    return fail(Code::kNotFound,
                fmt::format("run {}: none of its figures is one of a pair of nodes", run_id));
  const std::vector<PairSeries> order = by_choice(counts);
  PairFigures figures{.run_id = std::move(run_id), .series = order.front()};
  figures.others.assign(order.begin() + 1, order.end());
  PairTable table(ports, choice);
  for (const std::string& node : nodes) table.node(node);
  bool synthetic = false;
  for (const PairPoint& point : points) {
    if (point.series != figures.series) continue;
    const auto [from, from_port] = split_endpoint(point.from);
    const auto [to, to_port] = split_endpoint(point.to);
    const std::int32_t rail = ports.rail(from, from_port);
    if (rail != ports.rail(to, to_port)) {
      ++figures.across_rails;
      continue;
    }
    table.add(table.layer(std::max(rail, 0), point.memory), table.number(from), table.number(to),
              point.value, point.spread);
    synthetic = synthetic || point.synthetic;
  }
  figures.data = RG_TRY(table.data(figures.run_id));
  figures.data.synthetic = synthetic;
  if (figures.data.layers.empty())
    return fail(Code::kNotFound, fmt::format("run {}: all figures of pairs are across rails; a "
                                             "matrix needs pairs on one rail",
                                             figures.run_id));
  return figures;
}

namespace {

// What a matrix does not tell: how far repetitions and samples scatter, on which much depends where
// nodes are few. Their points are quickly read, where the run still has them.
Status add_repeat_noise(store::Store& store, const store::ExportScope& scope, const PortMap& ports,
                        PairFigures& figures) {
  api::PairsRequest request;
  request.set_kernel(figures.series.kernel);
  request.set_metric(figures.series.metric);
  request.set_message_bytes(figures.series.message_bytes);
  std::vector<PairPoint> points = RG_TRY(read_pair_points(store, scope, request));
  std::erase_if(points, [&](const PairPoint& p) { return p.series != figures.series; });
  const Result<PairFigures> of_points = figures_of_points(scope.run_id, points, ports);
  if (!of_points) return {};  // pruned
  for (localise::Layer& layer : figures.data.layers)
    for (const localise::Layer& same : of_points->data.layers)
      if (same.rail == layer.rail && same.memory == layer.memory)
        layer.repeat_noise = same.repeat_noise;
  return {};
}

}  // namespace

Result<PairFigures> read_pair_figures(store::Store& store, const api::PairsRequest& request,
                                      const LeafSource& leaves) {
  const store::ExportScope scope = RG_TRY(store.export_scope(request.run_id()));
  const std::vector<store::NodeRow> nodes = RG_TRY(store.list_nodes());
  const PortMap ports(nodes, leaves ? leaves(nodes) : LeafMap{});
  PairChoice choice;
  if (!request.node_set().empty()) {
    const std::vector<std::string> names = RG_TRY(store.node_names());
    const auto chosen = RG_TRY(plan::select_nodes(request.node_set(), names));
    choice.nodes.emplace(chosen.begin(), chosen.end());
  }
  auto figures = figures_of_matrices(store, scope.run_id, request, ports, choice);
  if (figures && figures->data.nodes.size() <= localise::kFewNodes)
    RG_TRY_OK(add_repeat_noise(store, scope, ports, *figures));
  if (!figures && figures.error().code == Code::kNotFound)
    figures = figures_of_points(scope.run_id, RG_TRY(read_pair_points(store, scope, request)),
                                ports, nodes_of(store, scope.run_id), choice);
  if (!figures) return figures;
  figures->data.model =
      figures->series.larger_is_better ? localise::Model::kMinimum : localise::Model::kAdditive;
  return figures;
}

}  // namespace railgauge
