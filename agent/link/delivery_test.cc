#include "agent/link/delivery.h"

#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {

TEST(Delivery, SendsNothingWithoutAStream) {
  Delivery delivery;
  EXPECT_EQ(delivery.allowance(0), 0u);
  delivery.attached(10);
  EXPECT_EQ(delivery.sent_through(), 10u);
  EXPECT_EQ(delivery.allowance(10), Delivery::kBatchRecords);
  delivery.lost();
  EXPECT_EQ(delivery.allowance(10), 0u);
}

TEST(Delivery, StopsWhenItsWindowIsFullAndGoesOnWithAnAcknowledgement) {
  Delivery delivery;
  delivery.attached(0);
  delivery.sent(Delivery::kWindowRecords - 3);
  EXPECT_EQ(delivery.allowance(0), 3u);
  delivery.sent(Delivery::kWindowRecords);
  EXPECT_EQ(delivery.allowance(0), 0u);
  EXPECT_EQ(delivery.allowance(20), 20u);
}

TEST(Delivery, ANewStreamBeginsAtTheFirstUnacknowledgedRecord) {
  Delivery delivery;
  delivery.attached(0);
  delivery.sent(50);
  delivery.lost();
  delivery.attached(12);
  EXPECT_EQ(delivery.sent_through(), 12u);
  EXPECT_EQ(delivery.allowance(12), Delivery::kBatchRecords);
}

}  // namespace
}  // namespace railgauge::agent
