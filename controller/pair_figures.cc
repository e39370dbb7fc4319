#include "controller/pair_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "kernels/core/outcome.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kPage = 20'000;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

std::string value_of(const store::TextMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

// Collects figures by layer; several of one cell become their median.
class Table {
 public:
  explicit Table(const PortMap& ports) : ports_(ports) {}

  std::int32_t node(const std::string& name) {
    const auto [place, fresh] = index_.try_emplace(name, static_cast<std::int32_t>(names_.size()));
    if (fresh) names_.push_back(name);
    return place->second;
  }
  void add(std::int32_t rail, const std::string& memory, const std::string& from,
           const std::string& to, double value) {
    cells_[{rail, memory}][{from, to}].push_back(static_cast<float>(value));
    node(from);
    node(to);
  }

  localise::PairData data() {
    std::ranges::sort(names_);
    for (std::size_t i = 0; i < names_.size(); ++i)
      index_[names_[i]] = static_cast<std::int32_t>(i);
    localise::PairData data{.nodes = names_};
    std::set<std::string> leaves;
    for (const std::string& name : names_)
      if (const std::string leaf = ports_.leaf(name); !leaf.empty()) leaves.insert(leaf);
    data.leaves.assign(leaves.begin(), leaves.end());
    for (const std::string& name : names_)
      if (!leaves.empty()) data.leaf_of.push_back(place(data.leaves, ports_.leaf(name)));
    for (auto& [key, cells] : cells_) {
      localise::Layer& layer = data.layers.emplace_back();
      layer.rail = key.first;
      layer.memory = key.second;
      layer.values.assign(names_.size() * names_.size(), kNone);
      for (auto& [pair, values] : cells) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        layer.values[static_cast<std::size_t>(index_[pair.first]) * names_.size() +
                     static_cast<std::size_t>(index_[pair.second])] = *middle;
      }
    }
    return data;
  }

 private:
  static std::int32_t place(const std::vector<std::string>& leaves, const std::string& leaf) {
    const auto found = std::ranges::find(leaves, leaf);
    return found == leaves.end() ? -1 : static_cast<std::int32_t>(found - leaves.begin());
  }

  const PortMap& ports_;
  std::vector<std::string> names_;
  std::map<std::string, std::int32_t> index_;
  std::map<std::pair<std::int32_t, std::string>,
           std::map<std::pair<std::string, std::string>, std::vector<float>>>
      cells_;
};

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

double figures_in(const store::PairMatrixRow& matrix) {
  return static_cast<double>(
      std::ranges::count_if(matrix.values, [](float value) { return std::isfinite(value); }));
}

void add_to(Table& table, const store::PairMatrixRow& matrix) {
  const std::size_t n = matrix.endpoints.size();
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to)
      if (const float value = matrix.values[from * n + to]; std::isfinite(value))
        table.add(matrix.rail, memory_of_row(matrix.endpoints[from]),
                  split_endpoint(matrix.endpoints[from]).first,
                  split_endpoint(matrix.endpoints[to]).first, value);
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

// Matrices of one run that differ in their rail alone. kNotFound: none that matches is stored. One
// is in memory at a time.
Result<PairFigures> figures_of_matrices(store::Store& store, const std::string& run_id,
                                        const api::PairsRequest& request, const PortMap& ports) {
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
    for (const store::PairMatrixRow& head : heads)
      count += figures_in(RG_TRY(store.pair_matrix(key_of(head))));
  }
  const std::vector<PairSeries> order = by_choice(counts);
  PairFigures figures{.run_id = run_id, .series = order.front()};
  figures.others.assign(order.begin() + 1, order.end());
  Table table(ports);
  for (const std::string& node : nodes_of(store, run_id)) table.node(node);
  for (const store::PairMatrixRow& head : stored[figures.series]) {
    const store::PairMatrixRow matrix = RG_TRY(store.pair_matrix(key_of(head)));
    if (matrix.rail < 0)
      figures.across_rails += figures_in(matrix);
    else
      add_to(table, matrix);
  }
  figures.data = table.data();
  if (figures.data.layers.empty())
    return fail(Code::kNotFound, fmt::format("run {}: no matrix of a rail is stored", run_id));
  figures.data.synthetic = RG_TRY(is_synthetic(store, run_id, figures.series));
  return figures;
}

}  // namespace

Result<std::vector<PairPoint>> read_pair_points(store::Store& store,
                                                const store::ExportScope& scope,
                                                const api::PairsRequest& request) {
  store::ResultsFilter filter{.run_id = scope.run_id,
                              .kernel = request.kernel(),
                              .metric = request.metric(),
                              .range = scope.range,
                              .limit = kPage};
  if (request.has_message_bytes()) filter.message_bytes = request.message_bytes();
  std::vector<PairPoint> points;
  while (filter.range->after < scope.range.through) {
    const std::vector<store::ResultRow> rows = RG_TRY(store.results(filter));
    for (const store::ResultRow& row : rows)
      if (PairPoint point; pair_point_of(row, point)) points.push_back(std::move(point));
    if (rows.size() < kPage) break;
    filter.range->after = rows.back().point_id;
  }
  return points;
}

