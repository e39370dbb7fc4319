#include "controller/console/views/pair_grid.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::console {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// `nodes` nodes on leaves of four; pairs within a leaf have 100, the others 80. Names are in the
// reverse of the leaves' order.
api::PairMatrix fabric(int nodes) {
  api::PairMatrix matrix;
  matrix.set_run_id("r1");
  matrix.set_kernel("verbs.write_bw");
  matrix.set_larger_is_better(true);
  for (int i = 0; i < nodes; ++i) {
    matrix.add_nodes(fmt::format("n{:04}", nodes - i));
    matrix.add_leaves(fmt::format("L{:03}", i / 4));
  }
  for (int from = 0; from < nodes; ++from)
    for (int to = 0; to < nodes; ++to)
      matrix.add_values(from == to ? 0 : from / 4 == to / 4 ? 100 : 80);
  return matrix;
}

int place_of(const api::MatrixFrame& frame, const std::string& name) {
  for (int i = 0; i < frame.nodes_size(); ++i)
    if (frame.nodes(i) == name) return i;
  return -1;
}

TEST(PairGrid, ExpectsTheMedianOfItsClass) {
  const auto grid = PairGrid::make(fabric(8), "", nullptr);
  ASSERT_TRUE(grid) << grid.error().message;
  const api::MatrixFrame frame = grid->frame();
  EXPECT_EQ(frame.expected_within_leaf(), 100);
  EXPECT_EQ(frame.expected_across_leaves(), 80);
  EXPECT_EQ(frame.measured_pairs(), 56);
  EXPECT_EQ(frame.untested_pairs(), 0);
  const auto tile = grid->tile({});
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->rows(), 8U);
  EXPECT_TRUE(std::isnan(tile->values(0))) << "a node with itself";
  EXPECT_EQ(tile->of_expected(1), 1);
}

TEST(PairGrid, OrdersAreByLeafByNameAndWorstFirst) {
  api::PairMatrix matrix = fabric(8);
  matrix.set_values(5 * 8 + 2, 20);  // n0003 sends to n0006
  const auto names = [&](const std::string& order) {
    const api::MatrixFrame frame = PairGrid::make(matrix, order, nullptr)->frame();
    return std::vector<std::string>(frame.nodes().begin(), frame.nodes().end());
  };
  EXPECT_THAT(names("fabric"),
              ElementsAre("n0005", "n0006", "n0007", "n0008", "n0001", "n0002", "n0003", "n0004"));
  EXPECT_EQ(names("name").front(), "n0001");
  EXPECT_THAT(names("worst"),
              ElementsAre("n0003", "n0006", "n0001", "n0002", "n0004", "n0005", "n0007", "n0008"));
  const auto refused = PairGrid::make(matrix, "colour", nullptr);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("fabric, pod, slot, name or worst"));
}

// One port sends slowly: each of its pairs has it and a partner that is as expected.
TEST(PairGrid, TheWorstFirstIsTheNodeWhoseOtherPairsAreSlowToo) {
  api::PairMatrix matrix = fabric(8);
  for (const int to : {6, 7, 0}) matrix.set_values(1 * 8 + to, to == 6 ? 20 : 21);
  const api::MatrixFrame frame = PairGrid::make(matrix, "worst", nullptr)->frame();
  ASSERT_LT(matrix.nodes(6), matrix.nodes(1)) << "the partner's name is the first";
  EXPECT_EQ(frame.nodes(0), matrix.nodes(1));
}

// Two pods of two leaves of two nodes each; n0001 has no labels.
TEST(PairGrid, OrdersByPodAndSlotFollowTheLabels) {
  api::PairMatrix matrix = fabric(8);
  NodePlaces places;
  for (int i = 0; i < 7; ++i) {
    matrix.set_leaves(i, fmt::format("L{}", i / 2));
    places[matrix.nodes(i)] = {.pod = i / 4 == 0 ? "P10" : "P9", .slot = i % 2 == 0 ? "s10" : "s2"};
  }
  const auto frame = [&](const std::string& order) {
    return PairGrid::make(matrix, order, nullptr, "", places)->frame();
  };
  const api::MatrixFrame by_pod = frame("pod");
  EXPECT_THAT(by_pod.nodes(),
              ElementsAre("n0003", "n0004", "n0002", "n0007", "n0008", "n0005", "n0006", "n0001"));
  EXPECT_THAT(by_pod.pods(), ElementsAre("P9", "P9", "P9", "P10", "P10", "P10", "P10", ""));
  EXPECT_THAT(by_pod.slots(), ElementsAre("s2", "s10", "s10", "s2", "s10", "s2", "s10", ""));
  const api::MatrixFrame by_slot = frame("slot");
  EXPECT_THAT(by_slot.nodes(),
              ElementsAre("n0003", "n0007", "n0005", "n0004", "n0002", "n0008", "n0006", "n0001"));
  EXPECT_THAT(frame("fabric").pods(), ElementsAre()) << "nobody asked for them";
}

