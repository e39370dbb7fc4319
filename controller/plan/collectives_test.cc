// Placements of kernels that take any number of ranks: all endpoints of all nodes, of each node, of
// each pair, and rail by rail.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/plan/testing/suite_testing.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<KernelInfo> kernels() {
  auto all = fake_kernels();
  KernelInfo collective = fake_kernel("fake.collective", "busbw_bytes_per_second");
  collective.set_min_ranks(1);
  collective.set_max_ranks(0);
  collective.set_endpoint_kind("gpu");
  all.push_back(collective);
  // As MPI's: it takes no endpoint, and puts its ranks where a placement says.
  KernelInfo mpi = collective;
  mpi.set_name("fake.mpi");
  mpi.set_min_ranks(2);
  mpi.set_endpoint_kind("none");
  add_parameter(mpi, "process_to_rail", "text", "", true);
  all.push_back(mpi);
  return all;
}

// n1 to nN with so many GPUs each, in slots that are not in the names' order.
std::vector<PlanNode> nodes_with(const std::vector<int>& gpus) {
  std::vector<PlanNode> nodes;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    nodes.push_back({.name = fmt::format("n{}", i + 1)});
    for (int gpu = 0; gpu < gpus[i]; ++gpu)
      nodes.back().endpoints.push_back({.kind = "gpu",
                                        .name = fmt::format("gpu{}", gpu),
                                        .pci_address = fmt::format("0000:{:02x}:00.0", 0x10 + gpu),
                                        .active = true});
  }
  return nodes;
}

// "ROUND node/gpu node/gpu" of each task, with why it is waived.
std::vector<std::string> seated(const std::string& placement, const std::vector<PlanNode>& nodes,
                                const std::string& kernel = "fake.collective") {
  const SuiteReading reading = read_suite(local(kernel, placement), "x.yaml", kernels());
  EXPECT_TRUE(reading.suite) << describe(reading.problems.front());
  if (!reading.suite) return {};
  const auto plan = make_plan(*reading.suite, nodes, kernels());
  EXPECT_TRUE(plan) << plan.error().message;
  std::vector<std::string> out;
  if (!plan) return out;
  for (const PlannedTask& task : plan->tasks) {
    std::string& text = out.emplace_back(std::to_string(task.round));
    for (const PlannedRank& rank : task.ranks)
      text += fmt::format(" {}/{}", rank.node, rank.endpoint);
    if (!task.waived_reason.empty()) text += ": " + task.waived_reason;
  }
  return out;
}

TEST(Collectives, AGroupOfEachGpuIsOneTaskOverAllOfThem) {
  EXPECT_THAT(seated("group: all, each: gpu", nodes_with({2, 1})),
              ElementsAre("0 n1/gpu0 n1/gpu1 n2/gpu0"));
  EXPECT_THAT(seated("group: all", nodes_with({2, 1})), ElementsAre("0 n1/gpu0 n2/gpu0"));
}

TEST(Collectives, MpisRanksAreOneANodeOrOneAnEndpoint) {
  EXPECT_THAT(seated("group: all", nodes_with({2, 1}), "fake.mpi"), ElementsAre("0 n1/ n2/"));
  EXPECT_THAT(seated("group: all, each: gpu", nodes_with({2, 1}), "fake.mpi"),
              ElementsAre("0 n1/gpu0 n1/gpu1 n2/gpu0"));
  EXPECT_THAT(seated("group: node, each: gpu", nodes_with({2}), "fake.mpi"),
              ElementsAre("0 n1/gpu0 n1/gpu1"));
  std::vector<PlanNode> with_nics = nodes_with({1, 1});
  for (PlanNode& node : with_nics)
    for (const char* port : {"mlx5_0:1", "mlx5_1:1"})
      node.endpoints.push_back({.kind = "nic", .name = port, .active = true});
  EXPECT_THAT(seated("group: all, each: nic", with_nics, "fake.mpi"),
              ElementsAre("0 n1/mlx5_0:1 n1/mlx5_1:1 n2/mlx5_0:1 n2/mlx5_1:1"));
  // A rail is the place of a kernel's own endpoint, and another kernel without one has no ranks.
  for (const auto& [kernel, placement] :
       {std::pair{"fake.mpi", "group: all, each: rail"}, {"fake.group", "group: all, each: gpu"}}) {
    const SuiteReading refused = read_suite(local(kernel, placement), "x.yaml", kernels());
    ASSERT_FALSE(refused.suite) << kernel;
    EXPECT_THAT(describe(refused.problems.front()), HasSubstr("no endpoint, once a node"));
  }
}