std::pair<std::string, std::string> split_endpoint(const std::string& endpoint) {
  const std::size_t slash = endpoint.find('/');
  if (slash == std::string::npos) return {endpoint, ""};
  const std::size_t plus = endpoint.find('+', slash);
  const std::size_t length = plus == std::string::npos ? plus : plus - slash - 1;
  return {endpoint.substr(0, slash), endpoint.substr(slash + 1, length)};
}

std::string memory_of_row(const std::string& endpoint) {
  const std::size_t slash = std::min(endpoint.find('/'), endpoint.size());
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
    const std::string label = value_of(node.described, "leaf");
    leaves_[node.name] = label.empty() ? value_of(node.facts, "leaf") : label;
  }
}

std::int32_t PortMap::rail(const std::string& node, const std::string& port) const {
  const auto of = rails_.find(node);
  if (of == rails_.end()) return -1;
  const auto found = of->second.find(port);
  return found == of->second.end() ? -1 : found->second;
}

std::string PortMap::leaf(const std::string& node) const {
  const auto found = leaves_.find(node);
  return found == leaves_.end() ? std::string() : found->second;
}

bool pair_point_of(const store::ResultRow& row, PairPoint& point) {
  const bool measured = row.outcome == kPassed || (row.outcome == kFailed && row.ranks_passed);
  const bool pair = row.endpoints.size() == 2 && measured && row.point.pair().empty();
  if (!pair || row.kernel.starts_with("nccl.")) return false;
  if (split_endpoint(row.endpoints[0]).first == split_endpoint(row.endpoints[1]).first)
    return false;
  if (value_of(row.parameters, "direction") == "both" || row.point.median() <= 0) return false;
  point.series = {.kernel = row.kernel,
                  .metric = row.point.metric(),
                  .meaning = row.point.meaning(),
                  .unit = row.point.unit(),
                  .message_bytes = row.point.message_bytes(),
                  .larger_is_better = row.point.larger_is_better()};
  // What is read goes from the one who is asked.
  const bool reads = row.kernel.find(".read_") != std::string::npos;
  point.from = row.endpoints[reads ? 1 : 0];
  point.to = row.endpoints[reads ? 0 : 1];
  std::string memory = value_of(row.facts, "memory");
  if (memory.empty()) memory = value_of(row.parameters, "memory");
  point.memory = memory.empty() || memory.starts_with("host") ? "host" : "gpu";
  point.value = row.point.median();
  point.synthetic = row.point.synthetic();
  return true;
}

Result<PairFigures> figures_of_points(std::string run_id, const std::vector<PairPoint>& points,
                                      const PortMap& ports, const std::vector<std::string>& nodes) {
  std::map<PairSeries, double> counts;
  for (const PairPoint& point : points) ++counts[point.series];
  if (counts.empty())
    return fail(Code::kNotFound,
                fmt::format("run {}: none of its figures is one of a pair of nodes", run_id));
  const std::vector<PairSeries> order = by_choice(counts);
  PairFigures figures{.run_id = std::move(run_id), .series = order.front()};
  figures.others.assign(order.begin() + 1, order.end());
  Table table(ports);
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
    table.add(std::max(rail, 0), point.memory, from, to, point.value);
    synthetic = synthetic || point.synthetic;
  }
  figures.data = table.data();
  figures.data.synthetic = synthetic;
  if (figures.data.layers.empty())
    return fail(Code::kNotFound, fmt::format("run {}: all figures of pairs are across rails; a "
                                             "matrix needs pairs on one rail",
                                             figures.run_id));
  return figures;
}

Result<PairFigures> read_pair_figures(store::Store& store, const api::PairsRequest& request,
                                      const LeafSource& leaves) {
  const store::ExportScope scope = RG_TRY(store.export_scope(request.run_id()));
  const std::vector<store::NodeRow> nodes = RG_TRY(store.list_nodes());
  const PortMap ports(nodes, leaves ? leaves(nodes) : LeafMap{});
  auto figures = figures_of_matrices(store, scope.run_id, request, ports);
  if (!figures && figures.error().code == Code::kNotFound)
    figures = figures_of_points(scope.run_id, RG_TRY(read_pair_points(store, scope, request)),
                                ports, nodes_of(store, scope.run_id));
  if (!figures) return figures;
  figures->data.model =
      figures->series.larger_is_better ? localise::Model::kMinimum : localise::Model::kAdditive;
  return figures;
}

}  // namespace railgauge
