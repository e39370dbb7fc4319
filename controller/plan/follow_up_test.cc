#include "controller/plan/follow_up.h"

#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/testing/plan_testing.h"

namespace railgauge::plan {
namespace {

Plan pairs_of(std::size_t nodes, const std::string& kernel = "fake.bw") {
  auto plan = make_plan(suite_of({stage_of(kernel, PlacementKind::kPairs)}), some_nodes(nodes),
                        fake_kernels());
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

std::vector<PlannedTask> follow_ups(const Plan& plan, std::span<const WantedPair> pairs,
                                    std::uint32_t number, const NodeOf& node_of = {}) {
  return follow_ups_of(plan, PlannedPairs(plan, pairs), pairs, number, node_of);
}

std::optional<PlannedTask> follow_up_of(const Plan& plan, const WantedPair& wanted,
                                        std::uint32_t number, const NodeOf& node_of = {}) {
  std::vector<PlannedTask> tasks = follow_ups(plan, {&wanted, 1}, number, node_of);
  return tasks.empty() ? std::nullopt : std::optional(std::move(tasks[0]));
}

WantedPair wanted(const std::string& from, const std::string& to) {
  return {.kernel = "fake.bw", .from = from, .to = to, .memory = "host", .purpose = "same leaf"};
}

TEST(FollowUp, IsAsThePlannedTaskOfThatPair) {
  const Plan plan = pairs_of(4);
  const auto task = follow_up_of(plan, wanted("n1", "n3"), 7);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->id, "d0007");
  EXPECT_TRUE(is_follow_up(task->id));
  EXPECT_FALSE(is_follow_up(plan.tasks[0].id));
  EXPECT_EQ(task->ranks[0].node, "n1");
  EXPECT_EQ(task->ranks[1].node, "n3");
  EXPECT_EQ(task->parameters, plan.tasks[0].parameters);
  EXPECT_EQ(task->facts.at(kFollowUpFact), "same leaf");
  EXPECT_EQ(task->round, plan.rounds);
}

TEST(FollowUp, OfAPairThatIsMeasuredTwiceIsNamedAsSuch) {
  WantedPair again = wanted("n1", "n3");
  again.purpose = kMeasuredTwice;
  const auto task = follow_up_of(pairs_of(4), again, 8);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->id, "a0008");
  EXPECT_TRUE(is_follow_up(task->id));
}

TEST(FollowUp, GoesTheOtherWayTooWhereThePairWasPlannedInOneDirection) {
  const auto task = follow_up_of(pairs_of(4), wanted("n3", "n1"), 1);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->ranks[0].node, "n3");
  EXPECT_EQ(task->ranks[1].node, "n1");
}

TEST(FollowUp, IsNotThereForANodeKernelOrMemoryThatWasNotPlanned) {
  const Plan plan = pairs_of(4);
  EXPECT_FALSE(follow_up_of(plan, wanted("n1", "n9"), 1));
  WantedPair other = wanted("n1", "n2");
  other.memory = "gpu";
  EXPECT_FALSE(follow_up_of(plan, other, 1));
  other = wanted("n1", "n2");
  other.kernel = "fake.lat";
  EXPECT_FALSE(follow_up_of(plan, other, 1));
  other = wanted("n1", "n2");
  other.other_gpu_of = "n1";
  EXPECT_FALSE(follow_up_of(plan, other, 1)) << "there is no other GPU on that NIC";
}

TEST(FollowUp, AllThatIsWantedIsNumberedInARowAndEachIsOfItsOwnPair) {
  Plan plan = pairs_of(6);
  plan.tasks[3].waived_reason = "no port";
  std::vector<WantedPair> pairs;
  for (int a = 1; a <= 6; ++a)
    for (int b = 1; b <= 7; ++b)
      if (a != b) pairs.push_back(wanted(fmt::format("n{}", a), fmt::format("n{}", b)));
  const std::vector<PlannedTask> tasks = follow_ups(plan, pairs, 5);
  ASSERT_EQ(tasks.size(), 30u) << "n7 is in no task";
  std::erase_if(pairs, [](const WantedPair& pair) { return pair.to == "n7"; });
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    EXPECT_EQ(tasks[i].id, fmt::format("d{:04}", 5 + i));
    EXPECT_EQ(tasks[i].ranks[0].node, pairs[i].from);
    EXPECT_EQ(tasks[i].ranks[1].node, pairs[i].to);
    EXPECT_TRUE(tasks[i].waived_reason.empty());
  }
}

