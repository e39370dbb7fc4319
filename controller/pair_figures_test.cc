#include "controller/pair_figures.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/archive.h"
#include "controller/store/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

store::ResultRow bandwidth_row(const std::string& from, const std::string& to, double value) {
  store::ResultRow row{.kernel = "verbs.write_bw", .endpoints = {from, to}, .outcome = "passed"};
  row.point.set_metric("bandwidth_bytes_per_second");
  row.point.set_message_bytes(65536);
  row.point.set_larger_is_better(true);
  row.point.set_median(value);
  return row;
}

store::NodeRow two_rail_node(const std::string& name, const std::string& leaf) {
  store::NodeRow node{.node_id = "id-" + name, .name = name, .facts = {{"leaf", leaf}}};
  node.endpoints = {{.kind = "nic", .device = "mlx5_9", .port = 1, .pci_address = "0000:9a:00.0"},
                    {.kind = "nic", .device = "mlx5_0", .port = 1, .pci_address = "0000:1b:00.0"}};
  return node;
}

TEST(PairPoint, IsNoneWhereTheFigureIsNotOneOfASinglePairInOneDirection) {
  PairPoint point;
  EXPECT_TRUE(pair_point_of(bandwidth_row("a/x:1", "b/x:1", 5), point));
  EXPECT_EQ(point.from, "a/x:1");
  EXPECT_EQ(point.memory, "host");
  EXPECT_FALSE(pair_point_of(bandwidth_row("a/x:1", "a/x:1", 5), point)) << "loopback";
  auto row = bandwidth_row("a/x:1", "b/x:1", 5);
  row.outcome = "failed";
  EXPECT_FALSE(pair_point_of(row, point));
  row = bandwidth_row("a/x:1", "b/x:1", 5);
  row.parameters["direction"] = "both";
  EXPECT_FALSE(pair_point_of(row, point)) << "a sum";
  row = bandwidth_row("a/x:1", "b/x:1", 5);
  row.kernel = "nccl.all_reduce";
  EXPECT_FALSE(pair_point_of(row, point));
}

TEST(PairPoint, GoesTheWayOfTheDataAndTellsTheMemory) {
  auto row = bandwidth_row("a/x:1", "b/x:1+gpu2", 5);
  row.kernel = "verbs.read_bw";
  row.facts["memory"] = "cuda";
  PairPoint point;
  ASSERT_TRUE(pair_point_of(row, point));
  EXPECT_EQ(point.from, "b/x:1+gpu2");
  EXPECT_EQ(point.memory, "gpu");
}

TEST(PairFigures, AreByNodeRailAndLeafAndMedianOfRepetitions) {
  const PortMap ports({two_rail_node("a", "l1"), two_rail_node("b", "l1"), two_rail_node("c", "")});
  EXPECT_EQ(ports.rail("a", "mlx5_0:1"), 0);
  EXPECT_EQ(ports.rail("a", "mlx5_9:1"), 1);
  EXPECT_EQ(ports.rail("a", "mlx5_7:1"), -1);
  std::vector<PairPoint> points;
  for (const auto& [from, to, value] :
       {std::tuple{"a/mlx5_0:1", "b/mlx5_0:1", 10.0}, std::tuple{"a/mlx5_0:1", "b/mlx5_0:1", 30.0},
        std::tuple{"a/mlx5_0:1", "b/mlx5_0:1", 20.0}, std::tuple{"b/mlx5_9:1", "c/mlx5_9:1", 7.0},
        std::tuple{"b/mlx5_0:1", "c/mlx5_9:1", 1.0}})
    ASSERT_TRUE(pair_point_of(bandwidth_row(from, to, value), points.emplace_back()));
  const auto figures = figures_of_points("r1", points, ports, {"d"});
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_THAT(figures->data.nodes, ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(figures->data.leaves, ElementsAre("l1"));
  EXPECT_THAT(figures->data.leaf_of, ElementsAre(0, 0, -1, -1));
  ASSERT_EQ(figures->data.layers.size(), 2u);
  EXPECT_EQ(figures->data.layers[0].rail, 0);
  EXPECT_EQ(figures->data.layers[0].values[1], 20);
  EXPECT_TRUE(std::isnan(figures->data.layers[0].values[4]));
  EXPECT_EQ(figures->data.layers[1].values[1 * 4 + 2], 7);
  EXPECT_EQ(figures->across_rails, 1);
}

TEST(PairFigures, OfARunComeFromItsMatrixOrElseFromItsPoints) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  store::plan_run(*store, "r1", 1);
  store::append_passed(*store, {});
  ASSERT_TRUE(store->update_run({.run_id = "r1", .state = "ended"}));
  ASSERT_TRUE(store->flush());
  const auto scope = store->export_scope("r1");
  ASSERT_TRUE(scope) << scope.error().message;
  EXPECT_EQ(read_pair_points(*store, *scope, {}, 1)->size(), 1u);
  EXPECT_THAT(read_pair_points(*store, *scope, {}, 0).error().message,
              HasSubstr("run r1: it has more than 0 figures of pairs; choose some with --kernel"));
  Archive archive(*store);
  api::PairsRequest request;
  request.set_run_id("r1");
  request.set_node_set("n[1-2]");
  const auto latency = archive.get_matrix(request);
  ASSERT_TRUE(latency) << latency.error().message;
  EXPECT_EQ(latency->metric(), "latency_ns");
  EXPECT_THAT(latency->nodes(), ElementsAre("n1", "n2"));
  EXPECT_GT(latency->values(1), 0);
  EXPECT_EQ(latency->values(2), 0) << "not measured";
  ASSERT_TRUE(store->put_pair_matrix({.run_id = "r1",
                                      .rail = 1,
                                      .kernel = "verbs.write_bw",
                                      .metric = "bandwidth_bytes_per_second",
                                      .message_bytes = 65536,
                                      .unit = "bytes_per_second",
                                      .larger_is_better = true,
                                      .endpoints = {"n1/rxe0:1", "n2/rxe0:1"},
                                      .values = {NAN, 12.5F, 11.25F, NAN}}));
  const auto stored = archive.get_matrix(request);
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->kernel(), "verbs.write_bw");
  EXPECT_EQ(stored->rail(), 1);
  EXPECT_EQ(stored->values(2), 11.25F);
  request.set_metric("latency_ns");
  EXPECT_EQ(archive.get_matrix(request)->metric(), "latency_ns");
  request.set_rail(5);
  EXPECT_THAT(archive.get_matrix(request).error().message, HasSubstr("there is rail 0 host"));
  request.set_run_id("nowhere");
  EXPECT_EQ(archive.get_matrix(request).error().code, Code::kInvalidArgument);
}

