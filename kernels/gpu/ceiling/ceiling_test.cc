#include "kernels/gpu/ceiling/ceiling.h"

#include <gmock/gmock.h>

#include <vector>

namespace railgauge::gpu {
namespace {

using ::testing::HasSubstr;

constexpr double kH200Clock = 3.201e9;
constexpr int kH200Bits = 6144;
constexpr std::uint64_t kCache = 50U << 20U;
constexpr MemoryParts kH200{.clock_hz = kH200Clock, .bus_bits = kH200Bits, .cache_bytes = kCache};

TEST(Ceiling, OfACopyIsHalfOfTheMemorysPeakForLargeBuffers) {
  const double peak = kH200Clock * 2 * kH200Bits / 8;
  const auto large = copy_ceiling(kH200, 64ULL << 30U);
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->bytes_per_second, peak / 2, peak * 1e-3);
  EXPECT_THAT(large->words, HasSubstr("6144-bit memory at 3.201 GHz, 4917 GB/s"));
}

// The cache may answer 50 of the 128 MiB that a copy of 64 MiB reads and writes.
TEST(Ceiling, OfACopyLeavesOutWhatTheCacheMayHold) {
  const double peak = kH200Clock * 2 * kH200Bits / 8;
  const auto copy = copy_ceiling(kH200, 64U << 20U);
  ASSERT_TRUE(copy);
  EXPECT_DOUBLE_EQ(copy->bytes_per_second, peak * 64 / (128 - 50));
  EXPECT_FALSE(copy_ceiling(kH200, 25U << 20U)) << "both buffers may be in the cache";
  EXPECT_TRUE(copy_ceiling(kH200, (25U << 20U) + 1));
}

TEST(Ceiling, IsAbsentWhereTheDriverDoesNotDescribeTheMemory) {
  EXPECT_FALSE(copy_ceiling({.clock_hz = 0, .bus_bits = kH200Bits, .cache_bytes = 0}, 1U << 30U));
  EXPECT_FALSE(copy_ceiling({.clock_hz = kH200Clock, .bus_bits = 0, .cache_bytes = 0}, 1U << 30U));
}

TEST(Ceiling, BetweenGpusIsTheNarrowestEnds) {
  const PeerParts whole{
      .links = 18, .link_bytes_per_second = 26.5e9, .pcie_bytes_per_second = 63e9};
  PeerParts lame = whole;
  lame.links = 17;
  const auto ceiling = peer_ceiling(std::vector{whole, lame, whole});
  ASSERT_TRUE(ceiling);
  EXPECT_DOUBLE_EQ(ceiling->bytes_per_second, 17 * 26.5e9 + 63e9);
  EXPECT_EQ(ceiling->words, "17 NVLinks of 26.5 GB/s and a PCIe link of 63 GB/s");
  const auto pcie = peer_ceiling(std::vector{PeerParts{.pcie_bytes_per_second = 63e9}, whole});
  ASSERT_TRUE(pcie);
  EXPECT_EQ(pcie->bytes_per_second, 63e9);
  EXPECT_EQ(pcie->words, "a PCIe link of 63 GB/s");
}

TEST(Ceiling, BetweenGpusIsAbsentWhereAnEndIsUnknown) {
  const PeerParts known{.pcie_bytes_per_second = 63e9};
  EXPECT_FALSE(peer_ceiling({}));
  EXPECT_FALSE(peer_ceiling(std::vector{known, PeerParts{}}));
  EXPECT_FALSE(
      peer_ceiling(std::vector{PeerParts{.links = 18, .pcie_bytes_per_second = 63e9}, known}))
      << "links of an unknown speed";
  EXPECT_FALSE(peer_ceiling(std::vector{PeerParts{.links = 18, .link_bytes_per_second = 25e9}}))
      << "PCIe may carry a part, and nobody knows how much";
}

TEST(Ceiling, AFigureAboveItIsNone) {
  const std::optional<Ceiling> ceiling(Ceiling{100e9, "a PCIe link of 100 GB/s"});
  EXPECT_TRUE(check_ceiling("gpu0>gpu1", ceiling, 100e9));
  EXPECT_TRUE(check_ceiling("gpu0>gpu1", std::nullopt, 1e15));
  const Status above = check_ceiling("gpu0>gpu1", ceiling, 100.2e9);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().code, Code::kDataLoss);
  EXPECT_EQ(above.error().message,
            "gpu0>gpu1: measured 100.2 GB/s, above the 100.0 GB/s that a PCIe link of 100 GB/s can "
            "carry at most, so the figure cannot be right");
}

}  // namespace
}  // namespace railgauge::gpu
