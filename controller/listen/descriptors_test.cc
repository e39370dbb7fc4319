#include "controller/listen/descriptors.h"

#include <gtest/gtest.h>

namespace railgauge {
namespace {

TEST(DescriptorBudget, KeepsAQuarterFromTcpButAtLeast16AndAtMost256) {
  EXPECT_EQ(descriptor_budget(64).tcp_end, 64 - 16);
  EXPECT_EQ(descriptor_budget(128).tcp_end, 128 - 32);
  EXPECT_EQ(descriptor_budget(1'024).tcp_end, 1'024 - 256);
  EXPECT_EQ(descriptor_budget(65'536).tcp_end, 65'536 - 256);
}

TEST(DescriptorBudget, IsCrowdedBeforeItsEnd) {
  for (const rlim_t limit : {rlim_t{64}, rlim_t{128}, rlim_t{65'536}}) {
    const DescriptorBudget budget = descriptor_budget(limit);
    EXPECT_EQ(budget.tcp_crowded, budget.tcp_end - budget.tcp_end / 8) << limit;
  }
}

TEST(DescriptorBudget, HoldsForNoLimitAndForOneThatIsTooSmall) {
  EXPECT_EQ(descriptor_budget(RLIM_INFINITY).limit, 2'147'483'647);
  EXPECT_EQ(descriptor_budget(10).tcp_end, 0);
}

}  // namespace
}  // namespace railgauge
