// Two ranks on one port: which GPU with which NIC, and in which round.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/planner.h"
#include "controller/plan/testing/plan_testing.h"

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// fake.lat and a kernel for pairs on NICs that uses a GPU's memory.
std::vector<KernelInfo> kernels_with_memory() {
  std::vector<KernelInfo> kernels = fake_kernels();
  KernelInfo memory = fake_kernel("fake.memory", "bandwidth_bytes_per_second");
  add_parameter(memory, "gpu", "text", "0", true);
  kernels.push_back(memory);
  return kernels;
}

Stage loopback(std::string each) {
  Stage stage = stage_of("fake.memory", PlacementKind::kLoopback);
  stage.placement.each = std::move(each);
  return stage;
}

// Node i of `count` has i GPUs and i % 3 + 1 ports; distances by the two numbers.
std::vector<PlanNode> mixed_nodes(std::size_t count) {
  std::vector<PlanNode> nodes;
  for (std::size_t i = 0; i < count; ++i) {
    PlanNode& node = nodes.emplace_back();
    node.name = fmt::format("n{}", i);
    for (std::size_t port = 0; port <= i % 3; ++port)
      node.endpoints.push_back({.kind = "nic",
                                .name = fmt::format("mlx5_{}:1", port),
                                .pci_address = fmt::format("0000:1{}:00.0", port),
                                .active = true,
                                .rate_bits_per_second = 8e9});
    for (std::size_t gpu = 0; gpu < i; ++gpu) {
      NodeEndpoint& endpoint = node.endpoints.emplace_back();
      endpoint = {.kind = "gpu",
                  .name = fmt::format("gpu{}", gpu),
                  .pci_address = fmt::format("0000:2{}:00.0", gpu),
                  .active = true};
      for (std::size_t port = 0; port <= i % 3; ++port)
        endpoint.distances[fmt::format("mlx5_{}", port)] = gpu % 3 == port ? "PIX" : "SYS";
    }
  }
  return nodes;
}

// Resources that a task may not share with another task of its round.
std::vector<std::string> used_by(const PlannedTask& task) {
  std::vector<std::string> used;
  for (const PlannedRank& rank : task.ranks) {
    used.push_back(fmt::format("{}/{}", rank.node, rank.endpoint));
    if (!rank.gpu.empty()) used.push_back(fmt::format("{}/{}", rank.node, rank.gpu));
  }
  return used;
}

TEST(Loopback, TakesEveryGpuWithEveryNicOfItsOwnNodeOnceAndNoneTwiceInARound) {
  for (std::size_t count = 1; count <= 9; ++count) {
    const std::vector<PlanNode> nodes = mixed_nodes(count);
    const auto plan = make_plan(suite_of({loopback("gpu_nic")}), nodes, kernels_with_memory());
    ASSERT_TRUE(plan) << plan.error().message;
    std::set<std::string> wanted;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t gpu = 0; gpu < i; ++gpu)
        for (std::size_t port = 0; port <= i % 3; ++port)
          wanted.insert(fmt::format("n{}/mlx5_{}:1+gpu{}", i, port, gpu));
    std::map<std::uint32_t, std::set<std::string>> busy;
    std::map<std::uint32_t, std::set<std::string>> busy_nodes;
    for (const PlannedTask& task : plan->tasks) {
      if (!task.waived_reason.empty()) {
        EXPECT_EQ(task.waived_reason, "n0 has no gpu");
        continue;
      }
      ASSERT_EQ(task.ranks.size(), 2U);
      const std::string place = task.ranks[0].node + "/" + text_of(task.ranks[0]);
      EXPECT_EQ(place, task.ranks[1].node + "/" + text_of(task.ranks[1]));
      EXPECT_EQ(wanted.erase(place), 1U) << place << " is no pair of one node, or planned twice";
      EXPECT_EQ("gpu" + task.parameters.at("gpu"), task.ranks[0].gpu);
      const std::vector<std::string> used = used_by(task);
      for (const std::string& one : std::set<std::string>(used.begin(), used.end()))
        EXPECT_TRUE(busy[task.round].insert(one).second) << one << " twice in " << task.round;
      EXPECT_TRUE(busy_nodes[task.round].insert(task.ranks[0].node).second);
    }
    EXPECT_THAT(wanted, IsEmpty());
  }
}

