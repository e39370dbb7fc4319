#include "controller/stats/loss_steps.h"

#include <gtest/gtest.h>

namespace railgauge::analysis {
namespace {

TEST(LossSteps, LossesAreRoundedUpToFewSteps) {
  EXPECT_DOUBLE_EQ(rounded_up_loss(0.015), 0.015);
  EXPECT_DOUBLE_EQ(rounded_up_loss(0.0151), 0.02);
  EXPECT_DOUBLE_EQ(rounded_up_loss(0.0501), 0.06);
  EXPECT_DOUBLE_EQ(rounded_up_loss(0.101), 0.15);
}

TEST(LossSteps, ANoLossAndMoreThanHalfAreNoSight) {
  EXPECT_EQ(rounded_up_loss(0), 0);
  EXPECT_EQ(rounded_up_loss(0.6), 0);
}

}  // namespace
}  // namespace railgauge::analysis