TEST(FollowUp, IsOnTheRailThatIsWanted) {
  Plan plan = pairs_of(4);
  std::vector<PlannedTask> second = plan.tasks;
  for (PlannedTask& task : plan.tasks)
    for (PlannedRank& rank : task.ranks) rank.rail = 0;
  for (PlannedTask& task : second) {
    for (PlannedRank& rank : task.ranks) {
      rank.rail = 1;
      rank.endpoint = "rxe1:1";
    }
    plan.tasks.push_back(task);
  }
  std::vector<WantedPair> pairs(3, wanted("n1", "n3"));
  pairs[1].rail = 1;
  pairs[2].rail = 2;
  const std::vector<PlannedTask> tasks = follow_ups(plan, pairs, 1);
  ASSERT_EQ(tasks.size(), 2u) << "there is no third rail";
  for (const std::size_t rail : {0U, 1U})
    for (const PlannedRank& rank : tasks[rail].ranks)
      EXPECT_EQ(rank.endpoint, rail == 0 ? "rxe0:1" : "rxe1:1");
}

TEST(FollowUp, IsNotOfATaskThatMeasuresBothWaysAtOnce) {
  Plan plan = pairs_of(4);
  for (PlannedTask& task : plan.tasks) task.parameters.set("direction", "both");
  EXPECT_FALSE(follow_up_of(plan, wanted("n1", "n3"), 1));
}

TEST(FollowUp, OfAReadAsksTheOneThatIsToSend) {
  Plan plan = pairs_of(4);
  for (PlannedTask& task : plan.tasks) task.kernel = "fake.read_bw";
  WantedPair pair = wanted("n1", "n3");
  pair.kernel = "fake.read_bw";
  const auto task = follow_up_of(plan, pair, 1);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->ranks[0].node, "n3");
  EXPECT_EQ(task->ranks[1].node, "n1");
}

PlanNode gpu_node(const std::string& name) {
  PlanNode node{.name = name};
  for (const auto& [gpu, distance, active] :
       {std::tuple("gpu0", "PIX", true), std::tuple("gpu1", "PIX", false),
        std::tuple("gpu2", "SYS", true), std::tuple("gpu3", "PXB", true)})
    node.endpoints.push_back(
        {.kind = "gpu", .name = gpu, .active = active, .distances = {{"rxe0", distance}}});
  return node;
}

TEST(FollowUp, OfAnotherGpuHasTheNearestActiveOneThatTheTaskDidNotUseAndThePartnerItsOwn) {
  Plan plan = pairs_of(4);
  for (PlannedTask& task : plan.tasks) {
    task.parameters.set("gpu", "0");
    task.parameters.set("memory", "cuda");
  }
  WantedPair pair = wanted("n1", "n2");
  pair.memory = "gpu";
  pair.other_gpu_of = "n2";
  const auto task = follow_up_of(plan, pair, 1, gpu_node);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->ranks[1].gpu, "gpu3");
  EXPECT_EQ(task->ranks[0].gpu, "");
  for (PlannedTask& one : plan.tasks) one.parameters.set("gpu", "gpu3");
  EXPECT_EQ(follow_up_of(plan, pair, 1, gpu_node)->ranks[1].gpu, "gpu0");
  for (PlannedTask& one : plan.tasks) one.parameters.set("gpu", "GPU-1f");
  EXPECT_FALSE(follow_up_of(plan, pair, 1, gpu_node)) << "which one that is is not known here";
  for (PlannedTask& one : plan.tasks) one.parameters = SharedTexts();
  EXPECT_FALSE(follow_up_of(plan, pair, 1, gpu_node)) << "a kernel that uses no GPU";
}

TEST(FollowUp, OfAGroupHasItsRanksOnTheseNodes) {
  const auto plan = make_plan(suite_of({stage_of("fake.group", PlacementKind::kGroup)}),
                              some_nodes(5), fake_kernels());
  ASSERT_TRUE(plan) << plan.error().message;
  const PlannedTask part = part_of_group(*plan, plan->tasks[0], {"n2", "n4"}, 3);
  EXPECT_EQ(part.id, "g0003");
  ASSERT_EQ(part.ranks.size(), 2u);
  EXPECT_EQ(part.ranks[0].node, "n2");
  EXPECT_EQ(part.ranks[1].node, "n4");
}

}  // namespace
}  // namespace railgauge::plan
