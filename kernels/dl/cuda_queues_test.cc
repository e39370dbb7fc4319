#include <gmock/gmock.h>

#include "kernels/dl/cuda.h"

namespace railgauge {
namespace {

TEST(HardwareQueues, AreTheDriversDefaultUnlessOneGpuMayRunMoreStreams) {
  for (const std::size_t gpus : {0U, 1U, 2U, 4U, 6U}) EXPECT_EQ(hardware_queues(gpus), 8U) << gpus;
  EXPECT_EQ(hardware_queues(8), 10U);
  EXPECT_EQ(hardware_queues(16), 18U);
  EXPECT_EQ(hardware_queues(72), 32U) << "the driver takes no more";
}

}  // namespace
}  // namespace railgauge
