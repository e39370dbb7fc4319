#include "controller/plan/follow_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/plan_testing.h"

namespace railgauge::plan {
namespace {

Plan pairs_of(std::size_t nodes, const std::string& kernel = "fake.bw") {
  auto plan = make_plan(suite_of({stage_of(kernel, PlacementKind::kPairs)}), some_nodes(nodes),
                        fake_kernels());
  EXPECT_TRUE(plan) << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
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