TEST(Collectives, AGroupANodeIsOnATaskOfItsOwnAllAtOnce) {
  EXPECT_THAT(seated("group: node, each: gpu", nodes_with({2, 1})),
              ElementsAre("0 n1/gpu0 n1/gpu1", "0 n2/gpu0"));
}

TEST(Collectives, RailsTakeTheGpuOfTheSamePlaceOneAfterTheOther) {
  EXPECT_THAT(seated("group: all, each: rail", nodes_with({2, 2})),
              ElementsAre("0 n1/gpu0 n2/gpu0", "1 n1/gpu1 n2/gpu1"));
}

TEST(Collectives, ARailKeepsItsPlaceAndSaysWhoIsMissing) {
  auto nodes = nodes_with({2, 1, 2});
  nodes[0].endpoints[0].active = false;
  EXPECT_THAT(seated("group: all, each: rail", nodes),
              ElementsAre("0 n1/ n2/gpu0 n3/gpu0: n1/gpu0 is not active",
                          "1 n1/gpu1 n2/ n3/gpu1: n2 has no gpu on rail 1"));
}

TEST(Collectives, PairsOfEachGpuTakeAllOfBothNodes) {
  EXPECT_THAT(seated("pairs: all, each: gpu", nodes_with({2, 1})),
              ElementsAre("0 n1/gpu0 n1/gpu1 n2/gpu0"));
  EXPECT_THAT(seated("pairs: all", nodes_with({2, 1})), ElementsAre("0 n1/gpu0 n2/gpu0"));
}

TEST(Collectives, OneGpuThatIsNotActiveWaivesTheWholeGroupByName) {
  auto nodes = nodes_with({2, 0});
  nodes[0].endpoints[1].active = false;
  EXPECT_THAT(seated("group: all, each: gpu", nodes),
              ElementsAre("0 n1/gpu0 n1/ n2/: n1/gpu1 is not active; n2 has no gpu"));
}

std::string problem(const std::string& kernel, const std::string& placement) {
  const SuiteReading reading = read_suite(local(kernel, placement), "x.yaml", kernels());
  EXPECT_EQ(reading.problems.size(), 1U);
  return reading.problems.empty() ? "none" : describe(reading.problems.front());
}

TEST(Collectives, PlacementsThatCannotBeAreToldInTheSuite) {
  EXPECT_THAT(problem("fake.collective", "group: rack"), HasSubstr("allowed: all, node"));
  EXPECT_THAT(problem("fake.collective", "group: node"), HasSubstr("needs each: gpu"));
  EXPECT_THAT(problem("fake.collective", "pairs: node"), HasSubstr("is \"node\"; allowed: all"));
  EXPECT_THAT(problem("fake.collective", "pairs: all, each: rail"),
              HasSubstr("is \"rail\"; allowed: gpu, nic"));
  EXPECT_THAT(problem("fake.collective", "group: all, each: nic"),
              HasSubstr("is nic; fake.collective runs on gpu"));
  EXPECT_THAT(problem("fake.group", "group: all, each: rail"), HasSubstr("leave out each"));
  EXPECT_THAT(problem("fake.bw", "group: all, each: nic"), HasSubstr("has 2 ranks at most"));
}

}  // namespace
}  // namespace railgauge::plan
