// The lifetime of a Vulkan instance: the real driver gives a process only some dozens.
#include <gtest/gtest.h>

#include "kernels/core/text/units.h"
#include "kernels/dl/vulkan.h"
#include "kernels/fakes/fake_vulkan.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/solo.h"
#include "kernels/gpu/reuse.h"

namespace railgauge {
extern const KernelRow kBarMapCost;
}

namespace railgauge::bar {
namespace {

using fake::vulkan_control;

class VulkanInstances : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    OnFakes::SetUpTestSuite();
    setenv(kVulkanLibraryVariable, RAILGAUGE_FAKE_LIBVULKAN, 1);
  }
  void SetUp() override {
    OnFakes::SetUp();
    vulkan_control().reset();
  }
  void TearDown() override {
    EXPECT_EQ(vulkan_control().live_handles, 0);
    OnFakes::TearDown();
  }
  static void map_once() {
    const fake::RankResult result = fake::run_solo(
        kBarMapCost,
        {.parameters = {{"backend", "vulkan"}, {"sizes", "64KiB"}, {"iterations", "2"}}});
    ASSERT_TRUE(result.status) << result.status.error().message;
  }
};

TEST_F(VulkanInstances, OneServesAWholeListOfKernels) {
  const gpu::KeepWarm keep;
  for (int i = 0; i < 3; ++i) map_once();
  EXPECT_EQ(vulkan_control().instances, 1);
}

TEST_F(VulkanInstances, NothingStaysBehindALoneKernel) {
  map_once();
  EXPECT_EQ(vulkan_control().live_handles, 0);
  map_once();
  EXPECT_EQ(vulkan_control().instances, 2);
}

}  // namespace
}  // namespace railgauge::bar
