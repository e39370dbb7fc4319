#include "controller/history/matrix_overview.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "controller/store/pairs/pair_points.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {
namespace {

constexpr std::uint32_t kMostStep = 1'024;  // of an overview that is read
constexpr float kNoShare = std::numeric_limits<float>::quiet_NaN();
// Standard deviations of one median absolute deviation, for a normal distribution.
constexpr double kDeviationsOfMad = 1.4826;
// Shares that the scatter is taken from, evenly over the matrix.
constexpr std::size_t kMostScatterShares = 1'000'000;

// One kind of memory and one row of a node: a cell then is a pair of nodes.
bool is_of_nodes(const store::PairMatrixRow& matrix) {
  std::set<std::string> nodes;
  return std::ranges::all_of(matrix.endpoints, [&](const std::string& endpoint) {
    return nodes.insert(split_endpoint(endpoint).first).second &&
           memory_of_row(endpoint) == memory_of_row(matrix.endpoints.front());
  });
}

// Rows with the number of their leaf, so that millions of pairs are compared quickly.
class WideMatrix {
 public:
  WideMatrix(const store::PairMatrixRow& matrix, const PortMap& ports) : matrix_(matrix) {
    std::map<std::string, int> numbers;
    for (const std::string& endpoint : matrix.endpoints) {
      names_.push_back(split_endpoint(endpoint).first);
      leaves_.push_back(ports.leaf(names_.back()));
      leaf_of_.push_back(
          numbers.try_emplace(leaves_.back(), static_cast<int>(numbers.size())).first->second);
    }
  }
  [[nodiscard]] std::size_t size() const { return leaf_of_.size(); }
  // Nodes and leaves, by row.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<std::string>& leaves() const { return leaves_; }
  // 0: within a leaf; 1: across leaves.
  [[nodiscard]] std::size_t class_of(std::size_t from, std::size_t to) const {
    return leaf_of_[from] == leaf_of_[to] ? 0 : 1;
  }
  // NaN or not above 0: the pair was not measured.
  [[nodiscard]] float value(std::size_t from, std::size_t to) const {
    return matrix_.values[from * size() + to];
  }
  // Passes each measured figure.
  template <class Visit>
  void visit(Visit visit) const {
    for (std::size_t from = 0; from < size(); ++from)
      for (std::size_t to = 0; to < size(); ++to)
        if (const float one = value(from, to); one > 0) visit(from, to, one);
  }

