#include "controller/history/pair_figures.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/history/archive.h"
#include "controller/history/pair_table.h"
#include "controller/sim/fabric.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Views of texts that live as long as the program.
store::PairPointRow bandwidth_row(std::string_view from, std::string_view to, double value) {
  return {.task_id = "t0001",
          .kernel = "verbs.write_bw",
          .metric = "bandwidth_bytes_per_second",
          .message_bytes = 65536,
          .larger_is_better = true,
          .first = from,
          .second = to,
          .value = value};
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
  EXPECT_FALSE(pair_point_of(bandwidth_row("a/x:1", "b/x:1", 0), point));
  auto row = bandwidth_row("a/x:1", "b/x:1", 5);
  row.direction = "both";
  EXPECT_FALSE(pair_point_of(row, point)) << "a sum";
  row = bandwidth_row("a/x:1", "b/x:1", 5);
  row.kernel = "nccl.all_reduce";
  EXPECT_FALSE(pair_point_of(row, point));
  row = bandwidth_row("a/x:1", "b/x:1", 5);
  row.task_id = "d0001";
  EXPECT_FALSE(pair_point_of(row, point)) << "a follow-up would count twice";
}

TEST(PairPoint, HasTheErrorOfTheFigureItself) {
  auto row = bandwidth_row("a/x:1", "b/x:1", 4);
  row.low = 3.8;
  row.high = 4.2;
  PairPoint point;
  ASSERT_TRUE(pair_point_of(row, point));
  EXPECT_EQ(point.value, 4);
  EXPECT_NEAR(point.spread, 0.4 / 4 / (2 * 1.96), 1e-12);
  ASSERT_TRUE(pair_point_of(bandwidth_row("a/x:1", "b/x:1", 4), point));
  EXPECT_EQ(point.spread, 0) << "that of the row before does not stay";
}

TEST(PairPoint, GoesTheWayOfTheDataAndTellsTheMemory) {
  auto row = bandwidth_row("a/x:1", "b/x:1+gpu2", 5);
  row.kernel = "verbs.read_bw";
  row.memory_fact = "cuda";
  PairPoint point;
  ASSERT_TRUE(pair_point_of(row, point));
  EXPECT_EQ(point.from, "b/x:1+gpu2");
  EXPECT_EQ(point.memory, "gpu");
  row.memory_fact = "";
  row.memory = "host, hugepages";
  ASSERT_TRUE(pair_point_of(row, point));
  EXPECT_EQ(point.memory, "host") << "the parameter, where the runner says nothing";
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

TEST(PairTable, TakesFiguresInAnyOrderAndTheMedianAndScatterOfSeveral) {
  const PortMap ports({two_rail_node("a", "l1"), two_rail_node("c", "l2")});
  const PairChoice all;
  PairTable table(ports, all);
  const std::int32_t c = table.number("c");
  const std::int32_t a = table.number("a");
  EXPECT_EQ(table.number("c"), c);
  static_cast<void>(table.number("never"));  // a name without figures
  table.node("b");
  const std::size_t second = table.layer(1, "host");
  const std::size_t first = table.layer(0, "gpu");
  static_cast<void>(table.layer(0, "host"));  // a layer without figures
  for (const double value : {90.0, 110.0, 100.0}) table.add(second, c, a, value);
  table.add(second, a, c, 50);
  table.add(first, a, c, 7, 0.03);
  table.add(first, c, a, 9, 0.01);
  const auto data = table.data("r1");
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_THAT(data->nodes, ElementsAre("a", "b", "c"));
  EXPECT_THAT(data->leaf_of, ElementsAre(0, -1, 1));
  ASSERT_EQ(data->layers.size(), 2u);
  EXPECT_EQ(data->layers[0].memory, "gpu");
  EXPECT_EQ(data->layers[0].values[2], 7);
  EXPECT_EQ(data->layers[0].repeat_noise, 0.03) << "the middle one of two is the upper";
  EXPECT_EQ(data->layers[1].rail, 1);
  EXPECT_EQ(data->layers[1].values[6], 100) << "the median of three";
  EXPECT_EQ(data->layers[1].values[2], 50);
  // 0.1, 0.1 and 0 off their mean: 2 degrees of freedom, three figures to a cell.
  EXPECT_NEAR(data->layers[1].repeat_noise, std::sqrt(0.02 / 2 / 3), 1e-6);
}

TEST(PairTable, RefusesTooManyNodesBeforeTheirFiguresCome) {
  const PortMap ports({});
  const PairChoice few{.max_cells = 24};
  PairTable table(ports, few);
  for (const char* name : {"a", "b", "c", "d"}) table.node(name);
  EXPECT_TRUE(table.check("r1")) << "16 cells";
  table.node("e");
  EXPECT_THAT(table.check("r1").error().message, HasSubstr("pairs of 5 nodes"));
}

TEST(PairTable, LeavesOutWhoIsNotChosen) {
  const PortMap ports({});
  const PairChoice choice{.nodes = std::set<std::string>{"a", "b"}};
  PairTable table(ports, choice);
  const std::int32_t a = table.number("a");
  EXPECT_EQ(table.number("z"), PairTable::kNotChosen);
  const std::size_t host = table.layer(0, "host");
  table.add(host, a, table.number("z"), 5);
  table.add(host, table.number("z"), a, 5);
  EXPECT_TRUE(table.data("r1")->layers.empty());
  EXPECT_TRUE(table.data("r1")->nodes.empty()) << "a met nobody who is chosen";
  table.add(host, a, table.number("b"), 5);
  EXPECT_THAT(table.data("r1")->nodes, ElementsAre("a", "b"));
}

TEST(PairFigures, OfARunComeFromItsMatrixOrElseFromItsPoints) {
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  store::plan_run(*store, "r1", 1);
  store::append_passed(*store, {});
  ASSERT_TRUE(store->update_run({.run_id = "r1", .state = store::RunState::kEnded}));
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
            "at most 50000000 are returned at once, so choose fewer with --nodes, or take "
            "railgauge export");
  const PairChoice choice{.nodes = std::set<std::string>{"n7", "n8", "n9"}};
  const auto some = figures_of_points("r1", points, ports, {"n1", "n7"}, choice);
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_THAT(some->data.nodes, ElementsAre("n7", "n8", "n9"));
  ASSERT_EQ(some->data.layers.size(), 1u);
  EXPECT_EQ(some->data.layers[0].values[1], 1e9F);
}

