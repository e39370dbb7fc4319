#include "controller/listen/arrivals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

TEST(Arrivals, OverTheBoundOfASourceItsOldestLeaves) {
  Arrivals arrivals({.most = 100, .most_of_a_source = 2});
  EXPECT_EQ(arrivals.enter(1, "a", 0), std::nullopt);
  EXPECT_EQ(arrivals.enter(2, "b", 1), std::nullopt);
  EXPECT_EQ(arrivals.enter(3, "a", 2), std::nullopt);
  EXPECT_THAT(arrivals.enter(4, "a", 3), Optional(1));
  EXPECT_THAT(arrivals.enter(5, "a", 4), Optional(3));
  EXPECT_EQ(arrivals.size_of("a"), 2U);
  EXPECT_EQ(arrivals.size_of("b"), 1U);
}

TEST(Arrivals, OverTheBoundOfAllTheOldestOfTheBiggestSourceLeavesAndNotTheOldestOfAll) {
  Arrivals arrivals({.most = 4});
  arrivals.enter(1, "honest", 0);
  for (std::uint64_t id = 2; id <= 4; ++id) arrivals.enter(id, "flood", static_cast<double>(id));
  EXPECT_THAT(arrivals.enter(5, "flood", 5), Optional(2));
  EXPECT_THAT(arrivals.enter(6, "late", 6), Optional(3));
  EXPECT_EQ(arrivals.biggest_source(), "flood");
  EXPECT_EQ(arrivals.size_of("honest"), 1U);
  EXPECT_EQ(arrivals.size(), 4U);
}

TEST(Arrivals, BetweenEqualSourcesTheOlderConnectionLeaves) {
  Arrivals arrivals({.most = 2});
  arrivals.enter(1, "z", 0);
  arrivals.enter(2, "a", 1);
  EXPECT_THAT(arrivals.enter(3, "m", 2), Optional(1));
}

TEST(Arrivals, AreExpiredInOrderOnceTheirTimeIsOver) {
  Arrivals arrivals({.seconds = 10});
  arrivals.enter(1, "a", 0);
  arrivals.enter(2, "b", 4);
  arrivals.enter(3, "a", 5);
  EXPECT_THAT(arrivals.next_expiry(3), Optional(7));
  EXPECT_THAT(arrivals.expired(9.9), IsEmpty());
  EXPECT_THAT(arrivals.expired(14), ElementsAre(1, 2));
  EXPECT_THAT(arrivals.next_expiry(20), Optional(0));
  EXPECT_THAT(arrivals.expired(15), ElementsAre(3));
  EXPECT_EQ(arrivals.next_expiry(15), std::nullopt);
}

TEST(Arrivals, AConnectionThatLeftIsNeitherShedNorExpired) {
  Arrivals arrivals({.most_of_a_source = 2, .seconds = 10});
  arrivals.enter(1, "a", 0);
  arrivals.enter(2, "a", 0);
  EXPECT_TRUE(arrivals.leave(1));
  EXPECT_FALSE(arrivals.leave(1));
  EXPECT_EQ(arrivals.enter(3, "a", 1), std::nullopt);
  EXPECT_THAT(arrivals.shed(), Optional(2));
  EXPECT_THAT(arrivals.shed(), Optional(3));
  EXPECT_EQ(arrivals.shed(), std::nullopt);
  EXPECT_EQ(arrivals.biggest_source(), "");
  EXPECT_THAT(arrivals.expired(100), IsEmpty());
}

}  // namespace
}  // namespace railgauge
