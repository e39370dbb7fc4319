#include "controller/verdict/causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Causes, WhatOnlyTheAffectedHaveComesFirst) {
  const std::vector<ExposedNode> nodes{{"n1", true, {"driver 1 -> 2", "mtu 1 -> 2"}},
                                       {"n2", true, {"driver 1 -> 2"}},
                                       {"n3", true, {"driver 1 -> 2"}},
                                       {"c1", false, {"mtu 1 -> 2"}},
                                       {"c2", false, {}},
                                       {"c3", false, {}}};
  const auto causes = likely_causes(nodes);
  ASSERT_THAT(causes, SizeIs(2));
  EXPECT_THAT(causes[0].changes, ElementsAre("driver 1 -> 2"));
  EXPECT_TRUE(causes[0].explains);
  EXPECT_NEAR(causes[0].p, 1.0 / 20, 1e-9);
  EXPECT_THAT(causes[0].separators, IsEmpty());
  EXPECT_FALSE(causes[1].explains);
  EXPECT_EQ(causes[1].exposed, 2U);
  EXPECT_EQ(causes[1].exposed_affected, 1U);
}

TEST(Causes, WhatAlwaysCameTogetherIsOneBundleWithNodesToTellItApart) {
  const std::vector<ExposedNode> nodes{{"n1", true, {"driver 1 -> 2", "firmware 3 -> 4"}},
                                       {"n2", true, {"driver 1 -> 2", "firmware 3 -> 4"}},
                                       {"c1", false, {}}};
  const auto causes = likely_causes(nodes);
  ASSERT_THAT(causes, SizeIs(1));
  EXPECT_THAT(causes[0].changes, ElementsAre("driver 1 -> 2", "firmware 3 -> 4"));
  EXPECT_THAT(causes[0].separators, ElementsAre("n1", "n2"));
}

TEST(Causes, AHalfAffectedCohortIsNotExplained) {
  const std::vector<ExposedNode> nodes{
      {"n1", true, {"driver"}}, {"n2", false, {"driver"}}, {"c1", false, {}}};
  EXPECT_FALSE(likely_causes(nodes).at(0).explains);
  EXPECT_THAT(likely_causes({}), IsEmpty());
}

}  // namespace
}  // namespace railgauge::analysis
