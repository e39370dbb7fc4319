#include "controller/console/pair_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "controller/api/contract.h"
#include "kernels/core/stats/quantile.h"
#include "kernels/core/text/text.h"

namespace railgauge::console {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
// The coarsest copy has no more cells than this a side.
constexpr std::size_t kCoarsest = 64;

const std::string& leaf_of(const api::PairMatrix& matrix, int node) {
  static const std::string kUnknown;
  return node < matrix.leaves_size() ? matrix.leaves(node) : kUnknown;
}

// The index of a pair in a matrix of n x n, from-major.
std::size_t cell_of(int n, int from, int to) {
  return static_cast<std::size_t>(from) * static_cast<std::size_t>(n) +
         static_cast<std::size_t>(to);
}

// The leaves of the nodes as numbers: a large matrix has millions of pairs to compare.
std::vector<int> leaf_numbers(const api::PairMatrix& matrix) {
  std::map<std::string_view, int> numbers;
  std::vector<int> leaves;
  for (int node = 0; node < matrix.nodes_size(); ++node)
    leaves.push_back(
        numbers.try_emplace(leaf_of(matrix, node), static_cast<int>(numbers.size())).first->second);
  return leaves;
}

// The medians of the pairs within a leaf and across leaves; 0: none was measured.
std::array<float, 2> class_medians(const api::PairMatrix& matrix, const std::vector<int>& leaves) {
  std::array<std::vector<float>, 2> classes;
  const int n = matrix.nodes_size();
  const float* value = matrix.values().data();
  for (int from = 0; from < n; ++from) {
    const int leaf = leaves[static_cast<std::size_t>(from)];
    for (int to = 0; to < n; ++to, ++value)
      if (from != to && *value > 0)
        classes[leaf == leaves[static_cast<std::size_t>(to)] ? 0 : 1].push_back(*value);
  }
  return {upper_median(std::move(classes[0])), upper_median(std::move(classes[1]))};
}

// The expected figure of each pair, from-major as the matrix has them; 0: nothing is.
std::vector<float> expected_by_class(const std::vector<int>& leaves,
                                     const std::array<float, 2>& medians) {
  std::vector<float> expected;
  expected.reserve(leaves.size() * leaves.size());
  for (const int from : leaves)
    for (const int to : leaves) expected.push_back(medians[from == to ? 0 : 1]);
  return expected;
}

// The figures of `other` for the pairs of `matrix`, by the names of the nodes.
std::vector<float> expected_by_run(const api::PairMatrix& matrix, const api::PairMatrix& other) {
  std::map<std::string, int> places;
  for (int i = 0; i < other.nodes_size(); ++i) places[other.nodes(i)] = i;
  const int n = matrix.nodes_size();
  std::vector<int> place_of(static_cast<std::size_t>(n), -1);
  for (int i = 0; i < n; ++i)
    if (const auto found = places.find(matrix.nodes(i)); found != places.end())
      place_of[static_cast<std::size_t>(i)] = found->second;
  std::vector<float> expected(static_cast<std::size_t>(matrix.values_size()));
  for (int from = 0; from < n; ++from)
    for (int to = 0; to < n; ++to) {
      const int row = place_of[static_cast<std::size_t>(from)];
      const int column = place_of[static_cast<std::size_t>(to)];
      if (row >= 0 && column >= 0)
        expected[cell_of(n, from, to)] = other.values(row * other.nodes_size() + column);
    }
  return expected;
}

bool is_whole(const api::PairMatrix& matrix) {
  const auto n = static_cast<std::size_t>(matrix.nodes_size());
  return static_cast<std::size_t>(matrix.values_size()) == n * n;
}

Status check_matrices(const api::PairMatrix& matrix, const std::string& order,
                      const api::PairMatrix* against) {
  if (order != "fabric" && order != "name" && order != "worst")
    return fail(Code::kInvalidArgument,
                fmt::format("order {}: fabric, name or worst is needed", in_quotes(order)));
  const auto n = static_cast<std::size_t>(matrix.nodes_size());
  if (n * n > kMostPairs)
    return fail(Code::kInvalidArgument,
                fmt::format("run {}: {} pairs are more than the {} that the console shows; "
                            "node_set chooses nodes",
                            matrix.run_id(), n * n, kMostPairs));
  if (!is_whole(matrix) || (against != nullptr && !is_whole(*against)))
    return fail(Code::kDataLoss,
                fmt::format("run {}: the matrix does not fit its nodes", matrix.run_id()));
  if (against != nullptr &&
      (against->kernel() != matrix.kernel() || against->metric() != matrix.metric() ||
       against->meaning() != matrix.meaning() ||
       against->message_bytes() != matrix.message_bytes()))
    return fail(Code::kInvalidArgument, fmt::format("against {}: it has other figures than run {}",
                                                    against->run_id(), matrix.run_id()));
  return {};
}

}  // namespace

