// A multicast team of one process on the fake driver.
#include "kernels/gpu/multicast.h"

#include "kernels/core/base/outcome.h"
#include "kernels/fakes/gpu_fixture.h"

namespace railgauge::gpu {
namespace {

class MulticastTest : public OnFakes {};

TEST_F(MulticastTest, WaivesWithoutTheSwitchOrItsHandles) {
  const auto gpu = Gpu::open("gpu0");
  ASSERT_TRUE(gpu);
  const Status lacking = Multicast::check(*gpu, HandleKind::kPosix);
  ASSERT_FALSE(lacking);
  EXPECT_EQ(outcome_of(lacking.error().code), kWaived);
  fake::cuda_control().multicast = 1;
  EXPECT_TRUE(Multicast::check(*gpu, HandleKind::kPosix));
  EXPECT_FALSE(Multicast::check(*gpu, HandleKind::kFabric));
}

TEST_F(MulticastTest, HasARoundSizeAndEndsUnused) {
  fake::cuda_control().multicast = 1;
  const auto gpu = Gpu::open("gpu0");
  ASSERT_TRUE(gpu);
  const auto made = Multicast::create(*gpu, 1, 2, HandleKind::kPosix);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->size(), 2U << 20U);
}

}  // namespace
}  // namespace railgauge::gpu
