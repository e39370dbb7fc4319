#include "controller/store/ingest/node_changes.h"

#include <gtest/gtest.h>

namespace railgauge::store {
namespace {

constexpr double kHour = 3'600;

TEST(NodeChanges, TheSameContentIsNoChangeHoweverOftenItComes) {
  NodeChanges changes;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(changes.take("n1", 7, i).may_store);
  EXPECT_TRUE(changes.take("n1", 8, 100).may_store);
}

TEST(NodeChanges, BeyondTheHoursNumberOnlyTheFirstIsToldAndTheRestIsCounted) {
  NodeChanges changes;
  std::int64_t content = 0;
  for (std::uint32_t i = 0; i < NodeChanges::kMostAnHour; ++i)
    EXPECT_TRUE(changes.take("n1", ++content, i).may_store);
  for (int i = 0; i < 5; ++i) {
    const auto answer = changes.take("n1", ++content, 10);
    EXPECT_FALSE(answer.may_store);
    EXPECT_EQ(answer.is_first_left_out, i == 0);
  }
  EXPECT_TRUE(changes.take("n2", 1, 10).may_store) << "another node";
  EXPECT_FALSE(changes.take("n1", ++content, kHour - 1).may_store);
  const auto later = changes.take("n1", ++content, kHour);
  EXPECT_TRUE(later.may_store);
  EXPECT_EQ(later.left_out_before, 6U);
  EXPECT_EQ(changes.take("n1", ++content, kHour + 1).left_out_before, 0U);
}

TEST(NodeChanges, ADayHasItsOwnNumber) {
  NodeChanges changes;
  std::uint32_t stored = 0;
  for (int i = 0; i < 1'440; ++i) stored += changes.take("n1", i, i * 60.0).may_store ? 1 : 0;
  EXPECT_EQ(stored, NodeChanges::kMostADay);
  EXPECT_TRUE(changes.take("n1", 5'000, 24 * kHour).may_store);
}

TEST(NodeChanges, AClockThatStepsBackDoesNotShutANodeOut) {
  NodeChanges changes;
  for (int i = 0; i < 50; ++i) changes.take("n1", i, 1e9 + i);
  EXPECT_TRUE(changes.take("n1", 100, 5).may_store);
}

}  // namespace
}  // namespace railgauge::store
