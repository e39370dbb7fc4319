#include "controller/history/pair_figures.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "controller/history/pair_table.h"
#include "controller/localise/localise_cells.h"
#include "controller/nodes/known_nodes.h"
#include "controller/plan/follow_up.h"
#include "controller/store/nodes/node_facts.h"
#include "controller/store/pairs/pair_points.h"
#include "controller/store/rows/point_flags.h"
#include "kernels/core/base/lookup.h"

namespace railgauge {
namespace {

// The fact by which a node names its leaf switch.
constexpr std::string_view kLeafFact = "leaf";

// Reports whether the request, as far as it states a series, means this one.
bool matches(const PairSeries& series, const api::PairsRequest& request) {
  return (request.kernel().empty() || series.kernel == request.kernel()) &&
         (request.metric().empty() || series.metric == request.metric()) &&
         (!request.has_message_bytes() || series.message_bytes == request.message_bytes());
}

// The nodes that the run planned; none where the request asks for all runs.
std::vector<std::string> nodes_of(store::Store& store, const std::string& run_id) {
  const auto summary = store.run_summary(run_id);
  return summary ? summary->run.nodes : std::vector<std::string>{};
}

// Orders series for a request that leaves the choice open: bandwidth before latency, then by the
// number of figures, then by size. The kernel's name decides between equals, so that the choice is
// stable.
std::vector<PairSeries> by_choice(const std::map<PairSeries, double>& counts) {
  std::vector<PairSeries> order;
  for (const auto& [series, count] : counts) order.push_back(series);
  std::ranges::sort(order, [&counts](const PairSeries& a, const PairSeries& b) {
    return std::tuple(a.larger_is_better, counts.at(a), a.message_bytes, b.kernel) >
           std::tuple(b.larger_is_better, counts.at(b), b.message_bytes, a.kernel);
  });
  return order;
}

// The number of its figures; the matrix is visited, not loaded.
Result<double> figures_in(const store::Store& store, const store::PairMatrixRow& head) {
  double count = 0;
  RG_TRY_OK(store.visit_pair_matrix(
      matrix_key(head),
      [&count](const store::PairMatrixRow&, std::size_t, std::size_t, float) { ++count; }));
  return count;
}

// Adds the figures of a matrix to the table. A row's node and memory are parsed from its endpoint
// once, not with each figure.
Status add_to(PairTable& table, const store::Store& store, const store::PairMatrixRow& head) {
  struct Row {
    std::int32_t node = PairTable::kNotChosen;
    std::size_t layer = 0;
  };
  std::vector<Row> rows;
  return store.visit_pair_matrix(
      matrix_key(head),
      [&](const store::PairMatrixRow& matrix, std::size_t from, std::size_t to, float value) {
        if (rows.empty())
          for (const std::string& endpoint : matrix.endpoints)
            rows.push_back({.node = table.number(split_endpoint(endpoint).first),
                            .layer = table.layer(matrix.rail, memory_of_row(endpoint))});
        table.add(rows[from].layer, rows[from].node, rows[to].node, value);
      });
}

// Reports whether the figures are synthetic: a matrix has no such flag, and any point of the series
// represents all.
Result<bool> is_synthetic(store::Store& store, const store::ExportScope& scope,
                          const PairSeries& series) {
  return store.read(store::is_pair_synthetic,
                    {.run_id = scope.run_id,
                     .kernel = series.kernel,
                     .metric = series.metric,
                     .message_bytes = series.message_bytes},
                    scope.range);
}

// Joins the matrices of one series, which differ in their rail alone. No matrix is in memory as a
// whole. kNotFound: none that matches is stored.
Result<PairFigures> figures_of_matrices(store::Store& store, const store::ExportScope& scope,
                                        const api::PairsRequest& request, const PortMap& ports,
                                        const PairChoice& choice) {
  const std::string& run_id = scope.run_id;
  std::map<PairSeries, std::vector<store::PairMatrixRow>> stored;
  for (store::PairMatrixRow& head : RG_TRY(store.pair_matrices(run_id)))
    if (const PairSeries series = matrix_series(head); matches(series, request))
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
  figures.data.synthetic = RG_TRY(is_synthetic(store, scope, figures.series));
  return figures;
}

}  // namespace

PairSeries matrix_series(const store::PairMatrixRow& matrix) {
  return {.kernel = matrix.kernel,
          .metric = matrix.metric,
          .meaning = matrix.meaning,
          .unit = matrix.unit,
          .message_bytes = matrix.message_bytes,
          .larger_is_better = matrix.larger_is_better};
}

store::PairMatrixKey matrix_key(const store::PairMatrixRow& matrix) {
  return {.run_id = matrix.run_id,
          .rail = matrix.rail,
          .metric = matrix.metric,
          .message_bytes = matrix.message_bytes,
          .kernel = matrix.kernel,
          .meaning = matrix.meaning};
}

namespace {

// Collects figures by series, 12 bytes and the known errors of each: a run of a large site has
// millions, and which series is chosen is known at the end. An end is parsed once.
class SeriesTables {
 public:
  // All must outlive it.
  SeriesTables(const PortMap& ports, const PairChoice& choice,
               const std::vector<std::string>& nodes)
      : ports_(ports), choice_(choice), nodes_(nodes) {}