PairPoint between(int from, int to) {
  PairPoint point;
  point.series = {.kernel = "verbs.write_bw", .metric = "bandwidth_bytes_per_second"};
  point.from = fmt::format("n{}/x:1", from);
  point.to = fmt::format("n{}/x:1", to);
  point.memory = "host";
  point.value = 1e9;
  return point;
}

TEST(PairFigures, OfTenThousandNodesAreRefusedAndSomeOfThemAreTold) {
  constexpr int kNodes = 10'000;
  std::vector<store::NodeRow> nodes;
  std::vector<PairPoint> points;
  for (int i = 0; i < kNodes; ++i) {
    store::NodeRow& node = nodes.emplace_back();
    node.name = fmt::format("n{}", i);
    node.endpoints = {{.kind = "nic", .device = "x", .port = 1, .pci_address = "0000:1b:00.0"}};
    points.push_back(between(i, (i + 1) % kNodes));
  }
  const PortMap ports(nodes);
  const auto refused = figures_of_points("r1", points, ports);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().message,
            "run r1: pairs of 10000 nodes, by rail and kind of memory, make 100000000 cells; "
            "50000000 are told at once, so choose fewer with --nodes, or take railgauge export");
  const PairChoice choice{.nodes = std::set<std::string>{"n7", "n8", "n9"}};
  const auto some = figures_of_points("r1", points, ports, {"n1", "n7"}, choice);
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_THAT(some->data.nodes, ElementsAre("n7", "n8", "n9"));
  ASSERT_EQ(some->data.layers.size(), 1u);
  EXPECT_EQ(some->data.layers[0].values[1], 1e9F);
}

TEST(PairFigures, NameTheSuspectOfARun) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  store::plan_run(*store, "r1", 1);
  std::vector<std::string> endpoints;
  std::vector<float> values;
  for (int node = 1; node <= 8; ++node) endpoints.push_back(fmt::format("n{}/rxe0:1", node));
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to)
      values.push_back(
          from == to ? NAN : static_cast<float>((to == 4 ? 600 : 1000) + (from * 5 + to * 3) % 7));
  ASSERT_TRUE(store->put_pair_matrix({.run_id = "r1",
                                      .kernel = "verbs.write_bw",
                                      .metric = "bandwidth_bytes_per_second",
                                      .unit = "bytes_per_second",
                                      .larger_is_better = true,
                                      .endpoints = endpoints,
                                      .values = values}));
  Archive archive(*store);
  api::PairsRequest request;
  request.set_run_id("r1");
  const auto list = archive.get_suspects(request);
  ASSERT_TRUE(list) << list.error().message;
  ASSERT_EQ(list->suspects_size(), 1);
  EXPECT_EQ(list->suspects(0).node(), "n5");
  EXPECT_EQ(list->suspects(0).direction(), "receives");
  EXPECT_TRUE(list->suspects(0).confirmed());
  EXPECT_GE(list->suspects(0).wanted_size(), 3);
  EXPECT_EQ(list->measured_pairs(), 56);
}

}  // namespace
}  // namespace railgauge
