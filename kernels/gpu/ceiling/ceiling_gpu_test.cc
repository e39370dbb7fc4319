// On a real GPU: the driver and NVML describe it, within what such GPUs have.
#include "kernels/gpu/ceiling/ceiling.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "kernels/testing/gpu_presence.h"

namespace railgauge::gpu {
namespace {

class CeilingOnGpu : public ::testing::Test {
 protected:
  void SetUp() override { need_whole_gpus(); }
};

TEST_F(CeilingOnGpu, TheDriverDescribesMemoryAndLinks) {
  auto gpu = Gpu::open("gpu0");
  ASSERT_TRUE(gpu) << gpu.error().message;
  const auto memory = memory_parts(*gpu);
  ASSERT_TRUE(memory) << memory.error().message;
  const auto copy = copy_ceiling(*memory, 4ULL << 30U);
  ASSERT_TRUE(copy);
  fmt::print("a copy of 4 GiB: {:.1f} GB/s: {}\n", copy->bytes_per_second / 1e9, copy->words);
  EXPECT_GT(copy->bytes_per_second, 50e9);
  EXPECT_LT(copy->bytes_per_second, 20e12);
  const PeerParts parts = peer_parts(*gpu);
  fmt::print("{} NVLinks of {:.3g} GB/s, PCIe {:.3g} GB/s\n", parts.links,
             parts.link_bytes_per_second / 1e9, parts.pcie_bytes_per_second / 1e9);
  if (parts.links > 0) {
    EXPECT_GT(parts.link_bytes_per_second, 10e9);
    EXPECT_LT(parts.link_bytes_per_second, 200e9);
  }
}

}  // namespace
}  // namespace railgauge::gpu
