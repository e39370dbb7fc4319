// The points of a run that are figures of pairs, and which port and node they are of.
#include "controller/history/pair_figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/plan/follow_up.h"
#include "kernels/core/base/outcome.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kPage = 20'000;
constexpr std::int64_t kLastRanks = 8'192;  // of a run, that may follow something up
constexpr double kErrorsOfInterval = 1.96;  // 95 %, to each side

std::string value_of(const store::TextMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

bool is_gpu_row(const std::string& endpoint) { return endpoint.ends_with(kGpuRow); }

}  // namespace

Result<std::vector<PairPoint>> read_pair_points(store::Store& store,
                                                const store::ExportScope& scope,
                                                const api::PairsRequest& request,
                                                std::size_t most) {
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
    if (points.size() > most)
      return fail(Code::kInvalidArgument,
                  fmt::format("run {}: it has more than {} figures of pairs; choose some with "
                              "--kernel, --metric and --size, or take railgauge export",
                              scope.run_id, most));
    if (rows.size() < kPage) break;
    filter.range->after = rows.back().point_id;
  }
  return points;
}

std::pair<std::string, std::string> split_endpoint(const std::string& endpoint) {
  const std::size_t slash = endpoint.find('/');
  if (slash == std::string::npos)
    return {endpoint.substr(0, endpoint.size() - (is_gpu_row(endpoint) ? kGpuRow.size() : 0)), ""};
  const std::size_t plus = endpoint.find('+', slash);
  const std::size_t length = plus == std::string::npos ? plus : plus - slash - 1;
  return {endpoint.substr(0, slash), endpoint.substr(slash + 1, length)};
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

namespace {

bool figure_of(const store::ResultRow& row, PairPoint& point) {
  const bool measured = row.outcome == kPassed || row.only_a_limit_failed;
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
  if (row.point.has_median_low() && row.point.has_median_high())
    point.spread = (row.point.median_high() - row.point.median_low()) /
                   (2 * kErrorsOfInterval * row.point.median());
  point.synthetic = row.point.synthetic();
  return true;
}

}  // namespace

bool pair_point_of(const store::ResultRow& row, PairPoint& point) {
  return !plan::is_follow_up(row.task_id) && figure_of(row, point);
}

Result<std::vector<FollowUpPoint>> read_follow_ups(store::Store& store, const PairFigures& figures,
                                                   const LeafSource& leaves) {
  const store::ExportScope scope = RG_TRY(store.export_scope(figures.run_id));
  const std::vector<store::NodeRow> nodes = RG_TRY(store.list_nodes());
  const PortMap ports(nodes, leaves ? leaves(nodes) : LeafMap{});
  store::ResultsFilter filter{.run_id = scope.run_id,
                              .kernel = figures.series.kernel,
                              .metric = figures.series.metric,
                              .message_bytes = figures.series.message_bytes,
                              // They come last in a run.
                              .range = scope.range.of_last_ranks(kLastRanks),
                              .limit = kPage};
  std::vector<FollowUpPoint> found;
  for (const store::ResultRow& row : RG_TRY(store.results(filter))) {
    PairPoint point;
    if (!plan::is_follow_up(row.task_id) || !figure_of(row, point) ||
        point.series != figures.series)
      continue;
    const auto [from, from_port] = split_endpoint(point.from);
    found.push_back({.from = from,
                     .to = split_endpoint(point.to).first,
                     .rail = std::max(ports.rail(from, from_port), 0),
                     .memory = point.memory,
                     .purpose = value_of(row.facts, plan::kFollowUpFact),
                     .value = point.value});
  }
  return found;
}

}  // namespace railgauge
