#include "controller/history/matrix_overview.h"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kWideNodes = 1'030;
constexpr std::size_t kWideLeaf = 10;

// Leaves are in the reverse of the nodes' names.
std::string leaf_name(std::size_t node) { return fmt::format("L{:03}", 999 - node / kWideLeaf); }

PortMap wide_ports() {
  std::vector<store::NodeRow> rows;
  for (std::size_t i = 0; i < kWideNodes; ++i)
    rows.push_back({.name = fmt::format("n{:04}", i), .described = {{"leaf", leaf_name(i)}}});
  return PortMap(rows);
}

// Within a leaf a pair has 100, across leaves 80; the first node sends 40 to the last one.
store::PairMatrixRow wide_matrix(const PortMap& ports) {
  store::PairMatrixRow matrix{.run_id = "r1",
                              .kernel = "verbs.write_bw",
                              .metric = "bandwidth_bytes_per_second",
                              .message_bytes = 65'536,
                              .unit = "bytes_per_second",
                              .larger_is_better = true};
  for (std::size_t i = 0; i < kWideNodes; ++i)
    matrix.endpoints.push_back(fmt::format("n{:04}/rxe0:1", i));
  order_by_leaf(matrix, ports);
  const auto leaf = [&](std::size_t row) {
    return ports.leaf(split_endpoint(matrix.endpoints[row]).first);
  };
  matrix.values.assign(kWideNodes * kWideNodes, NAN);
  for (std::size_t from = 0; from < kWideNodes; ++from)
    for (std::size_t to = 0; to < kWideNodes; ++to)
      if (from != to)
        matrix.values[from * kWideNodes + to] = from / kWideLeaf == to / kWideLeaf ? 100 : 80;
  EXPECT_EQ(leaf(0), leaf(kWideLeaf - 1));
  matrix.values[kWideNodes - 1] = 40;
  matrix.values[5] = NAN;
  return matrix;
}

api::MatrixOverview parsed(const store::PairMatrixRow& matrix) {
  api::MatrixOverview overview;
  EXPECT_TRUE(overview.ParseFromString(matrix.overview));
  return overview;
}

TEST(MatrixOverview, RowsAreInTheOrderOfLeavesAndACellHasItsWorstPair) {
  const PortMap ports = wide_ports();
  store::PairMatrixRow matrix = wide_matrix(ports);
  EXPECT_EQ(matrix.endpoints.front(), "n1020/rxe0:1") << "of the first leaf by name";
  add_overview(matrix, ports);
  const api::MatrixOverview overview = parsed(matrix);
  EXPECT_EQ(overview.nodes(0), "n1020");
  EXPECT_EQ(overview.leaves(0), "L897");
  EXPECT_EQ(overview.expected_within_leaf(), 100);
  EXPECT_EQ(overview.expected_across_leaves(), 80);
  EXPECT_EQ(overview.measured_pairs(), static_cast<double>(kWideNodes * (kWideNodes - 1) - 1));
  const int side = (kWideNodes + kOverviewStep - 1) / kOverviewStep;
  ASSERT_EQ(overview.values_size(), side * side);
  EXPECT_EQ(overview.values(side - 1), 40) << "the slow pair, in the last cell of the first row";
  EXPECT_FLOAT_EQ(overview.of_expected(side - 1), 0.5F);
  EXPECT_EQ(overview.untested(0), 1U);
  EXPECT_EQ(overview.untested(1), 0U);
  EXPECT_FLOAT_EQ(overview.sent_of_expected(0), 0.5F);
  EXPECT_FLOAT_EQ(overview.received_of_expected(kWideNodes - 1), 0.5F);
}

TEST(MatrixOverview, ASmallMatrixAndOneOfSeveralRowsANodeHaveNone) {
  const PortMap ports = wide_ports();
  store::PairMatrixRow small{.endpoints = {"a/rxe0:1", "b/rxe0:1"}, .values = {NAN, 1, 1, NAN}};
  add_overview(small, ports);
  EXPECT_EQ(small.overview, "");
  store::PairMatrixRow gpus = wide_matrix(ports);
  gpus.endpoints[0] = "n0001/rxe1:1";
  add_overview(gpus, ports);
  EXPECT_EQ(gpus.overview, "");
}

class StoredOverview : public store::StoreTest {
 protected:
  StoredOverview() {
    EXPECT_TRUE(store_->create_run(store::run_row("r1"), {}));
    EXPECT_TRUE(store_->update_run({.run_id = "r1", .state = store::RunState::kEnded}));
    const PortMap ports = wide_ports();
    store::PairMatrixRow matrix = wide_matrix(ports);
    add_overview(matrix, ports);
    std::vector<store::PairMatrixRow> matrices{matrix, matrix};
    matrices[1].rail = 3;
    EXPECT_TRUE(store_->put_pair_matrices("r1", std::move(matrices)));
  }
};

TEST_F(StoredOverview, IsThatOfTheRequestAndNamesTheOthers) {
  api::PairsRequest request;
  request.set_run_id("r1");
  const auto found = read_overview(*store_, request);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->rail(), 0);
  EXPECT_THAT(found->other_layers(), ElementsAre("rail 3 host"));
  request.set_rail(2);
  EXPECT_EQ(read_overview(*store_, request).error().code, Code::kNotFound);
  request.clear_rail();
  request.set_memory("gpu");
  EXPECT_EQ(read_overview(*store_, request).error().code, Code::kNotFound);
  request.clear_memory();
  request.set_node_set("n0001");
  EXPECT_EQ(read_overview(*store_, request).error().code, Code::kInvalidArgument);
  request.clear_node_set();
  request.set_run_id("nowhere");
  EXPECT_EQ(read_overview(*store_, request).error().code, Code::kNotFound);
}

TEST_F(StoredOverview, ABlockHasTheFiguresOfItsRowsAndABound) {
  api::MatrixBlockRequest request;
  request.set_run_id("r1");
  request.set_kernel("verbs.write_bw");
  request.set_metric("bandwidth_bytes_per_second");
  request.set_message_bytes(65'536);
  request.set_rows(1);
  request.set_columns(kWideNodes);
  const auto block = read_block(*store_, request);
  ASSERT_TRUE(block) << block.error().message;
  EXPECT_EQ(block->values(0), 0) << "a node with itself";
  EXPECT_EQ(block->values(1), 100);
  EXPECT_EQ(block->values(kWideNodes - 1), 40);
  request.set_columns(kWideNodes + 1);
  EXPECT_EQ(read_block(*store_, request).error().code, Code::kInvalidArgument);
  request.set_rows(10'000'000);
  request.set_columns(1);
  EXPECT_THAT(read_block(*store_, request).error().message, HasSubstr("4194304 at most"));
  request.set_rows(4'294'967'295);
  request.set_columns(4'294'967'295);
  EXPECT_EQ(read_block(*store_, request).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace railgauge