 private:
  const store::PairMatrixRow& matrix_;
  std::vector<std::string> names_;
  std::vector<std::string> leaves_;
  std::vector<int> leaf_of_;
};

// The medians of the classes; 0: none was measured.
std::array<float, 2> medians_of(const WideMatrix& matrix) {
  std::array<std::vector<float>, 2> classes;
  matrix.visit([&](std::size_t from, std::size_t to, float value) {
    classes[matrix.class_of(from, to)].push_back(value);
  });
  const float within = upper_median(std::move(classes[0]));
  return {within, upper_median(std::move(classes[1]))};
}

// Reports whether the share is worse than another one, or the first one.
bool is_worse_share(float share, float than, bool larger_is_better) {
  if (std::isnan(than)) return true;
  return larger_is_better ? share < than : share > than;
}

void keep_worst(float share, bool larger_is_better, float& worst) {
  if (is_worse_share(share, worst, larger_is_better)) worst = share;
}

// Fills cells, strips and counts.
void fill_cells(const WideMatrix& matrix, const std::array<float, 2>& medians,
                api::MatrixOverview& out) {
  const std::size_t n = matrix.size();
  const std::size_t side = (n + kOverviewStep - 1) / kOverviewStep;
  const bool larger = out.larger_is_better();
  std::vector<float> sent(n, kNoShare);
  std::vector<float> received(n, kNoShare);
  out.mutable_values()->Resize(static_cast<int>(side * side), kNoShare);
  out.mutable_of_expected()->Resize(static_cast<int>(side * side), kNoShare);
  const auto length = [&](std::size_t cell) {
    return std::min<std::size_t>(kOverviewStep, n - cell * kOverviewStep);
  };
  for (std::size_t row = 0; row < side; ++row)
    for (std::size_t column = 0; column < side; ++column)
      out.add_untested(static_cast<std::uint32_t>(length(row) * length(column) -
                                                  (row == column ? length(row) : 0)));
  std::vector<float> shares;
  std::size_t measured = 0;
  const std::size_t every = std::max<std::size_t>(n * n / kMostScatterShares, 1);
  matrix.visit([&](std::size_t from, std::size_t to, float value) {
    const auto cell = static_cast<int>(from / kOverviewStep * side + to / kOverviewStep);
    out.set_untested(cell, out.untested(cell) - 1);
    const float share = value / medians[matrix.class_of(from, to)];
    if (++measured % every == 0) shares.push_back(share);
    keep_worst(share, larger, sent[from]);
    keep_worst(share, larger, received[to]);
    if (!is_worse_share(share, out.of_expected(cell), larger)) return;
    out.set_of_expected(cell, share);
    out.set_values(cell, value);
  });
  out.set_measured_pairs(static_cast<double>(measured));
  out.mutable_sent_of_expected()->Add(sent.begin(), sent.end());
  out.mutable_received_of_expected()->Add(received.begin(), received.end());
  if (shares.empty()) return;
  const float middle = upper_median(shares);
  for (float& share : shares) share = std::abs(share - middle);
  out.set_scatter_share(kDeviationsOfMad * upper_median(std::move(shares)));
}

// An RPC's request selects a stored matrix as it selects figures (pair_figures.cc).
bool fits(const store::PairMatrixRow& head, const api::PairsRequest& request) {
  return head.rail >= 0 && (!request.has_rail() || head.rail == request.rail()) &&
         (request.kernel().empty() || head.kernel == request.kernel()) &&
         (request.metric().empty() || head.metric == request.metric()) &&
         (!request.has_message_bytes() || head.message_bytes == request.message_bytes());
}

// The words by which a request selects the series again.
std::string series_words(const store::PairMatrixRow& head) {
  return fmt::format("{} {} {}", head.kernel, head.metric, head.message_bytes);
}

// Names the run's other matrices, as api::PairMatrix does.
void name_others(const std::vector<store::PairMatrixRow>& heads, const store::PairMatrixRow& chosen,
                 api::MatrixOverview& out) {
  std::set<std::string> series;
  for (const store::PairMatrixRow& head : heads) {
    if (matrix_series(head) != matrix_series(chosen))
      series.insert(series_words(head));
    else if (head.rail >= 0 && head.rail != chosen.rail)
      out.add_other_layers(fmt::format("rail {} {}", head.rail, out.memory()));
  }
  for (const std::string& words : series) out.add_other_series(words);
}

// Reads the overview of one matrix and checks that its lists fit each other: the bytes come from a
// file that others may have changed.
Result<api::MatrixOverview> read_one(store::Store& store, const store::PairMatrixRow& head) {
  const std::string bytes = RG_TRY(store.read(store::read_matrix_overview, matrix_key(head)));
  api::MatrixOverview overview;
  const auto side = [&] {
    return (static_cast<std::size_t>(overview.nodes_size()) + overview.step() - 1) /
           overview.step();
  };
  // A reader makes finer cells by halving the step.
  const auto is_step = [&] {
    return std::has_single_bit(overview.step()) && overview.step() <= kMostStep;
  };
  if (!overview.ParseFromString(bytes) || !is_step() ||
      overview.leaves_size() != overview.nodes_size() ||
      overview.sent_of_expected_size() != overview.nodes_size() ||
      overview.received_of_expected_size() != overview.nodes_size() ||
      static_cast<std::size_t>(overview.values_size()) != side() * side() ||
      overview.of_expected_size() != overview.values_size() ||
      overview.untested_size() != overview.values_size())
    return fail(Code::kDataLoss,
                fmt::format("run {}: the overview of its pair matrix is damaged; restore a backup",
                            head.run_id));
  return overview;
}

}  // namespace

void order_by_leaf(store::PairMatrixRow& matrix, const PortMap& ports) {
  std::vector<std::pair<std::string, std::string>> keys;
  for (std::string& endpoint : matrix.endpoints) {
    std::string leaf = ports.leaf(split_endpoint(endpoint).first);
    keys.emplace_back(std::move(leaf), std::move(endpoint));
  }
  std::ranges::sort(keys);
  for (std::size_t i = 0; i < keys.size(); ++i) matrix.endpoints[i] = std::move(keys[i].second);
}

