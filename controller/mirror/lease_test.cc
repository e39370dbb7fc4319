#include "controller/mirror/lease.h"

#include <array>

#include <gmock/gmock.h>

#include "controller/mirror/archive_schema.h"
#include "controller/mirror/testing/archive_testing.h"

namespace railgauge::mirror {
namespace {

constexpr LeaseTimes kTimes{.seconds = 15, .renew_seconds = 5, .margin_seconds = 3};

TEST(LeaseHolder, ActsFromTheGrantUntilShortlyBeforeTheEnd) {
  LeaseHolder holder(kTimes);
  EXPECT_EQ(holder.due(100), LeaseStep::kTake);
  EXPECT_FALSE(holder.may_act(100));
  holder.granted(100, 7);
  EXPECT_EQ(holder.due(104), LeaseStep::kWait);
  EXPECT_EQ(holder.due(105), LeaseStep::kRenew);
  EXPECT_TRUE(holder.may_act(111.9));
  EXPECT_FALSE(holder.may_act(112));
  EXPECT_EQ(holder.due(112), LeaseStep::kTake);
}

TEST(LeaseHolder, StopsAtOnceWhenAnotherOneHasIt) {
  LeaseHolder holder(kTimes);
  holder.granted(100, 7);
  holder.refused(105);
  EXPECT_FALSE(holder.may_act(105));
  EXPECT_EQ(holder.generation(), std::nullopt);
}

TEST(LeaseHolder, ActsOnWithoutAnswersOnlyAsLongAsItWasGiven) {
  LeaseHolder holder(kTimes);
  holder.granted(100, 7);
  for (double now = 105; now < 120; now += 2.5) holder.unanswered(now);
  EXPECT_TRUE(holder.may_act(111));
  EXPECT_FALSE(holder.may_act(113));
}

// Whatever the order of grants, losses and silence: two that obey their answers never act at once.
TEST(LeaseHolder, NeverActsBesideAnother) {
  for (std::uint32_t seed = 1; seed <= 2'000; ++seed) {
    std::uint32_t state = seed;
    const auto chance = [&state] { return (state = state * 1'664'525U + 1'013'904'223U) >> 24U; };
    std::array<LeaseHolder, 2> holders{LeaseHolder(kTimes), LeaseHolder(kTimes)};
    double ends = 0;
    std::int64_t generation = 0;
    for (double now = 1; now < 200; now += 0.5) {
      EXPECT_FALSE(holders[0].may_act(now) && holders[1].may_act(now)) << seed << " at " << now;
      for (LeaseHolder& holder : holders) {
        const LeaseStep step = holder.due(now);
        if (step == LeaseStep::kWait) continue;
        const bool is_lost = chance() < 60;     // the request
        const bool is_unheard = chance() < 60;  // the answer
        if (is_lost) {
          holder.unanswered(now);
          continue;
        }
        const bool is_given =
            step == LeaseStep::kTake ? now > ends : holder.generation() == generation;
        if (is_given) ends = now + kTimes.seconds;
        if (is_given && step == LeaseStep::kTake) ++generation;
        if (is_unheard)
          holder.unanswered(now);
        else if (is_given)
          holder.granted(now, generation);
        else
          holder.refused(now);
      }
    }
  }
}

class LeaseRowTest : public ArchiveTest {};

TEST_F(LeaseRowTest, IsOfOneHolderAtATimeAndEachHasAHigherGeneration) {
  auto one = pq::Connection::open({.url = url_});
  auto other = pq::Connection::open({.url = url_});
  ASSERT_TRUE(one && other && ensure_schema(**one));
  EXPECT_EQ(*take_lease(**one, "east", "a", 60), 1);
  EXPECT_EQ(*take_lease(**other, "east", "b", 60), std::nullopt);
  EXPECT_EQ(*take_lease(**other, "west", "b", 60), 1);
  EXPECT_TRUE(*renew_lease(**one, "east", 1, -1));  // ended
  EXPECT_EQ(*take_lease(**other, "east", "b", 60), 2);
  EXPECT_FALSE(*renew_lease(**one, "east", 1, 60));
  EXPECT_TRUE(*renew_lease(**other, "east", 2, 60));
}

}  // namespace
}  // namespace railgauge::mirror
