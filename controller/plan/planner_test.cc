#include "controller/plan/planner.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/testing/plan_testing.h"

namespace railgauge::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Planner, LaysStagesOneAfterTheOtherWithStableIds) {
  const auto nodes = some_nodes(4);
  const auto plan = make_plan(suite_of({stage_of("fake.lat", PlacementKind::kPairs),
                                        stage_of("fake.bw", PlacementKind::kPairs)}),
                              nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->rounds, 6u);
  ASSERT_EQ(plan->tasks.size(), 12u);
  EXPECT_THAT(plan->nodes, ElementsAre("n1", "n2", "n3", "n4"));
  for (std::size_t i = 0; i < plan->tasks.size(); ++i) {
    const PlannedTask& task = plan->tasks[i];
    EXPECT_EQ(task.id, fmt::format("t{:04}", i + 1));
    EXPECT_EQ(task.stage, i / 6);
    EXPECT_EQ(task.round, i / 2);
    EXPECT_EQ(task.ranks.size(), 2u);
    EXPECT_EQ(task.waived_reason, "");
  }
}

TEST(Planner, FillsInDefaultsAndNamesTheIdentity) {
  Stage stage = stage_of("fake.bw", PlacementKind::kPairs);
  stage.parameters["sizes"] = "64 KiB";
  const auto plan = make_plan(suite_of({stage}), some_nodes(2), fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  const PlannedTask& task = plan->tasks.at(0);
  EXPECT_EQ(task.parameters.at("sizes"), "64KiB");
  EXPECT_EQ(task.parameters.at("depth"), "16");
  EXPECT_THAT(task.identity_parameters, IsEmpty()) << "what is at its default is no part of it";
  stage.parameters["depth"] = "0064";
  const auto deeper = make_plan(suite_of({stage}), some_nodes(2), fake_kernels());
  ASSERT_TRUE(deeper) << deeper.error().message;
  EXPECT_THAT(deeper->tasks.at(0).identity_parameters, ElementsAre("depth"));
}

// The runner writes the slice that it measured into slice_uuid, which is at its default here.
TEST(Planner, ASliceOfAGpuIsPartOfTheIdentityWhereSlicesAreMeasured) {
  std::vector<KernelInfo> kernels = fake_kernels();
  KernelInfo& gpu = kernels.at(3);
  add_parameter(gpu, "slices", "choice", "waive", true);
  gpu.mutable_parameters()->rbegin()->add_choices("waive");
  gpu.mutable_parameters()->rbegin()->add_choices("measure");
  add_parameter(gpu, "slice_uuid", "text", "", true);
  std::vector<PlanNode> nodes = some_nodes(1);
  nodes[0].endpoints.push_back({.kind = "gpu", .name = "gpu0", .active = true});
  Stage stage = stage_of("fake.gpu", PlacementKind::kLocal);
  const auto identity = [&] {
    const auto plan = make_plan(suite_of({stage}), nodes, kernels);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    return plan ? plan->tasks.at(0).identity_parameters : std::vector<std::string>{"none"};
  };
  EXPECT_THAT(identity(), IsEmpty());
  stage.parameters["slices"] = "measure";
  EXPECT_THAT(identity(), ElementsAre("slices", "slice_uuid"));
  stage.parameters["slice_uuid"] = "MIG-3f";
  EXPECT_THAT(identity(), ElementsAre("slices", "slice_uuid"));
}

TEST(Planner, AParameterThatALaterVersionAddsLeavesTheSeriesOfUnchangedMeasurementsAlone) {
  std::vector<KernelInfo> later = fake_kernels();
  for (KernelInfo& kernel : later) {
    add_parameter(kernel, "added", "choice", "as_before", true);
    kernel.mutable_parameters()->rbegin()->add_choices("as_before");
    kernel.mutable_parameters()->rbegin()->add_choices("otherwise");
  }
  const auto identity = [](const Stage& stage, const std::vector<KernelInfo>& kernels) {
    const auto plan = make_plan(suite_of({stage}), some_nodes(2), kernels);
    EXPECT_TRUE(plan) << (plan ? "" : plan.error().message);
    std::map<std::string, std::string> key;  // as the store forms it
    if (plan)
      for (const std::string& name : plan->tasks.at(0).identity_parameters)
        key[name] = plan->tasks.at(0).parameters.at(name);
    return key;
  };
  Stage stage = stage_of("fake.bw", PlacementKind::kPairs);
  for (const char* depth : {"16", "64"}) {
    stage.parameters = {{"depth", depth}};
    const auto before = identity(stage, fake_kernels());
    EXPECT_EQ(identity(stage, later), before) << depth;
    stage.parameters["added"] = "as_before";
    EXPECT_EQ(identity(stage, later), before) << "who says the default means the same";
    stage.parameters["added"] = "otherwise";
    EXPECT_NE(identity(stage, later), before) << depth;
  }
}

TEST(Planner, GroupTakesAllNodesAndLocalEachAlone) {
  const auto plan = make_plan(suite_of({stage_of("fake.group", PlacementKind::kGroup),
                                        stage_of("fake.group", PlacementKind::kLocal)}),
                              some_nodes(3), fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->tasks.size(), 4u);
  EXPECT_EQ(plan->rounds, 2u);
  EXPECT_EQ(plan->tasks[0].ranks.size(), 3u);
  EXPECT_EQ(plan->tasks[0].ranks[2].node, "n3");
  EXPECT_EQ(plan->tasks[3].ranks.size(), 1u);
  EXPECT_EQ(plan->tasks[3].round, 1u);
}

TEST(Planner, TakesTheFirstActivePortBySlotThenName) {
  std::vector<PlanNode> nodes = some_nodes(2);
  nodes[0].endpoints = {
      {.kind = "nic", .name = "rxe0:1", .active = true},
      {.kind = "nic", .name = "mlx5_1:1", .pci_address = "0000:9f:00.0", .active = true},
      {.kind = "nic", .name = "mlx5_9:1", .pci_address = "0000:3b:00.0", .active = true},
      {.kind = "nic", .name = "mlx5_0:1", .pci_address = "0000:1a:00.0"},
      {.kind = "gpu", .name = "gpu0", .pci_address = "0000:01:00.0", .active = true}};
  const auto plan =
      make_plan(suite_of({stage_of("fake.lat", PlacementKind::kPairs)}), nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->tasks.at(0).ranks.at(0).endpoint, "mlx5_9:1");
  EXPECT_EQ(plan->tasks.at(0).ranks.at(1).endpoint, "rxe0:1");
}

TEST(Planner, TakesTheEndpointThatTheStageNames) {
  std::vector<PlanNode> nodes = some_nodes(2);
  for (PlanNode& node : nodes)
    node.endpoints.push_back({.kind = "nic", .name = "rxe1:1", .active = true});
  Stage stage = stage_of("fake.lat", PlacementKind::kPairs);
  stage.placement.endpoint = "rxe1:1";
  const auto plan = make_plan(suite_of({stage}), nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->tasks.at(0).ranks.at(0).endpoint, "rxe1:1");
}

// n1 with gpu0 and gpu1, n2 with gpu0 alone; the numbers are not in the order of the slots.
std::vector<PlanNode> gpu_nodes() {
  std::vector<PlanNode> nodes = some_nodes(2);
  for (PlanNode& node : nodes)
    node.endpoints.push_back(
        {.kind = "gpu", .name = "gpu0", .pci_address = "0000:9f:00.0", .active = true});
  nodes[0].endpoints.push_back(
      {.kind = "gpu", .name = "gpu1", .pci_address = "0000:17:00.0", .active = true});
  return nodes;
}

Stage each_gpu() {
  Stage stage = stage_of("fake.gpu", PlacementKind::kLocal);
  stage.placement.each = "gpu";
  return stage;
}

TEST(Planner, EachTakesANodesGpusOneAfterTheOtherAndNodesSideBySide) {
  const auto plan = make_plan(suite_of({each_gpu()}), gpu_nodes(), fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(placed(*plan), ElementsAre("0 n1/gpu1", "0 n2/gpu0", "1 n1/gpu0"));
  EXPECT_EQ(plan->rounds, 2u);
  EXPECT_DOUBLE_EQ(plan->expected_seconds, 2 * plan->tasks.at(0).expected_seconds);
}

// Such figures are lower than one by one: the parameter makes them series of their own.
TEST(Planner, TogetherTakesANodesGpusAtOnceAsSeriesOfTheirOwn) {
  Stage stage = each_gpu();
  stage.placement.together = true;
  const auto plan = make_plan(suite_of({stage}), gpu_nodes(), fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(placed(*plan), ElementsAre("0 n1/gpu1", "0 n1/gpu0", "0 n2/gpu0"));
  EXPECT_DOUBLE_EQ(plan->expected_seconds, plan->tasks.at(0).expected_seconds);
  for (const PlannedTask& task : plan->tasks) {
    const bool alone = task.ranks.at(0).node == "n2";
    EXPECT_EQ(task.parameters.at("beside"), alone ? "0" : "1");
    EXPECT_EQ(task.identity_parameters,
              alone ? std::vector<std::string>{} : std::vector<std::string>{"beside"});
  }
}

TEST(Planner, EachWaivesWhatIsNotActiveByNameAndNodesWithout) {
  std::vector<PlanNode> nodes = gpu_nodes();
  nodes[0].endpoints.back().active = false;
  nodes[1].endpoints.clear();
  const auto plan = make_plan(suite_of({each_gpu()}), nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(placed(*plan),
              ElementsAre("0 n1/gpu0", "0 n2/n2 has no gpu", "1 n1/n1/gpu1 is not active"));
}

// A container's agent sees all GPUs of its machine and was given some.
TEST(Planner, GpusThatAContainerWasNotGivenAreNamedInANote) {
  std::vector<PlanNode> nodes = gpu_nodes();
  nodes[1].hidden_gpus = {"0000:17:00.0"};
  auto plan = make_plan(suite_of({each_gpu()}), nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(placed(*plan), ElementsAre("0 n1/gpu1", "0 n2/gpu0", "1 n1/gpu0"));
  EXPECT_THAT(plan->notes,
              ElementsAre("left out: 1 GPU that the agent's container was not given: n2 "
                          "0000:17:00.0"));
  nodes[0].hidden_gpus.assign(7, "0000:3b:00.0");
  plan = make_plan(suite_of({each_gpu()}), nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan->notes, ElementsAre(AllOf(HasSubstr("8 GPUs"), HasSubstr("n1 0000:3b:00.0"),
                                             EndsWith(", ..."))));
}

TEST(Planner, EachTakesPortsToo) {
  std::vector<PlanNode> nodes = some_nodes(1);
  nodes[0].endpoints.push_back({.kind = "nic", .name = "rxe1:1", .active = true});
  Stage stage = stage_of("fake.nic", PlacementKind::kLocal);
  stage.placement.each = "nic";
  const auto plan = make_plan(suite_of({stage}), nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(placed(*plan), ElementsAre("0 n1/rxe0:1", "1 n1/rxe1:1"));
}

TEST(Planner, WithoutEachALocalStageTakesOneGpuANode) {
  const auto plan = make_plan(suite_of({stage_of("fake.gpu", PlacementKind::kLocal)}), gpu_nodes(),
                              fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(placed(*plan), ElementsAre("0 n1/gpu1", "0 n2/gpu0"));
}

TEST(Planner, ANodeWithoutAFittingEndpointIsWaivedNotDropped) {
  std::vector<PlanNode> nodes = some_nodes(3);
  nodes[1].endpoints.clear();
  nodes[2].endpoints[0].active = false;
  const auto plan =
      make_plan(suite_of({stage_of("fake.lat", PlacementKind::kPairs)}), nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->tasks.size(), 3u);
  std::set<std::string> reasons;
  for (const PlannedTask& task : plan->tasks) {
    reasons.insert(task.waived_reason);
    EXPECT_EQ(task.expected_seconds, 0);
    EXPECT_EQ(task.expected_bytes, 0);
  }
  EXPECT_THAT(reasons, ElementsAre("n2 has no nic", "n2 has no nic; n3 has no active nic",
                                   "n3 has no active nic"));
  EXPECT_EQ(plan->expected_seconds, 0);
}

TEST(Planner, AKernelWithoutEndpointsNeedsNone) {
  std::vector<PlanNode> nodes{{.name = "a"}, {.name = "b"}};
  const auto plan =
      make_plan(suite_of({stage_of("fake.group", PlacementKind::kGroup)}), nodes, fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->tasks.at(0).waived_reason, "");
  EXPECT_EQ(plan->tasks.at(0).ranks.at(0).endpoint, "");
}

TEST(Planner, ExpectsTheTimeCapForEachSizeAndAddsTheOverhead) {
  Stage bandwidth = stage_of("fake.bw", PlacementKind::kPairs);
  bandwidth.parameters = {{"sizes", "8,64KiB"}, {"time_cap", "500ms"}};
  Stage counted = stage_of("fake.lat", PlacementKind::kPairs);
  counted.parameters = {{"sizes", "1KiB"}, {"iterations", "100"}, {"time_cap", "3s"}};
  counted.deadline_seconds = 7;
  counted.raw_samples = true;
  const auto plan = make_plan(suite_of({bandwidth, counted}), some_nodes(2), fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  const PlannedTask& first = plan->tasks.at(0);
  EXPECT_DOUBLE_EQ(first.expected_seconds, 2 * 0.5 + kTaskOverheadSeconds);
  EXPECT_DOUBLE_EQ(first.expected_bytes, 1e9) << "8 Gb/s for 1 s";
  EXPECT_DOUBLE_EQ(first.deadline_seconds,
                   kDeadlineFactor * first.expected_seconds + kDeadlineSlackSeconds);
  const PlannedTask& second = plan->tasks.at(1);
  EXPECT_DOUBLE_EQ(second.expected_bytes, 100 * 1024);
  EXPECT_DOUBLE_EQ(second.deadline_seconds, 7);
  EXPECT_TRUE(second.raw_samples && !first.raw_samples);
  EXPECT_DOUBLE_EQ(plan->expected_seconds, first.expected_seconds + second.expected_seconds);
}

TEST(Planner, ATasksProofIsPartOfItsTime) {
  std::vector<KernelInfo> kernels = fake_kernels();
  add_parameter(kernels.at(0), "verify", "boolean", "true");
  add_parameter(kernels.at(0), "proof_time", "duration", "2s");
  Stage proved = stage_of(kernels.at(0).name(), PlacementKind::kPairs);
  proved.parameters = {{"sizes", "8,64KiB"}, {"time_cap", "1s"}, {"proof_time", "500ms"}};
  Stage trusted = proved;
  trusted.parameters["verify"] = "false";
  const auto plan = make_plan(suite_of({proved, trusted}), some_nodes(2), kernels);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_DOUBLE_EQ(plan->tasks.at(0).expected_seconds, 2 * 1 + 0.5 + kTaskOverheadSeconds);
  EXPECT_DOUBLE_EQ(plan->tasks.at(1).expected_seconds, 2 * 1 + kTaskOverheadSeconds);
}

TEST(Planner, AGivenDurationEndsBeforeTheDeadlineItself) {
  std::vector<KernelInfo> kernels = fake_kernels();
  KernelInfo& bandwidth = kernels.at(1);
  ASSERT_EQ(bandwidth.name(), "fake.bw");
  add_parameter(bandwidth, "duration", "duration", "0s");
  Stage longer = stage_of("fake.bw", PlacementKind::kPairs);
  longer.parameters = {{"sizes", "8,64KiB"}, {"duration", "60s"}};
  Stage shorter = longer;
  shorter.parameters["duration"] = "10ms";
  Stage none = stage_of("fake.bw", PlacementKind::kPairs);
  const auto plan = make_plan(suite_of({longer, shorter, none}), some_nodes(2), kernels);
  ASSERT_TRUE(plan) << plan.error().message;
  const double cap_seconds = 5;
  const PlannedTask& first = plan->tasks.at(0);
  EXPECT_DOUBLE_EQ(first.expected_seconds, 2 * 60 + kTaskOverheadSeconds);
  EXPECT_DOUBLE_EQ(first.expected_bytes, 120e9) << "8 Gb/s for 120 s";
  EXPECT_GT(first.deadline_seconds, 2 * 60.0);
  EXPECT_DOUBLE_EQ(plan->tasks.at(1).expected_seconds, 2 * cap_seconds + kTaskOverheadSeconds);
  EXPECT_DOUBLE_EQ(plan->tasks.at(2).expected_seconds, cap_seconds + kTaskOverheadSeconds);
}

TEST(Planner, CountsEveryOrderedPairOfANodesGpus) {
  std::vector<KernelInfo> kernels = fake_kernels();
  KernelInfo& gpu = kernels.at(3);
  ASSERT_EQ(gpu.name(), "fake.gpu");
  add_parameter(gpu, "gpus", "text", "all");
  std::vector<PlanNode> nodes = some_nodes(1);
  for (int i = 0; i < 8; ++i)
    nodes.front().endpoints.push_back(
        {.kind = "gpu", .name = fmt::format("gpu{}", i), .active = true});
  Stage all = stage_of("fake.gpu", PlacementKind::kLocal);
  Stage three = all;
  three.parameters["gpus"] = "0,1,2";
  Stage one = all;
  one.parameters["gpus"] = "5";
  const auto plan = make_plan(suite_of({all, three, one}), nodes, kernels);
  ASSERT_TRUE(plan) << plan.error().message;
  const double cap_seconds = 5;
  EXPECT_DOUBLE_EQ(plan->tasks.at(0).expected_seconds, 56 * cap_seconds + kTaskOverheadSeconds);
  EXPECT_GT(plan->tasks.at(0).deadline_seconds, 56 * cap_seconds);
  EXPECT_DOUBLE_EQ(plan->tasks.at(1).expected_seconds, 6 * cap_seconds + kTaskOverheadSeconds);
  EXPECT_DOUBLE_EQ(plan->tasks.at(2).expected_seconds, cap_seconds + kTaskOverheadSeconds);

  nodes.front().endpoints.resize(2);  // the NIC and one GPU
  const auto lone = make_plan(suite_of({all}), nodes, kernels);
  ASSERT_TRUE(lone) << lone.error().message;
  EXPECT_DOUBLE_EQ(lone->tasks.at(0).expected_seconds, cap_seconds + kTaskOverheadSeconds);
}

std::string refused(const Suite& suite, std::span<const PlanNode> nodes) {
  const auto plan = make_plan(suite, nodes, fake_kernels());
  EXPECT_FALSE(plan);
  if (plan) return "";
  EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
  return plan.error().message;
}

TEST(Planner, RefusesWhatCannotBePlannedAndSaysWhy) {
  const auto pairs = suite_of({stage_of("fake.lat", PlacementKind::kPairs)});
  EXPECT_THAT(refused(pairs, {}), HasSubstr("no nodes chosen"));
  EXPECT_THAT(refused(pairs, some_nodes(1)), HasSubstr("at least 2 nodes, 1 chosen"));
  std::vector<PlanNode> twice = some_nodes(2);
  twice[1].name = "n1";
  EXPECT_THAT(refused(pairs, twice), HasSubstr("n1 is named twice"));
  EXPECT_THAT(refused(suite_of({stage_of("fake.gone", PlacementKind::kPairs)}), some_nodes(2)),
              HasSubstr("\"fake.gone\" is unknown here"));
  EXPECT_THAT(refused(suite_of({stage_of("fake.lat", PlacementKind::kGroup)}), some_nodes(3)),
              HasSubstr("takes 2 to 2 ranks, the placement gives 3"));
  Stage each = stage_of("fake.group", PlacementKind::kLocal);
  each.placement.each = "gpu";
  EXPECT_THAT(refused(suite_of({each}), some_nodes(2)),
              HasSubstr("each: gpu does not fit fake.group, which runs on none"));
  Stage wrong = stage_of("fake.lat", PlacementKind::kPairs);
  wrong.parameters["iterations"] = "-1";
  EXPECT_THAT(refused(suite_of({wrong}), some_nodes(2)), HasSubstr("iterations"));
}

TEST(Planner, BoundsTheTasksOfAList) {
  const auto suite = suite_of({stage_of("fake.lat", PlacementKind::kPairs)});
  EXPECT_THAT(refused(suite, some_nodes(700)),
              HasSubstr("244650 tasks in 699 rounds; a list has at most 200000"));
}

}  // namespace
}  // namespace railgauge::plan