// Rows of a matrix between GPUs are named by host and GPU.
TEST(PairGrid, AGpuHasThePlaceOfItsHost) {
  EXPECT_EQ(place_of_row({{"n1", {.pod = "P1", .slot = "4"}}}, "n1 gpu3").slot, "4");
  EXPECT_EQ(place_of_row({{"n1", {.pod = "P1", .slot = "4"}}}, "n2 gpu3").slot, "");
}

// At every scale and for each place of the fault.
TEST(PairGrid, NoScaleHidesASlowPair) {
  constexpr int kNodes = 301;
  for (const auto& [from, to] :
       {std::pair(0, 300), std::pair(300, 0), std::pair(17, 18), std::pair(150, 299)}) {
    api::PairMatrix matrix = fabric(kNodes);
    matrix.set_values(from * kNodes + to, 40);
    const auto grid = PairGrid::make(matrix, "fabric", nullptr);
    ASSERT_TRUE(grid);
    const api::MatrixFrame frame = grid->frame();
    ASSERT_GT(frame.steps_size(), 2);
    const auto row = static_cast<std::uint32_t>(place_of(frame, matrix.nodes(from)));
    const auto column = static_cast<std::uint32_t>(place_of(frame, matrix.nodes(to)));
    for (const std::uint32_t step : frame.steps()) {
      api::MatrixTileRequest request;
      request.set_step(step);
      const auto tile = grid->tile(request);
      ASSERT_TRUE(tile) << tile.error().message;
      const auto at = static_cast<int>(row / step * tile->columns() + column / step);
      EXPECT_LE(tile->of_expected(at), 0.5F) << "step " << step;
      EXPECT_EQ(tile->values(at), 40) << "step " << step;
    }
    EXPECT_LE(frame.sent_of_expected(static_cast<int>(row)), 0.5F);
    EXPECT_LE(frame.received_of_expected(static_cast<int>(column)), 0.5F);
  }
}

TEST(PairGrid, WorseThanExpectedIsLargerForALatency) {
  api::PairMatrix matrix = fabric(100);
  matrix.set_larger_is_better(false);
  matrix.set_values(1, 500);
  matrix.set_values(2, 1);
  const auto grid = PairGrid::make(matrix, "fabric", nullptr);
  api::MatrixTileRequest request;
  request.set_step(2);
  const auto tile = grid->tile(request);
  ASSERT_TRUE(tile);
  EXPECT_EQ(*std::ranges::max_element(
                tile->values(),
                [](float a, float b) { return std::isnan(a) || (!std::isnan(b) && a < b); }),
            500);
}

TEST(PairGrid, UntestedPairsAreCountedAndNeverAFigure) {
  api::PairMatrix matrix = fabric(100);
  for (int to = 0; to < 100; ++to) matrix.set_values(7 * 100 + to, 0);
  const auto grid = PairGrid::make(matrix, "fabric", nullptr);
  const api::MatrixFrame frame = grid->frame();
  EXPECT_EQ(frame.untested_pairs(), 99);
  for (const std::uint32_t step : frame.steps()) {
    api::MatrixTileRequest request;
    request.set_step(step);
    const auto tile = grid->tile(request);
    std::uint32_t untested = 0;
    for (const std::uint32_t count : tile->untested()) untested += count;
    EXPECT_EQ(untested, 99U) << "step " << step;
  }
}