void add_overview(store::PairMatrixRow& matrix, const PortMap& ports) {
  if (matrix.endpoints.size() < kLeastWideRows || !is_of_nodes(matrix)) return;
  const WideMatrix wide(matrix, ports);
  const std::array<float, 2> medians = medians_of(wide);
  api::MatrixOverview out;
  out.set_schema_version(kSchemaVersion);
  out.set_run_id(matrix.run_id);
  out.set_kernel(matrix.kernel);
  out.set_metric(matrix.metric);
  out.set_meaning(matrix.meaning);
  out.set_unit(matrix.unit);
  out.set_message_bytes(matrix.message_bytes);
  out.set_larger_is_better(matrix.larger_is_better);
  out.set_rail(matrix.rail);
  out.set_memory(memory_of_row(matrix.endpoints.front()));
  for (const std::string& name : wide.names()) out.add_nodes(name);
  for (const std::string& leaf : wide.leaves()) out.add_leaves(leaf);
  if (medians[0] > 0) out.set_expected_within_leaf(medians[0]);
  if (medians[1] > 0) out.set_expected_across_leaves(medians[1]);
  out.set_step(kOverviewStep);
  fill_cells(wide, medians, out);
  matrix.overview = out.SerializeAsString();
}

Result<api::MatrixOverview> read_overview(store::Store& store, const api::PairsRequest& request) {
  if (!request.node_set().empty() || request.runs() > 0)
    return fail(Code::kInvalidArgument, "an overview is of one run with all its nodes");
  const store::ExportScope scope = RG_TRY(store.export_scope(request.run_id()));
  const std::vector<store::PairMatrixRow> heads = RG_TRY(store.pair_matrices(scope.run_id));
  std::vector<const store::PairMatrixRow*> chosen;
  for (const store::PairMatrixRow& head : heads)
    if (fits(head, request)) chosen.push_back(&head);
  std::ranges::stable_sort(chosen, [](const auto* a, const auto* b) {
    return std::tuple(a->larger_is_better, a->message_bytes, b->rail) >
           std::tuple(b->larger_is_better, b->message_bytes, a->rail);
  });
  for (const store::PairMatrixRow* head : chosen) {
    auto overview = read_one(store, *head);
    if (!overview && overview.error().code == Code::kNotFound) continue;
    if (!overview) return overview;
    if (!request.memory().empty() && overview->memory() != request.memory()) continue;
    name_others(heads, *head, *overview);
    overview->set_synthetic(RG_TRY(store.read(store::is_pair_synthetic,
                                              {.run_id = scope.run_id,
                                               .kernel = head->kernel,
                                               .metric = head->metric,
                                               .message_bytes = head->message_bytes},
                                              scope.range)));
    return overview;
  }
  return fail(Code::kNotFound,
              fmt::format("run {}: no pair matrix with an overview is stored", scope.run_id));
}

Result<api::MatrixBlock> read_block(store::Store& store, const api::MatrixBlockRequest& request) {
  const std::size_t figures =
      static_cast<std::size_t>(request.rows()) * static_cast<std::size_t>(request.columns());
  if (figures > kMostBlockFigures)
    return fail(Code::kInvalidArgument,
                fmt::format("{} figures are asked for; a block has {} at most: ask for fewer rows "
                            "and columns",
                            figures, kMostBlockFigures));
  const store::PairMatrixKey key{.run_id = request.run_id(),
                                 .rail = request.rail(),
                                 .metric = request.metric(),
                                 .message_bytes = request.message_bytes(),
                                 .kernel = request.kernel(),
                                 .meaning = request.meaning()};
  const store::MatrixBlock block{.row = request.row(),
                                 .rows = request.rows(),
                                 .column = request.column(),
                                 .columns = request.columns()};
  std::vector<float> values = RG_TRY(store.read(store::read_matrix_block, key, block));
  for (float& value : values) value = value > 0 ? value : 0;
  api::MatrixBlock out;
  out.mutable_values()->Add(values.begin(), values.end());
  return out;
}

}  // namespace railgauge