  // Figures between two rails are counted and left out: a layer has one rail.
  void add(const PairPoint& point) {
    if (last_ == nullptr || last_->first != point.series) {
      const auto [found, fresh] = all_.try_emplace(point.series, ports_, choice_);
      if (fresh)
        for (const std::string& node : nodes_) found->second.table.node(node);
      last_ = &*found;
    }
    Collected& to = last_->second;
    ++to.count;
    const Place from = place(to, point.from);
    const Place receiver = place(to, point.to);
    if (from.rail != receiver.rail) {
      ++to.across_rails;
      return;
    }
    to.table.add(to.table.layer(std::max(from.rail, 0), point.memory), from.number, receiver.number,
                 point.value, point.spread);
    to.synthetic = to.synthetic || point.synthetic;
  }

  // Those of the series with most figures; errors as of figures_of_points().
  Result<PairFigures> figures(std::string run_id) const {
    if (all_.empty())
      return fail(Code::kNotFound, run_id == "all"
                                       ? std::string("no run has pair results")
                                       : fmt::format("run {}: no pair results", run_id));
    std::map<PairSeries, double> counts;
    for (const auto& [series, collected] : all_) counts[series] = collected.count;
    const std::vector<PairSeries> order = by_choice(counts);
    const Collected& chosen = all_.at(order.front());
    PairFigures figures{.run_id = std::move(run_id), .series = order.front()};
    figures.others.assign(order.begin() + 1, order.end());
    figures.across_rails = chosen.across_rails;
    figures.data = RG_TRY(chosen.table.data(figures.run_id));
    figures.data.synthetic = chosen.synthetic;
    if (figures.data.layers.empty())
      return fail(Code::kNotFound, fmt::format("run {}: all figures of pairs are across rails; a "
                                               "matrix needs pairs on one rail",
                                               figures.run_id));
    return figures;
  }

 private:
  // An end's number in the table, and its rail.
  struct Place {
    std::int32_t number = 0;
    std::int32_t rail = -1;
  };
  struct Collected {
    Collected(const PortMap& ports, const PairChoice& choice) : table(ports, choice) {}
    PairTable table;
    double count = 0;
    double across_rails = 0;
    bool synthetic = false;
    // By end.
    std::unordered_map<std::string, Place> places{};
  };

  Place place(Collected& of, const std::string& end) const {
    const auto [found, fresh] = of.places.try_emplace(end);
    if (fresh) {
      const auto [node, port] = split_endpoint(end);
      found->second = {.number = of.table.number(node), .rail = ports_.rail(node, port)};
    }
    return found->second;
  }