TEST(PairGrid, AnotherRunIsWhatIsExpected) {
  const api::PairMatrix before = fabric(8);
  api::PairMatrix after = fabric(8);
  after.set_values(1, 90);
  const auto grid = PairGrid::make(after, "name", &before);
  ASSERT_TRUE(grid) << grid.error().message;
  const api::MatrixFrame frame = grid->frame();
  EXPECT_FALSE(frame.has_expected_within_leaf());
  const int at = place_of(frame, after.nodes(0)) * 8 + place_of(frame, after.nodes(1));
  EXPECT_FLOAT_EQ(grid->tile({})->of_expected(at), 0.9F);
  api::PairMatrix other = before;
  other.set_metric("latency_ns");
  EXPECT_FALSE(PairGrid::make(after, "name", &other));
}

TEST(PairGrid, TooManyCellsAreRefusedWithTheLimit) {
  const auto grid = PairGrid::make(fabric(600), "fabric", nullptr);
  const auto refused = grid->tile({});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("360000 cells are asked for; a tile has 262144"));
  api::MatrixTileRequest request;
  request.set_row(590);
  request.set_column(4'000'000'000);
  EXPECT_EQ(grid->tile(request)->columns(), 0U);
  request.set_step(3);
  EXPECT_FALSE(grid->tile(request));
}

TEST(PairGrid, FiguresThatDoNotFitTheNodesAreRefused) {
  api::PairMatrix matrix = fabric(8);
  matrix.mutable_values()->RemoveLast();
  const auto grid = PairGrid::make(matrix, "", nullptr);
  ASSERT_FALSE(grid);
  EXPECT_EQ(grid.error().code, Code::kDataLoss);
}

// The overview of a matrix whose nodes are in the order of their leaves, and its blocks.
api::MatrixOverview overview_of(const api::PairMatrix& matrix, std::uint32_t step) {
  const auto whole = PairGrid::make(matrix, "fabric", nullptr);
  EXPECT_TRUE(whole);
  const api::MatrixFrame frame = whole->frame();
  api::MatrixTileRequest request;
  request.set_step(step);
  const auto coarse = whole->tile(request);
  EXPECT_TRUE(coarse);
  api::MatrixOverview overview;
  overview.set_run_id("r1");
  overview.set_larger_is_better(true);
  *overview.mutable_nodes() = frame.nodes();
  *overview.mutable_leaves() = frame.leaves();
  overview.set_expected_within_leaf(frame.expected_within_leaf());
  overview.set_expected_across_leaves(frame.expected_across_leaves());
  overview.set_measured_pairs(frame.measured_pairs());
  overview.set_step(step);
  *overview.mutable_values() = coarse->values();
  *overview.mutable_of_expected() = coarse->of_expected();
  *overview.mutable_untested() = coarse->untested();
  return overview;
}

api::MatrixBlock block_of(const PairGrid& whole, const api::MatrixBlockRequest& wanted) {
  api::MatrixTileRequest request;
  request.set_row(wanted.row());
  request.set_column(wanted.column());
  request.set_rows(wanted.rows());
  request.set_columns(wanted.columns());
  const auto tile = whole.tile(request);
  EXPECT_TRUE(tile) << tile.error().message;
  api::MatrixBlock block;
  for (const float value : tile->values()) block.add_values(std::isnan(value) ? 0 : value);
  return block;
}

bool is_same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Each cell of each step is that of the matrix which was read as a whole.
TEST(PairGrid, AnOverviewAndBlocksShowWhatTheWholeMatrixShows) {
  constexpr int kNodes = 301;
  api::PairMatrix matrix = fabric(kNodes);
  matrix.set_values(17 * kNodes + 140, 40);
  matrix.set_values(140 * kNodes + 17, 0);
  const auto whole = PairGrid::make(matrix, "fabric", nullptr);
  ASSERT_TRUE(whole);
  const PairGrid wide = PairGrid::of_overview(overview_of(matrix, 8));
  EXPECT_THAT(wide.frame().steps(), ElementsAre(1, 2, 4, 8));
  EXPECT_EQ(wide.frame().untested_pairs(), 1);
  for (const std::uint32_t step : {1U, 2U, 4U, 8U}) {
    api::MatrixTileRequest request;
    request.set_step(step);
    request.set_row(1);
    request.set_column(2);
    const auto wanted = wide.block_for(request);
    ASSERT_TRUE(wanted) << wanted.error().message;
    EXPECT_EQ(wanted->has_value(), step < 8);
    const auto tile =
        *wanted ? wide.fine_tile(request, block_of(*whole, **wanted)) : wide.tile(request);
    ASSERT_TRUE(tile) << tile.error().message;
    const auto same = whole->tile(request);
    ASSERT_TRUE(same) << same.error().message;
    ASSERT_EQ(tile->values_size(), same->values_size());
    EXPECT_EQ(tile->rows(), same->rows());
    for (int i = 0; i < tile->values_size(); ++i) {
      ASSERT_TRUE(is_same(tile->values(i), same->values(i))) << step << " " << i;
      ASSERT_TRUE(is_same(tile->of_expected(i), same->of_expected(i))) << step << " " << i;
      ASSERT_EQ(tile->untested(i), same->untested(i)) << step << " " << i;
    }
  }
}