// SYNTHETIC figures, stored as a run's are, with host and GPU memory as rows of one matrix a rail.
TEST(PairFigures, OfAModelledFabricComeBackAsTheyWere) {
  using simulator::Fabric;
  Fabric fabric({.nodes = 32, .nodes_per_leaf = 8, .seed = 4});
  const auto faults = fabric.random_faults(simulator::FaultKind::kGpuPath, 0.1);
  fabric.inject(faults.at(0));
  const localise::PairData model = fabric.all_pairs();
  const std::size_t n = model.nodes.size();
  const store::TempFolder folder;
  auto store = store::open_store(folder.file("db"));
  store::plan_run(*store, "r1", 1);
  LeafMap leaves;
  for (std::int32_t rail = 0; rail < 2; ++rail) {
    store::PairMatrixRow matrix{.run_id = "r1",
                                .rail = rail,
                                .kernel = "verbs.write_bw",
                                .metric = "bandwidth_bytes_per_second",
                                .unit = "bytes_per_second",
                                .larger_is_better = true};
    matrix.values.assign(4 * n * n, NAN);
    std::size_t offset = 0;
    for (const localise::Layer& layer : model.layers) {
      if (layer.rail != rail) continue;
      for (std::size_t from = 0; from < n; ++from) {
        leaves[model.nodes[from]] = model.leaves[static_cast<std::size_t>(model.leaf_of[from])];
        matrix.endpoints.push_back(fmt::format("{}/mlx5_{}:1{}", model.nodes[from], rail,
                                               layer.memory == "gpu" ? "+gpu0" : ""));
        for (std::size_t to = 0; to < n; ++to)
          matrix.values[(offset + from) * 2 * n + offset + to] = layer.values[from * n + to];
      }
      offset += n;
    }
    ASSERT_TRUE(store->put_pair_matrix(std::move(matrix)));
  }
  api::PairsRequest request;
  request.set_run_id("r1");
  const auto figures =
      read_pair_figures(*store, request, [&leaves](const auto&) { return leaves; });
  ASSERT_TRUE(figures) << figures.error().message;
  const localise::PairData& data = figures->data;
  ASSERT_EQ(data.layers.size(), 4u);
  const auto place = [&data](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(data.nodes, name) - data.nodes.begin());
  };
  for (const localise::Layer& layer : model.layers) {
    const auto same = std::ranges::find_if(data.layers, [&layer](const localise::Layer& other) {
      return other.rail == layer.rail && other.memory == layer.memory;
    });
    ASSERT_NE(same, data.layers.end());
    for (std::size_t from = 0; from < n; ++from)
      for (std::size_t to = 0; to < n; ++to)
        if (from != to) {
          ASSERT_EQ(
              same->values[place(model.nodes[from]) * data.nodes.size() + place(model.nodes[to])],
              layer.values[from * n + to]);
        }
  }
  const auto found = localise::find_suspects(data);
  ASSERT_TRUE(found && !found->suspects.empty());
  EXPECT_EQ(data.nodes[static_cast<std::size_t>(found->suspects[0].element.first)],
            model.nodes[static_cast<std::size_t>(faults[0].element.first)]);
  EXPECT_EQ(found->suspects[0].element.memory, "gpu");
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