bool PairGrid::is_worse(float share, float than) const {
  if (std::isnan(share)) return false;
  if (std::isnan(than)) return true;
  return frame_.larger_is_better() ? share < than : share > than;
}

Result<PairGrid> PairGrid::make(const api::PairMatrix& matrix, const std::string& order,
                                const api::PairMatrix* against) {
  const std::string chosen = order.empty() ? "fabric" : order;
  RG_TRY_OK(check_matrices(matrix, chosen, against));
  PairGrid grid;
  api::MatrixFrame& frame = grid.frame_;
  frame.set_schema_version(kSchemaVersion);
  frame.set_run_id(matrix.run_id());
  if (against != nullptr) frame.set_against(against->run_id());
  frame.set_kernel(matrix.kernel());
  frame.set_metric(matrix.metric());
  frame.set_meaning(matrix.meaning());
  frame.set_unit(matrix.unit());
  frame.set_message_bytes(matrix.message_bytes());
  frame.set_larger_is_better(matrix.larger_is_better());
  frame.set_rail(matrix.rail());
  frame.set_memory(matrix.memory());
  frame.set_synthetic(matrix.synthetic());
  frame.set_order(chosen);
  *frame.mutable_other_layers() = matrix.other_layers();
  *frame.mutable_other_series() = matrix.other_series();
  frame.set_most_cells(kMostTileCells);
  if (against != nullptr) {
    grid.arrange(matrix, expected_by_run(matrix, *against));
  } else {
    const std::vector<int> leaves = leaf_numbers(matrix);
    const std::array<float, 2> medians = class_medians(matrix, leaves);
    if (medians[0] > 0) frame.set_expected_within_leaf(medians[0]);
    if (medians[1] > 0) frame.set_expected_across_leaves(medians[1]);
    grid.arrange(matrix, expected_by_class(leaves, medians));
  }
  grid.coarsen();
  return grid;
}

// Places the pairs in the order of the nodes.
void PairGrid::arrange(const api::PairMatrix& matrix, const std::vector<float>& expected) {
  const int n = matrix.nodes_size();
  const auto count = static_cast<std::size_t>(n);
  const auto share_of = [&](int from, int to) {
    const auto at = cell_of(n, from, to);
    const float value = matrix.values(static_cast<int>(at));
    return from != to && value > 0 && expected[at] > 0 ? value / expected[at] : kNone;
  };
  std::vector<float> worst(count, kNone);
  if (frame_.order() == "worst")
    for (int from = 0; from < n; ++from)
      for (int to = 0; to < n; ++to)
        for (const int node : {from, to})
          if (float& least = worst[static_cast<std::size_t>(node)];
              is_worse(share_of(from, to), least))
            least = share_of(from, to);
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int a, int b) {
    const float share_a = worst[static_cast<std::size_t>(a)];
    const float share_b = worst[static_cast<std::size_t>(b)];
    if (is_worse(share_a, share_b)) return true;
    if (is_worse(share_b, share_a)) return false;
    if (frame_.order() == "fabric" && leaf_of(matrix, a) != leaf_of(matrix, b))
      return leaf_of(matrix, a) < leaf_of(matrix, b);
    return matrix.nodes(a) < matrix.nodes(b);
  });
  Level level{.step = 1, .side = count};
  level.values.resize(count * count);
  level.shares.resize(count * count);
  level.untested.resize(count * count);
  double measured = 0;
  for (std::size_t row = 0; row < count; ++row) {
    frame_.add_nodes(matrix.nodes(order[row]));
    frame_.add_leaves(leaf_of(matrix, order[row]));
    for (std::size_t column = 0; column < count; ++column) {
      const std::size_t at = row * count + column;
      const float value = matrix.values(order[row] * n + order[column]);
      const bool is_measured = row != column && value > 0;
      level.values[at] = is_measured ? value : kNone;
      level.shares[at] = share_of(order[row], order[column]);
      level.untested[at] = row != column && !is_measured ? 1 : 0;
      measured += is_measured ? 1 : 0;
    }
  }
  frame_.set_measured_pairs(measured);
  frame_.set_untested_pairs(static_cast<double>(count) * (static_cast<double>(count) - 1) -
                            measured);
  levels_.push_back(std::move(level));
  describe_nodes();
}