  const PortMap& ports_;
  const PairChoice& choice_;
  const std::vector<std::string>& nodes_;
  std::map<PairSeries, Collected> all_;
  // The series of the last figure.
  std::pair<const PairSeries, Collected>* last_ = nullptr;
};

// Reads the figures of a run that has no matrices, a page in memory at a time.
Result<PairFigures> figures_of_run(store::Store& store, const store::ExportScope& scope,
                                   const api::PairsRequest& request, const PortMap& ports,
                                   const PairChoice& choice) {
  const std::vector<std::string> nodes = nodes_of(store, scope.run_id);
  SeriesTables tables(ports, choice, nodes);
  RG_TRY_OK(visit_pair_points(store, scope, request, [&](const PairPoint& point) -> Status {
    tables.add(point);
    return {};
  }));
  return tables.figures(scope.run_id);
}

}  // namespace

Result<PairFigures> figures_of_points(std::string run_id, const std::vector<PairPoint>& points,
                                      const PortMap& ports, const std::vector<std::string>& nodes,
                                      const PairChoice& choice) {
  SeriesTables tables(ports, choice, nodes);
  for (const PairPoint& point : points) tables.add(point);
  return tables.figures(std::move(run_id));
}

namespace {

// Adds the scatter of repetitions and samples, which a matrix does not contain. It matters where
// nodes are few, and then the points are read quickly, if the run still has them.
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

// Matrices first: a run of a large fabric has millions of points.
Result<PairFigures> read_pair_figures(store::Store& store, const api::PairsRequest& request,
                                      const LeafSource& leaves) {
  const store::ExportScope scope = RG_TRY(store.export_scope(request.run_id()));
  const PortMap ports = RG_TRY(read_ports(store, leaves, nodes_of(store, scope.run_id)));
  PairChoice choice;
  if (!request.node_set().empty()) {
    const auto chosen = RG_TRY(choose_nodes(store, request.node_set()));
    choice.nodes.emplace(chosen.begin(), chosen.end());
  }
  auto figures = figures_of_matrices(store, scope, request, ports, choice);
  if (figures && figures->data.nodes.size() <= localise::kFewNodes)
    RG_TRY_OK(add_repeat_noise(store, scope, ports, *figures));
  if (!figures && figures.error().code == Code::kNotFound)
    figures = figures_of_run(store, scope, request, ports, choice);
  if (!figures) return figures;
  figures->data.model =
      figures->series.larger_is_better ? localise::Model::kMinimum : localise::Model::kAdditive;
  return figures;
}

// --- points of pairs ---

namespace {

// The last ranks of a run, among which its follow-ups are.
constexpr std::int64_t kLastRanks = 8'192;

bool is_gpu_row(std::string_view endpoint) { return endpoint.ends_with(kGpuRow); }

// Node and port of an end. The port ends at a '+', behind which the GPU is named.
std::pair<std::string_view, std::string_view> parts_of(std::string_view endpoint) {
  const std::size_t slash = endpoint.find('/');
  if (slash == std::string_view::npos)
    return {endpoint.substr(0, endpoint.size() - (is_gpu_row(endpoint) ? kGpuRow.size() : 0)), ""};
  const std::size_t plus = endpoint.find('+', slash);
  const std::size_t length =
      plus == std::string_view::npos ? std::string_view::npos : plus - slash - 1;
  return {endpoint.substr(0, slash), endpoint.substr(slash + 1, length)};
}

bool is_of_series(const PairSeries& series, const store::PairPointRow& row) {
  return series.message_bytes == row.message_bytes && series.metric == row.metric &&
         series.kernel == row.kernel && series.meaning == row.meaning && series.unit == row.unit &&
         series.larger_is_better == row.larger_is_better;
}

// Fills `point` and reports whether the row is the figure of a pair, follow-ups included. Texts
// that the row before had too are not copied again.
bool figure_of(const store::PairPointRow& row, PairPoint& point) {
  if (row.kernel.starts_with("nccl.") || row.direction == "both" || !(row.value > 0)) return false;
  if (parts_of(row.first).first == parts_of(row.second).first) return false;
  if (!is_of_series(point.series, row))
    point.series = {.kernel = std::string(row.kernel),
                    .metric = std::string(row.metric),
                    .meaning = std::string(row.meaning),
                    .unit = std::string(row.unit),
                    .message_bytes = row.message_bytes,
                    .larger_is_better = row.larger_is_better};
  // An RDMA read transfers from the target to the initiator.
  const bool reads = row.kernel.find(".read_") != std::string_view::npos;
  point.from = reads ? row.second : row.first;
  point.to = reads ? row.first : row.second;
  const std::string_view memory = row.memory_fact.empty() ? row.memory : row.memory_fact;
  point.memory = memory.empty() || memory.starts_with("host") ? "host" : "gpu";
  point.value = row.value;
  point.spread =
      row.low && row.high ? (*row.high - *row.low) / (2 * kErrorsOfInterval * row.value) : 0;
  point.synthetic = (row.flags & store::kFlagSynthetic) != 0;
  return true;
}

store::PairPointsFilter filter_of(const std::string& run_id, const api::PairsRequest& request) {
  store::PairPointsFilter filter{
      .run_id = run_id, .kernel = request.kernel(), .metric = request.metric()};
  if (request.has_message_bytes()) filter.message_bytes = request.message_bytes();
  return filter;
}

// Reads page by page along the keys, each page in a transaction of its own.
Status visit_rows(const store::Store& store, const store::PairPointsFilter& filter,
                  const store::PointRange& range, const store::PairPointVisitor& visit) {
  store::PairPointMemo memo;
  for (std::int64_t after = range.after; after < range.through;)
    after = RG_TRY(store.read(store::visit_pair_points, filter,
                              store::PointRange{after, range.through}, memo, visit));
  return {};
}

// Passes the figures among the filter's points to `take`.
Status visit_figures(const store::Store& store, const store::PairPointsFilter& filter,
                     const store::PointRange& range, const TakePairPoint& take) {
  PairPoint point;
  return visit_rows(store, filter, range, [&](const store::PairPointRow& row) -> Status {
    return pair_point_of(row, point) ? take(point) : Status();
  });
}

}  // namespace

Status visit_pair_points(const store::Store& store, const store::ExportScope& scope,
                         const api::PairsRequest& request, const TakePairPoint& take) {
  return visit_figures(store, filter_of(scope.run_id, request), scope.range, take);
}

Status visit_brief_pair_points(const store::Store& store, const std::string& run_id,
                               const TakePairPoint& take) {
  const store::ExportScope scope = RG_TRY(store.export_scope(run_id));
  return visit_figures(store, {.run_id = scope.run_id, .any_flag = store::kFlagBrief}, scope.range,
                       take);
}

// The bound stops it before memory does.
Result<std::vector<PairPoint>> read_pair_points(store::Store& store,
                                                const store::ExportScope& scope,
                                                const api::PairsRequest& request,
                                                std::size_t most) {
  std::vector<PairPoint> points;
  RG_TRY_OK(visit_pair_points(store, scope, request, [&](const PairPoint& point) -> Status {
    if (points.size() >= most)
      return fail(Code::kInvalidArgument,
                  fmt::format("run {}: it has more than {} figures of pairs; choose some with "
                              "--kernel, --metric and --size, or take railgauge export",
                              scope.run_id, most));
    points.push_back(point);
    return {};
  }));
  return points;
}

std::pair<std::string, std::string> split_endpoint(const std::string& endpoint) {
  const auto [node, port] = parts_of(endpoint);
  return {std::string(node), std::string(port)};
}

std::string memory_of_row(const std::string& endpoint) {
  const std::size_t slash = endpoint.find('/');
  if (slash == std::string::npos) return is_gpu_row(endpoint) ? "gpu" : "host";
  return endpoint.find('+', slash) == std::string::npos ? "host" : "gpu";
}

PortMap::PortMap(const std::vector<store::NodeRow>& nodes, LeafMap leaves)
    : leaves_(std::move(leaves)) {
  for (const store::NodeRow& node : nodes) {
    std::vector<const store::EndpointRow*> ports;
    for (const store::EndpointRow& endpoint : node.endpoints)
      if (endpoint.kind == "nic") ports.push_back(&endpoint);
    // As the store numbers rails: by slot, then port.
    std::ranges::sort(ports, {}, [](const store::EndpointRow* port) {
      return std::pair(port->pci_address.empty() ? port->netdev : port->pci_address, port->port);
    });
    std::int32_t rail = 0;
    for (const store::EndpointRow* port : ports)
      rails_[node.name][fmt::format("{}:{}", port->device, port->port)] = rail++;
    if (leaves_.contains(node.name)) continue;
    const std::string leaf(kLeafFact);
    const std::string label = value_of(node.described, leaf);
    leaves_[node.name] = label.empty() ? value_of(node.facts, leaf) : label;
  }
}

// The ports of the nodes as they are known now. `leaves` gives the leaf of nodes that do not report
// it.
Result<PortMap> read_ports(const store::Store& store, const LeafSource& leaves,
                           const std::vector<std::string>& names) {
  store::PlaceWanted wanted{.names = names, .facts = leaves.facts()};
  wanted.facts.emplace_back(kLeafFact);
  const std::vector<store::NodeRow> nodes = RG_TRY(store.read(store::read_placed_nodes, wanted));
  return PortMap(nodes, leaves ? leaves(nodes) : LeafMap{});
}

std::int32_t PortMap::rail(const std::string& node, const std::string& port) const {
  const auto of = rails_.find(node);
  return of == rails_.end() ? -1 : value_of(of->second, port, -1);
}

std::string PortMap::leaf(const std::string& node) const { return value_of(leaves_, node); }

bool pair_point_of(const store::PairPointRow& row, PairPoint& point) {
  return !plan::is_follow_up(row.task_id) && figure_of(row, point);
}

// Follow-ups come last in a run, so that only its last ranks are read.
Result<std::vector<FollowUpPoint>> read_follow_ups(store::Store& store, const PairFigures& figures,
                                                   const LeafSource& leaves) {
  const store::ExportScope scope = RG_TRY(store.export_scope(figures.run_id));
  const PortMap ports = RG_TRY(read_ports(store, leaves, nodes_of(store, scope.run_id)));
  const store::PairPointsFilter filter{.run_id = scope.run_id,
                                       .kernel = figures.series.kernel,
                                       .metric = figures.series.metric,
                                       .message_bytes = figures.series.message_bytes};
  std::vector<FollowUpPoint> found;
  PairPoint point;
  const auto add = [&](const store::PairPointRow& row) -> Status {
    if (!plan::is_follow_up(row.task_id) || !figure_of(row, point) ||
        point.series != figures.series)
      return {};
    const auto [from, from_port] = split_endpoint(point.from);
    found.push_back({.from = from,
                     .to = split_endpoint(point.to).first,
                     .rail = std::max(ports.rail(from, from_port), 0),
                     .memory = point.memory,
                     .purpose = std::string(row.follow_up),
                     .value = point.value});
    return {};
  };
  RG_TRY_OK(visit_rows(store, filter, scope.range.of_last_ranks(kLastRanks), add));
  return found;
}

}  // namespace railgauge
