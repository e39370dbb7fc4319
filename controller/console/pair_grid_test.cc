#include "controller/console/pair_grid.h"

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
  EXPECT_THAT(refused.error().message, HasSubstr("fabric, name or worst"));
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

}  // namespace
}  // namespace railgauge::console