void PairGrid::describe_nodes() {
  const Level& level = levels_.front();
  std::vector<float> received(level.side, kNone);
  for (std::size_t row = 0; row < level.side; ++row) {
    float sent = kNone;
    for (std::size_t column = 0; column < level.side; ++column) {
      const float share = level.shares[row * level.side + column];
      if (is_worse(share, sent)) sent = share;
      if (is_worse(share, received[column])) received[column] = share;
    }
    frame_.add_sent_of_expected(sent);
  }
  for (const float share : received) frame_.add_received_of_expected(share);
}

// A cell of a copy is the worst of four cells of the copy before. A measured pair of which nothing
// is expected counts only where no other was measured.
void PairGrid::coarsen() {
  while (levels_.back().side > kCoarsest) {
    const Level& fine = levels_.back();
    Level coarse{.step = fine.step * 2, .side = (fine.side + 1) / 2};
    coarse.values.assign(coarse.side * coarse.side, kNone);
    coarse.shares.assign(coarse.side * coarse.side, kNone);
    coarse.untested.assign(coarse.side * coarse.side, 0);
    for (std::size_t row = 0; row < fine.side; ++row)
      for (std::size_t column = 0; column < fine.side; ++column) {
        const std::size_t from = row * fine.side + column;
        const std::size_t to = row / 2 * coarse.side + column / 2;
        coarse.untested[to] += fine.untested[from];
        const bool is_first = std::isnan(coarse.shares[to]) && std::isnan(coarse.values[to]);
        if (!is_worse(fine.shares[from], coarse.shares[to]) && !is_first) continue;
        coarse.shares[to] = fine.shares[from];
        coarse.values[to] = fine.values[from];
      }
    levels_.push_back(std::move(coarse));
  }
  for (const Level& level : levels_) frame_.add_steps(level.step);
}

api::MatrixFrame PairGrid::frame() const { return frame_; }

Result<api::MatrixTile> PairGrid::tile(const api::MatrixTileRequest& request) const {
  const std::uint32_t step = std::max(1U, request.step());
  const auto level = std::ranges::find(levels_, step, &Level::step);
  if (level == levels_.end())
    return fail(Code::kInvalidArgument, fmt::format("step {}: a power of two up to {} is needed",
                                                    step, levels_.back().step));
  const auto count = [&](std::uint32_t first, std::uint32_t asked) -> std::size_t {
    const std::size_t left = first < level->side ? level->side - first : 0;
    return asked == 0 ? left : std::min<std::size_t>(asked, left);
  };
  const std::size_t rows = count(request.row(), request.rows());
  const std::size_t columns = count(request.column(), request.columns());
  if (rows * columns > kMostTileCells)
    return fail(Code::kInvalidArgument,
                fmt::format("{} cells are asked for; a tile has {} at most: ask for fewer rows and "
                            "columns, or a larger step",
                            rows * columns, kMostTileCells));
  api::MatrixTile tile;
  tile.set_schema_version(kSchemaVersion);
  tile.set_step(step);
  tile.set_row(request.row());
  tile.set_column(request.column());
  tile.set_rows(static_cast<std::uint32_t>(rows));
  tile.set_columns(static_cast<std::uint32_t>(columns));
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t at = (request.row() + row) * level->side + request.column() + column;
      tile.add_values(level->values[at]);
      tile.add_of_expected(level->shares[at]);
      tile.add_untested(level->untested[at]);
    }
  return tile;
}

}  // namespace railgauge::console