TEST(Loopback, TheSameNodesGiveTheSamePlan) {
  std::vector<PlanNode> nodes = mixed_nodes(7);
  const auto text = [&] {
    const auto plan = make_plan(suite_of({loopback("gpu_nic")}), nodes, kernels_with_memory());
    std::string all;
    for (const PlannedTask& task : plan->tasks)
      all += fmt::format("{} {} {}/{}\n", task.id, task.round, task.ranks[0].node,
                         text_of(task.ranks[0]));
    return all;
  };
  const std::string first = text();
  for (PlanNode& node : nodes) std::ranges::reverse(node.endpoints);
  EXPECT_EQ(text(), first) << "the order of an inventory is no order of the plan";
}

TEST(Loopback, TellsTheDistanceAndThatItIsLoopback) {
  std::vector<PlanNode> nodes = mixed_nodes(3);
  nodes[2].endpoints.back().distances.erase("mlx5_0");
  const auto plan = make_plan(suite_of({loopback("gpu_nic")}), nodes, kernels_with_memory());
  ASSERT_TRUE(plan) << plan.error().message;
  std::map<std::string, std::string> distances;
  for (const PlannedTask& task : plan->tasks) {
    EXPECT_EQ(task.facts.at("loopback"), "true");
    EXPECT_THAT(task.identity_parameters, IsEmpty()) << "the GPU is part of the endpoint";
    if (!task.waived_reason.empty() || task.ranks[0].node != "n2") continue;
    distances[text_of(task.ranks[0])] = task.facts.at("gpu_nic_distance");
  }
  EXPECT_EQ(distances, (std::map<std::string, std::string>{{"mlx5_0:1+gpu0", "PIX"},
                                                           {"mlx5_1:1+gpu0", "SYS"},
                                                           {"mlx5_2:1+gpu0", "SYS"},
                                                           {"mlx5_0:1+gpu1", "unknown"},
                                                           {"mlx5_1:1+gpu1", "PIX"},
                                                           {"mlx5_2:1+gpu1", "SYS"}}));
}

TEST(Loopback, EachGpuTakesItsNearestActivePort) {
  std::vector<PlanNode> nodes = mixed_nodes(6);
  nodes.erase(nodes.begin(), nodes.begin() + 5);
  nodes[0].endpoints[1].active = false;  // mlx5_1, the nearest of gpu1 and gpu4
  const auto plan = make_plan(suite_of({loopback("gpu")}), nodes, kernels_with_memory());
  ASSERT_TRUE(plan) << plan.error().message;
  std::vector<std::string> places;
  for (const PlannedTask& task : plan->tasks) places.push_back(text_of(task.ranks[0]));
  EXPECT_THAT(places, ElementsAre("mlx5_0:1+gpu0", "mlx5_0:1+gpu1", "mlx5_2:1+gpu2",
                                  "mlx5_0:1+gpu3", "mlx5_0:1+gpu4"));
  EXPECT_EQ(plan->tasks[1].facts.at("gpu_nic_distance"), "SYS");
}

TEST(Loopback, WithoutGpusTakesAPortOrEachPort) {
  std::vector<PlanNode> nodes = mixed_nodes(2);
  const auto one = make_plan(suite_of({loopback("")}), nodes, kernels_with_memory());
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_THAT(placed(*one), ElementsAre("0 n0/mlx5_0:1", "0 n1/mlx5_0:1"));
  EXPECT_EQ(one->tasks[0].ranks.size(), 2U);
  EXPECT_EQ(one->tasks[0].facts.count("gpu_nic_distance"), 0U);
  EXPECT_EQ(one->tasks[0].facts.at("loopback"), "true");
  const auto each = make_plan(suite_of({loopback("nic")}), nodes, kernels_with_memory());
  EXPECT_THAT(placed(*each), ElementsAre("0 n0/mlx5_0:1", "0 n1/mlx5_0:1", "1 n1/mlx5_1:1"));
}

// Such as bar.shared_bw, whose ranks share a GPU.
TEST(Loopback, OfAKernelOnGpusHasBothRanksOnOne) {
  std::vector<KernelInfo> kernels = kernels_with_memory();
  KernelInfo shared = fake_kernel("fake.shared", "bandwidth_bytes_per_second");
  shared.set_endpoint_kind("gpu");
  kernels.push_back(shared);
  Stage stage = loopback("");
  stage.kernel = "fake.shared";
  const auto plan = make_plan(suite_of({stage}), mixed_nodes(3), kernels);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(placed(*plan), ElementsAre("0 n0/n0 has no gpu", "0 n1/gpu0", "0 n2/gpu0"));
  EXPECT_EQ(plan->tasks[1].ranks.size(), 2U);
  EXPECT_EQ(plan->tasks[1].facts.at("loopback"), "true");
  stage.placement.each = "nic";
  EXPECT_FALSE(make_plan(suite_of({stage}), mixed_nodes(3), kernels)) << "it runs on no port";
}

