#include "kernels/core/base/minute_quota.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(MinuteQuota, CountsWhatComesBeyondItAndTellsItOnce) {
  MinuteQuota quota(2);
  EXPECT_TRUE(quota.take("n1", 100));
  EXPECT_TRUE(quota.take("n1", 101));
  EXPECT_FALSE(quota.take("n1", 102));
  EXPECT_FALSE(quota.take("n1", 159.9));
  EXPECT_TRUE(quota.take("n2", 159.9)) << "each peer has its own";
  EXPECT_THAT(quota.end_minutes(159.9), IsEmpty());
  EXPECT_THAT(quota.end_minutes(160), ElementsAre(Pair("n1", 2)));
  EXPECT_TRUE(quota.take("n1", 160));
  EXPECT_THAT(quota.end_minutes(500), IsEmpty());
}

TEST(MinuteQuota, WithoutALookAtTheEndAMinuteKeepsItsCount) {
  MinuteQuota quota(1);
  EXPECT_TRUE(quota.take("n1", 0));
  EXPECT_FALSE(quota.take("n1", 1));
  EXPECT_FALSE(quota.take("n1", 61)) << "the count is not reported yet";
  EXPECT_THAT(quota.end_minutes(61), ElementsAre(Pair("n1", 2)));
  EXPECT_TRUE(quota.take("n1", 61));
  EXPECT_TRUE(quota.take("n1", 122)) << "nothing was left out: a new minute";
}

TEST(MinuteQuota, ManyPeersTakeBoundedMemoryAndShareTheLastQuota) {
  MinuteQuota quota(1);
  std::size_t allowed = 0;
  for (std::size_t peer = 0; peer < 3 * MinuteQuota::kMostKeys; ++peer)
    allowed += quota.take(fmt::format("p{}", peer), 0) ? 1 : 0;
  EXPECT_EQ(allowed, MinuteQuota::kMostKeys + 1);
  EXPECT_THAT(quota.end_minutes(60),
              ElementsAre(Pair(std::string(MinuteQuota::kOthers), 2 * MinuteQuota::kMostKeys - 1)));
  EXPECT_TRUE(quota.take("p0", 60));
}

}  // namespace
}  // namespace railgauge