TEST(PairGrid, ABlockThatDoesNotFitItsTileIsRefused) {
  const PairGrid wide = PairGrid::of_overview(overview_of(fabric(150), 4));
  api::MatrixTileRequest request;
  EXPECT_EQ(wide.fine_tile(request, {}).error().code, Code::kDataLoss);
  request.set_step(4);
  EXPECT_EQ(wide.fine_tile(request, {}).error().code, Code::kDataLoss) << "it needs no block";
  request.set_step(3);
  EXPECT_EQ(wide.block_for(request).error().code, Code::kInvalidArgument);
  request.set_step(1);
  request.set_row(4'000'000'000);
  const auto beyond = wide.block_for(request);
  ASSERT_TRUE(beyond);
  EXPECT_EQ((*beyond)->rows(), 0U);
}

TEST(PairGrid, PairsOfOneClassAloneCountAsMeasuredOrNot) {
  api::PairMatrix matrix = fabric(8);
  matrix.set_values(1, 0);  // within a leaf
  const auto within = PairGrid::make(matrix, "", nullptr, "within_leaf");
  ASSERT_TRUE(within);
  EXPECT_EQ(within->frame().measured_pairs(), 23);
  EXPECT_EQ(within->frame().untested_pairs(), 1);
  const auto across = PairGrid::make(matrix, "", nullptr, "across_leaves");
  EXPECT_EQ(across->frame().measured_pairs(), 32);
  EXPECT_EQ(across->frame().untested_pairs(), 0);
  EXPECT_THAT(PairGrid::make(matrix, "", nullptr, "far").error().message,
              HasSubstr("within_leaf or across_leaves"));
}

TEST(PairGrid, ACellOfSeveralRunsHasTheAgeOfItsOldestPair) {
  constexpr int kNodes = 130;
  api::PairMatrix matrix = fabric(kNodes);
  for (const double age : {0.0, 1.0, 5.0}) matrix.add_runs()->set_age_days(age);
  for (int i = 0; i < kNodes * kNodes; ++i) matrix.add_run_of(i == 1 ? 2 : 0);
  const auto grid = PairGrid::make(matrix, "fabric", nullptr);
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->frame().runs_size(), 3);
  api::MatrixTileRequest request;
  request.set_step(2);
  const auto tile = grid->tile(request);
  ASSERT_TRUE(tile);
  float oldest = 0;
  for (const float age : tile->age_days()) oldest = std::max(oldest, std::isnan(age) ? 0 : age);
  EXPECT_EQ(oldest, 5);
  EXPECT_EQ(PairGrid::make(fabric(8), "", nullptr)->tile({})->age_days_size(), 0);
}

TEST(PairGrid, TheScatterIsThatOfTheShares) {
  api::PairMatrix matrix = fabric(40);
  for (int i = 0; i < matrix.values_size(); ++i)
    if (matrix.values(i) > 0)
      matrix.set_values(i, matrix.values(i) * (0.98F + 0.01F * static_cast<float>(i % 5)));
  const auto grid = PairGrid::make(matrix, "", nullptr);
  ASSERT_TRUE(grid);
  EXPECT_GT(grid->frame().scatter_share(), 0.0);
  EXPECT_LT(grid->frame().scatter_share(), 0.04);
}

}  // namespace
}  // namespace railgauge::console
