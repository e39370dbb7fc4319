#include "controller/console/views/pair_grid.h"

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
constexpr std::string_view kWithinLeaf = "within_leaf";
constexpr std::string_view kAcrossLeaves = "across_leaves";
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

// Names as numbers: a large matrix has millions of pairs to compare.
class Numbers {
 public:
  int of(std::string_view name) {
    return numbers_.try_emplace(name, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string_view, int> numbers_;
};

std::vector<int> leaf_numbers(const api::PairMatrix& matrix) {
  Numbers numbers;
  std::vector<int> leaves;
  for (int node = 0; node < matrix.nodes_size(); ++node)
    leaves.push_back(numbers.of(leaf_of(matrix, node)));
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

// The age in days of a figure of a matrix of several runs, before the newest of them.
float age_of(const api::PairMatrix& matrix, int at) {
  if (at >= matrix.run_of_size()) return kNone;
  const auto run = static_cast<int>(matrix.run_of(at));
  return run < matrix.runs_size() ? static_cast<float>(matrix.runs(run).age_days()) : kNone;
}

// Returns the older one of two ages. NaN: an age that is not known; the other one counts.
float older(float a, float b) {
  if (std::isnan(a)) return b;
  return std::isnan(b) ? a : std::max(a, b);
}

Status check_matrices(const api::PairMatrix& matrix, const std::string& order,
                      const api::PairMatrix* against) {
  if (!is_order(order))
    return fail(Code::kInvalidArgument,
                fmt::format("order {}: {} is needed", in_quotes(order), kOrderWords));
  const auto n = static_cast<std::size_t>(matrix.nodes_size());
  if (n * n > kMostPairs)
    return fail(Code::kInvalidArgument,
                fmt::format("run {}: {} pairs are more than the {} that the console shows in this "
                            "order and beside another run; node_set chooses nodes",
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
                                const api::PairMatrix* against, const std::string& hop,
                                const NodePlaces& places) {
  const std::string chosen = order.empty() ? "fabric" : order;
  RG_TRY_OK(check_matrices(matrix, chosen, against));
  if (!hop.empty() && hop != kWithinLeaf && hop != kAcrossLeaves)
    return fail(Code::kInvalidArgument, fmt::format("hop {}: {} or {} is needed", in_quotes(hop),
                                                    kWithinLeaf, kAcrossLeaves));
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
  for (const api::MatrixRun& run : matrix.runs()) *frame.add_runs() = run;
  const std::vector<int> leaves = leaf_numbers(matrix);
  if (against != nullptr) {
    grid.arrange(matrix, expected_by_run(matrix, *against), leaves, hop, places);
  } else {
    const std::array<float, 2> medians = class_medians(matrix, leaves);
    if (medians[0] > 0) frame.set_expected_within_leaf(medians[0]);
    if (medians[1] > 0) frame.set_expected_across_leaves(medians[1]);
    grid.arrange(matrix, expected_by_class(leaves, medians), leaves, hop, places);
  }
  grid.measure_scatter();
  grid.coarsen();
  grid.list_steps();
  return grid;
}

PairGrid PairGrid::of_overview(const api::MatrixOverview& overview) {
  PairGrid grid;
  api::MatrixFrame& frame = grid.frame_;
  frame.set_schema_version(kSchemaVersion);
  frame.set_run_id(overview.run_id());
  frame.set_kernel(overview.kernel());
  frame.set_metric(overview.metric());
  frame.set_meaning(overview.meaning());
  frame.set_unit(overview.unit());
  frame.set_message_bytes(overview.message_bytes());
  frame.set_larger_is_better(overview.larger_is_better());
  frame.set_rail(overview.rail());
  frame.set_memory(overview.memory());
  frame.set_synthetic(overview.synthetic());
  frame.set_order("fabric");
  *frame.mutable_nodes() = overview.nodes();
  *frame.mutable_leaves() = overview.leaves();
  *frame.mutable_sent_of_expected() = overview.sent_of_expected();
  *frame.mutable_received_of_expected() = overview.received_of_expected();
  *frame.mutable_other_layers() = overview.other_layers();
  *frame.mutable_other_series() = overview.other_series();
  frame.set_most_cells(kMostTileCells);
  const double nodes = overview.nodes_size();
  frame.set_measured_pairs(overview.measured_pairs());
  frame.set_untested_pairs(nodes * (nodes - 1) - overview.measured_pairs());
  if (overview.has_expected_within_leaf())
    frame.set_expected_within_leaf(overview.expected_within_leaf());
  if (overview.has_expected_across_leaves())
    frame.set_expected_across_leaves(overview.expected_across_leaves());
  if (overview.has_scatter_share()) frame.set_scatter_share(overview.scatter_share());
  Numbers numbers;
  for (const std::string& leaf : overview.leaves()) grid.leaf_of_.push_back(numbers.of(leaf));
  const std::uint32_t step = overview.step();
  grid.levels_.push_back(
      {.step = step,
       .side = (static_cast<std::size_t>(overview.nodes_size()) + step - 1) / step,
       .values = {overview.values().begin(), overview.values().end()},
       .shares = {overview.of_expected().begin(), overview.of_expected().end()},
       .untested = {overview.untested().begin(), overview.untested().end()}});
  grid.coarsen();
  grid.list_steps();
  return grid;
}

// The rows in the order of the frame; those that are equal in it by name. The ends of a slow pair
// have one worst share: the end whose other pairs are slow, too, comes first.
std::vector<int> PairGrid::order_rows(const api::PairMatrix& matrix,
                                      const std::vector<RowShares>& shares,
                                      const NodePlaces& places) const {
  std::vector<std::vector<std::string>> keys;
  for (int node = 0; node < matrix.nodes_size(); ++node) {
    keys.emplace_back();
    if (is_by_place(frame_.order()))
      keys.back() = place_keys(frame_.order(), place_of_row(places, matrix.nodes(node)),
                               leaf_of(matrix, node));
    else if (frame_.order() == "fabric")
      keys.back() = {leaf_of(matrix, node)};
    keys.back().push_back(matrix.nodes(node));
  }
  std::vector<int> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](int a, int b) {
    const auto row_a = static_cast<std::size_t>(a);
    const auto row_b = static_cast<std::size_t>(b);
    for (const auto share : {&RowShares::worst_share, &RowShares::mean_share}) {
      const float share_a = (shares[row_a].*share)();
      const float share_b = (shares[row_b].*share)();
      if (is_worse(share_a, share_b)) return true;
      if (is_worse(share_b, share_a)) return false;
    }
    return keys[row_a] < keys[row_b];
  });
  return order;
}

// Places the pairs in the order of the nodes.
void PairGrid::arrange(const api::PairMatrix& matrix, const std::vector<float>& expected,
                       const std::vector<int>& leaves, const std::string& hop,
                       const NodePlaces& places) {
  const int n = matrix.nodes_size();
  const auto count = static_cast<std::size_t>(n);
  const auto is_of_class = [&](int from, int to) {
    const bool is_within =
        leaves[static_cast<std::size_t>(from)] == leaves[static_cast<std::size_t>(to)];
    return from != to && (hop.empty() || is_within == (hop == kWithinLeaf));
  };
  const auto share_of = [&](int from, int to) {
    const auto at = cell_of(n, from, to);
    const float value = matrix.values(static_cast<int>(at));
    return is_of_class(from, to) && value > 0 && expected[at] > 0 ? value / expected[at] : kNone;
  };
  std::vector<RowShares> shares(count);
  if (frame_.order() == "worst")
    for (int from = 0; from < n; ++from)
      for (int to = 0; to < n; ++to) {
        const float share = share_of(from, to);
        if (std::isnan(share)) continue;
        for (const int node : {from, to}) {
          RowShares& row = shares[static_cast<std::size_t>(node)];
          if (is_worse(share, row.worst)) row.worst = share;
          row.sum += share;
          row.pairs += 1;
        }
      }
  const std::vector<int> order = order_rows(matrix, shares, places);
  Level level{.step = 1, .side = count};
  level.values.resize(count * count);
  level.shares.resize(count * count);
  level.untested.resize(count * count);
  if (matrix.runs_size() > 0) level.ages.resize(count * count, kNone);
  double measured = 0;
  double untested = 0;
  for (std::size_t row = 0; row < count; ++row) {
    frame_.add_nodes(matrix.nodes(order[row]));
    frame_.add_leaves(leaf_of(matrix, order[row]));
    if (is_by_place(frame_.order())) {
      const NodePlace place = place_of_row(places, matrix.nodes(order[row]));
      frame_.add_pods(place.pod);
      frame_.add_slots(place.slot);
    }
    for (std::size_t column = 0; column < count; ++column) {
      const std::size_t at = row * count + column;
      const float value = matrix.values(order[row] * n + order[column]);
      const bool is_pair = is_of_class(order[row], order[column]);
      const bool is_measured = is_pair && value > 0;
      level.values[at] = is_measured ? value : kNone;
      level.shares[at] = share_of(order[row], order[column]);
      level.untested[at] = is_pair && !is_measured ? 1 : 0;
      if (is_measured && !level.ages.empty())
        level.ages[at] = age_of(matrix, order[row] * n + order[column]);
      measured += is_measured ? 1 : 0;
      untested += level.untested[at];
    }
  }
  frame_.set_measured_pairs(measured);
  frame_.set_untested_pairs(untested);
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
    if (!fine.ages.empty()) coarse.ages.assign(coarse.side * coarse.side, kNone);
    for (std::size_t row = 0; row < fine.side; ++row)
      for (std::size_t column = 0; column < fine.side; ++column) {
        const std::size_t from = row * fine.side + column;
        const std::size_t to = row / 2 * coarse.side + column / 2;
        coarse.untested[to] += fine.untested[from];
        if (!fine.ages.empty()) coarse.ages[to] = older(coarse.ages[to], fine.ages[from]);
        const bool is_first = std::isnan(coarse.shares[to]) && std::isnan(coarse.values[to]);
        if (!is_worse(fine.shares[from], coarse.shares[to]) && !is_first) continue;
        coarse.shares[to] = fine.shares[from];
        coarse.values[to] = fine.values[from];
      }
    levels_.push_back(std::move(coarse));
  }
}

// Cells that are finer than the first copy are made when they are asked for.
void PairGrid::list_steps() {
  for (std::uint32_t step = 1; step < levels_.front().step; step *= 2) frame_.add_steps(step);
  for (const Level& level : levels_) frame_.add_steps(level.step);
}

// The robust standard deviation of the shares, evenly taken from all.
void PairGrid::measure_scatter() {
  constexpr std::size_t kMostShares = 1'000'000;
  constexpr double kDeviationsOfMad = 1.4826;  // of a normal distribution
  const std::vector<float>& all = levels_.front().shares;
  const std::size_t every = std::max<std::size_t>(all.size() / kMostShares, 1);
  std::vector<float> shares;
  for (std::size_t at = 0; at < all.size(); at += every)
    if (!std::isnan(all[at])) shares.push_back(all[at]);
  if (shares.empty()) return;
  const float middle = upper_median(shares);
  for (float& share : shares) share = std::abs(share - middle);
  frame_.set_scatter_share(kDeviationsOfMad * upper_median(std::move(shares)));
}

api::MatrixFrame PairGrid::frame() const { return frame_; }

Result<PairGrid::Cells> PairGrid::cells_of(const api::MatrixTileRequest& request) const {
  const std::uint32_t step = std::max(1U, request.step());
  if (std::ranges::find(frame_.steps(), step) == frame_.steps().end())
    return fail(Code::kInvalidArgument, fmt::format("step {}: a power of two up to {} is needed",
                                                    step, levels_.back().step));
  const std::size_t side = (static_cast<std::size_t>(frame_.nodes_size()) + step - 1) / step;
  const auto count = [&](std::uint32_t first, std::uint32_t asked) -> std::size_t {
    const std::size_t left = first < side ? side - first : 0;
    return asked == 0 ? left : std::min<std::size_t>(asked, left);
  };
  const Cells cells{.step = step,
                    .row = request.row(),
                    .rows = count(request.row(), request.rows()),
                    .column = request.column(),
                    .columns = count(request.column(), request.columns())};
  if (cells.rows * cells.columns > kMostTileCells)
    return fail(Code::kInvalidArgument,
                fmt::format("{} cells are asked for; a tile has {} at most: ask for fewer rows and "
                            "columns, or a larger step",
                            cells.rows * cells.columns, kMostTileCells));
  return cells;
}

api::MatrixTile PairGrid::tile_of(const Cells& cells) {
  api::MatrixTile tile;
  tile.set_schema_version(kSchemaVersion);
  tile.set_step(cells.step);
  tile.set_row(static_cast<std::uint32_t>(cells.row));
  tile.set_column(static_cast<std::uint32_t>(cells.column));
  tile.set_rows(static_cast<std::uint32_t>(cells.rows));
  tile.set_columns(static_cast<std::uint32_t>(cells.columns));
  return tile;
}

Result<api::MatrixTile> PairGrid::tile(const api::MatrixTileRequest& request) const {
  const Cells cells = RG_TRY(cells_of(request));
  api::MatrixTile tile = tile_of(cells);
  const auto level = std::ranges::find(levels_, cells.step, &Level::step);
  if (level == levels_.end())
    return fail(Code::kInternal, fmt::format("step {}: it needs figures", cells.step));
  for (std::size_t row = 0; row < cells.rows; ++row)
    for (std::size_t column = 0; column < cells.columns; ++column) {
      const std::size_t at = (cells.row + row) * level->side + cells.column + column;
      tile.add_values(level->values[at]);
      tile.add_of_expected(level->shares[at]);
      tile.add_untested(level->untested[at]);
      if (!level->ages.empty()) tile.add_age_days(level->ages[at]);
    }
  return tile;
}

Result<std::optional<api::MatrixBlockRequest>> PairGrid::block_for(
    const api::MatrixTileRequest& request) const {
  const Cells cells = RG_TRY(cells_of(request));
  if (cells.step >= levels_.front().step) return std::nullopt;
  const auto nodes = static_cast<std::size_t>(frame_.nodes_size());
  const auto end = [&](std::size_t first, std::size_t count) {
    return std::min((first + count) * cells.step, nodes);
  };
  api::MatrixBlockRequest block;
  block.set_run_id(frame_.run_id());
  block.set_kernel(frame_.kernel());
  block.set_metric(frame_.metric());
  block.set_meaning(frame_.meaning());
  block.set_message_bytes(frame_.message_bytes());
  block.set_rail(frame_.rail());
  if (cells.rows == 0 || cells.columns == 0) return block;
  const std::size_t row = cells.row * cells.step;
  const std::size_t column = cells.column * cells.step;
  block.set_row(static_cast<std::uint32_t>(row));
  block.set_rows(static_cast<std::uint32_t>(end(cells.row, cells.rows) - row));
  block.set_column(static_cast<std::uint32_t>(column));
  block.set_columns(static_cast<std::uint32_t>(end(cells.column, cells.columns) - column));
  return block;
}

float PairGrid::share_in_class(std::size_t from, std::size_t to, float value) const {
  const double expected = leaf_of_[from] == leaf_of_[to] ? frame_.expected_within_leaf()
                                                         : frame_.expected_across_leaves();
  return expected > 0 ? static_cast<float>(value / expected) : kNone;
}

Result<api::MatrixTile> PairGrid::fine_tile(const api::MatrixTileRequest& request,
                                            const api::MatrixBlock& block) const {
  const Cells cells = RG_TRY(cells_of(request));
  const auto wanted = RG_TRY(block_for(request));
  api::MatrixTile tile = tile_of(cells);
  if (!wanted || static_cast<std::size_t>(block.values_size()) !=
                     static_cast<std::size_t>(wanted->rows()) * wanted->columns())
    return fail(Code::kDataLoss,
                fmt::format("run {}: figures of the matrix do not fit the tile", frame_.run_id()));
  const std::size_t count = cells.rows * cells.columns;
  tile.mutable_values()->Resize(static_cast<int>(count), kNone);
  tile.mutable_of_expected()->Resize(static_cast<int>(count), kNone);
  tile.mutable_untested()->Resize(static_cast<int>(count), 0);
  const float* value = block.values().data();
  for (std::size_t i = 0; i < wanted->rows(); ++i)
    for (std::size_t j = 0; j < wanted->columns(); ++j, ++value) {
      const auto at = static_cast<int>(i / cells.step * cells.columns + j / cells.step);
      const std::size_t from = wanted->row() + i;
      const std::size_t to = wanted->column() + j;
      if (!(*value > 0)) {
        if (from != to) tile.set_untested(at, tile.untested(at) + 1);
        continue;
      }
      const float share = share_in_class(from, to, *value);
      const bool is_first = std::isnan(tile.of_expected(at)) && std::isnan(tile.values(at));
      if (!is_worse(share, tile.of_expected(at)) && !is_first) continue;
      tile.set_of_expected(at, share);
      tile.set_values(at, *value);
    }
  return tile;
}

}  // namespace railgauge::console