TEST(Loopback, WaivesByNameWhatIsNotThereOrNotActive) {
  std::vector<PlanNode> nodes = mixed_nodes(2);
  nodes.push_back({.name = "bare"});
  nodes.push_back({.name = "blind", .endpoints = {{.kind = "gpu", .name = "gpu0"}}});
  nodes[1].endpoints[1].active = false;  // mlx5_1 of n1
  nodes.push_back(nodes[1]);
  nodes.back().name = "idle";
  nodes.back().endpoints[2].active = false;  // its gpu0
  const auto plan = make_plan(suite_of({loopback("gpu_nic")}), nodes, kernels_with_memory());
  ASSERT_TRUE(plan) << plan.error().message;
  std::set<std::string> reasons;
  for (const PlannedTask& task : plan->tasks) reasons.insert(task.waived_reason);
  EXPECT_THAT(reasons,
              ElementsAre("", "bare has no gpu and no nic", "blind has no nic",
                          "idle/gpu0 is not active", "n0 has no gpu", "n1/mlx5_1:1 is not active"));
}

TEST(Loopback, PairsKnowNothingOfIt) {
  const auto plan = make_plan(suite_of({stage_of("fake.memory", PlacementKind::kPairs)}),
                              mixed_nodes(3), kernels_with_memory());
  ASSERT_TRUE(plan) << plan.error().message;
  for (const PlannedTask& task : plan->tasks) {
    EXPECT_THAT(task.facts, IsEmpty());
    EXPECT_NE(task.ranks[0].node, task.ranks[1].node);
  }
}

TEST(Loopback, RefusesDevicesWhereThePlacementChoosesThePort) {
  std::vector<KernelInfo> kernels = kernels_with_memory();
  add_parameter(kernels.back(), "devices", "text", "", true);
  const auto refusal = [&](Stage stage, const char* devices) {
    stage.parameters["devices"] = devices;
    const auto plan = make_plan(suite_of({stage}), mixed_nodes(2), kernels);
    return plan ? std::string() : plan.error().message;
  };
  constexpr const char* kTwo = "mlx5_0:1,mlx5_1:1";
  for (const char* each : {"", "nic", "gpu", "gpu_nic"})
    EXPECT_EQ(
        refusal(loopback(each), kTwo),
        "plan: stage 0: parameter devices: is \"mlx5_0:1,mlx5_1:1\", but loopback chooses the "
        "port; leave devices out, or place by pairs: all without endpoint");
  Stage pairs = stage_of("fake.memory", PlacementKind::kPairs);
  EXPECT_EQ(refusal(pairs, kTwo), "") << "no port of these is chosen";
  pairs.placement.endpoint = "mlx5_0:1";
  EXPECT_THAT(refusal(pairs, kTwo), HasSubstr("but endpoint: mlx5_0:1 chooses the port"));
  EXPECT_EQ(refusal(pairs, ""), "") << "empty is what leaving it out means";
  EXPECT_EQ(refusal(loopback("nic"), ""), "");
}

TEST(Loopback, RefusesKernelsThatDoNotFit) {
  const auto refusal = [](const Stage& stage) {
    const auto plan = make_plan(suite_of({stage}), mixed_nodes(2), kernels_with_memory());
    return plan ? std::string() : plan.error().message;
  };
  Stage stage = loopback("gpu_nic");
  stage.kernel = "fake.lat";
  EXPECT_EQ(refusal(stage),
            "plan: stage 0: each: gpu_nic does not fit fake.lat, which uses no GPU's memory");
  stage = loopback("gpu_nic");
  stage.parameters["gpu"] = "1";
  EXPECT_THAT(refusal(stage), HasSubstr("chooses the GPU; leave out the parameter gpu"));
  stage = loopback("");
  stage.kernel = "fake.group";
  EXPECT_THAT(refusal(stage), HasSubstr("loopback does not fit fake.group, which runs on none"));
}

}  // namespace
}  // namespace railgauge::plan
