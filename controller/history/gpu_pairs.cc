#include "controller/history/gpu_pairs.h"

#include <algorithm>

#include <fmt/format.h>

#include "controller/nodes/known_nodes.h"
#include "controller/store/rows/point_flags.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/base/lookup.h"

namespace railgauge {
namespace {

constexpr std::string_view kCopies = "cuda.peer_copy_bw";
constexpr std::string_view kLatency = "cuda.peer_latency";
// A site of 512 hosts with 8 GPUs has 28,672 pairs, each by a few ways and sizes.
constexpr std::size_t kMostRows = 1'000'000;

// "ce write, under load": who copies. Figures of another way are another layer.
std::string way_of(const store::TextMap& parameters) {
  std::string way = value_of(parameters, "engine");
  if (const std::string direction = value_of(parameters, "direction"); !direction.empty())
    way += (way.empty() ? "" : " ") + direction;
  if (value_of(parameters, "bidirectional") == "true") way += ", under load";
  return way;
}

// The standard error of the figure by its own samples, as a share of it; 0: not known.
double spread_of(const Point& point) {
  const double value = headline_of(point);
  const bool rate = point.has_rate_low() && point.has_rate_high();
  if (!rate && !(point.has_median_low() && point.has_median_high())) return 0;
  const double width =
      rate ? point.rate_high() - point.rate_low() : point.median_high() - point.median_low();
  return width / (2 * kErrorsOfInterval * value);
}

// Fills `out` and reports whether the row is the figure of a pair of GPUs.
bool gpu_point_of(const store::ResultRow& row, PairPoint& out) {
  const Point& point = row.point;
  const std::size_t arrow = point.pair().find('>');
  const bool counts = row.outcome == "passed" || row.only_a_limit_failed;
  if (!counts || arrow == std::string::npos || row.endpoints.empty() || !(headline_of(point) > 0))
    return false;
  const std::string node = split_endpoint(row.endpoints.front()).first;
  out = {.series = {.kernel = row.kernel,
                    .metric = point.metric(),
                    .meaning = point.meaning(),
                    .unit = point.unit(),
                    .message_bytes = point.message_bytes(),
                    .larger_is_better = point.larger_is_better()},
         .from = fmt::format("{} {}", node, point.pair().substr(0, arrow)),
         .to = fmt::format("{} {}", node, point.pair().substr(arrow + 1)),
         .memory = way_of(row.parameters),
         .value = headline_of(point),
         .spread = spread_of(point),
         .synthetic = point.synthetic()};
  return true;
}

// The host of "n1 gpu3".
std::string host_of(const std::string& end) { return end.substr(0, end.rfind(' ')); }

}  // namespace

bool is_between_gpus(const std::string& kernel) { return kernel == kCopies || kernel == kLatency; }

// Several hosts are groups, as leaves are of nodes: what all GPUs of one lack is the host's.
Result<PairFigures> figures_of_gpus(const std::string& run_id,
                                    const std::vector<store::ResultRow>& rows) {
  std::vector<PairPoint> points;
  LeafMap hosts;
  PairPoint point;
  for (const store::ResultRow& row : rows) {
    if (!gpu_point_of(row, point)) continue;
    for (const std::string& end : {point.from, point.to}) hosts.emplace(end, host_of(end));
    points.push_back(point);
  }
  PairFigures figures =
      RG_TRY(figures_of_points(run_id, points, PortMap(std::vector<store::NodeRow>(), hosts)));
  figures.data.ends = localise::Ends::kGpus;
  figures.data.model =
      figures.series.larger_is_better ? localise::Model::kMinimum : localise::Model::kAdditive;
  return figures;
}

// Page by page along the keys.
Result<PairFigures> read_gpu_figures(store::Store& store, const api::PairsRequest& request) {
  const store::ExportScope scope = RG_TRY(store.export_scope(request.run_id()));
  store::ResultsFilter filter{.run_id = scope.run_id,
                              .kernel = request.kernel(),
                              .metric = request.metric(),
                              .range = scope.range,
                              .limit = store::kMaxResultRows};
  if (filter.kernel.empty()) filter.kernel = kCopies;
  if (request.has_message_bytes()) filter.message_bytes = request.message_bytes();
  if (!request.node_set().empty()) filter.nodes = RG_TRY(choose_nodes(store, request.node_set()));
  std::vector<store::ResultRow> rows;
  for (;;) {
    std::vector<store::ResultRow> page = RG_TRY(store.results(filter));
    const bool last = page.size() < store::kMaxResultRows;
    if (!page.empty()) filter.range->after = page.back().point_id;
    std::ranges::move(page, std::back_inserter(rows));
    if (last) return figures_of_gpus(scope.run_id, rows);
    if (rows.size() >= kMostRows)
      return fail(Code::kInvalidArgument,
                  fmt::format("run {}: it has more than {} figures between GPUs; choose some with "
                              "--nodes, --metric and --size",
                              scope.run_id, kMostRows));
  }
}

Result<PairFigures> read_shown_figures(store::Store& store, const api::PairsRequest& request,
                                       const LeafSource& leaves) {
  if (is_between_gpus(request.kernel())) return read_gpu_figures(store, request);
  Result<PairFigures> figures = read_pair_figures(store, request, leaves);
  if (figures || figures.error().code != Code::kNotFound || !request.kernel().empty())
    return figures;
  Result<PairFigures> between_gpus = read_gpu_figures(store, request);
  return between_gpus ? std::move(between_gpus) : std::move(figures);
}

}  // namespace railgauge
