#include "kernels/cuda/route/plan.h"

#include <gmock/gmock.h>

#include <set>

namespace railgauge::cuda {
namespace {

using ::testing::ElementsAre;

TEST(Plan, RepeatsShortCopiesUntilASampleIsLongAndLongOnesNever) {
  EXPECT_EQ(choose_repeat(10e6, 64), 1U);
  EXPECT_EQ(choose_repeat(kSampleNs, 64), 1U);
  EXPECT_EQ(choose_repeat(kSampleNs / 4, 64), 4U);
  EXPECT_EQ(choose_repeat(kSampleNs / 3.5, 64), 4U);
  EXPECT_EQ(choose_repeat(1, 64), 64U);
  EXPECT_EQ(choose_repeat(0, 64), 64U);
}

TEST(Plan, FillsAGateButNeverBeyondTheQueue) {
  EXPECT_EQ(choose_batch(10e6, 1, 128), 4U);  // 512 MiB over PCIe
  EXPECT_EQ(choose_batch(1e6, 1, 128), 20U);  // as long as a gate is worth it
  EXPECT_EQ(choose_batch(2e3, 32, 128), 4U);  // 128 / 32
  EXPECT_EQ(choose_batch(1e3, 64, 64), 1U);
  EXPECT_EQ(choose_batch(1e12, 1, 2), 2U);
}

TEST(Plan, LeavesACopyThatFloodsTheCacheWhereItIs) {
  const Rotation rotation(64U << 20U, 50U << 20U);
  EXPECT_FALSE(rotation.rotates());
  EXPECT_EQ(rotation.region_bytes(), 64U << 20U);
  EXPECT_EQ(rotation.offset(7), 0U);
}

class EachSize : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(EachSize, VisitsEverySlotOnceBeforeAnyTwice) {
  const std::uint64_t cache = 1U << 14U;
  const Rotation rotation(GetParam(), cache);
  ASSERT_TRUE(rotation.rotates());
  EXPECT_LE(rotation.region_bytes(), 2 * cache);
  EXPECT_GT(rotation.region_bytes() + rotation.slot_bytes(), 2 * cache);
  EXPECT_EQ(rotation.copy_bytes(), GetParam());
  std::set<std::uint64_t> offsets;
  for (std::uint64_t copy = 0; copy < rotation.slots(); ++copy) {
    const std::uint64_t offset = rotation.offset(copy);
    EXPECT_EQ(offset % kSlotAlignment, 0U) << "an odd size would measure odd addresses";
    EXPECT_EQ(offset % rotation.slot_bytes(), 0U);
    EXPECT_LE(offset + GetParam(), rotation.region_bytes());
    EXPECT_TRUE(offsets.insert(offset).second) << copy;
  }
  EXPECT_EQ(rotation.offset(rotation.slots()), rotation.offset(0));
}
INSTANTIATE_TEST_SUITE_P(Sizes, EachSize,
                         ::testing::Values(1, 3, 4, 8, 100, 255, 256, 257, 1024, 1365, 16384));

TEST(Plan, LeapsFarFromOneSmallCopyToTheNext) {
  const Rotation rotation(4, 50U << 20U);
  for (std::uint64_t copy = 1; copy < 100; ++copy) {
    const auto here = static_cast<std::int64_t>(rotation.offset(copy));
    const auto before = static_cast<std::int64_t>(rotation.offset(copy - 1));
    EXPECT_GT(std::abs(here - before), 1 << 20);
  }
}

TEST(Plan, StepsBeginAtTheOpening) {
  EXPECT_THAT(steps_ns(std::vector<double>{10, 25, 30}), ElementsAre(10, 15, 5));
  EXPECT_TRUE(steps_ns({}).empty());
}

TEST(Plan, SharesTheBlocksOfAGpuAmongItsCopies) {
  EXPECT_EQ(share_of_blocks(264, 1), 264U);
  EXPECT_EQ(share_of_blocks(264, 7), 37U);
  EXPECT_EQ(share_of_blocks(264, 0), 264U);
  EXPECT_EQ(share_of_blocks(4, 7), 1U);
}

TEST(Rotation, OfSlicesTakesThemInTurn) {
  const Rotation slices = Rotation::of_slices(4096, 4);
  EXPECT_EQ(slices.copy_bytes(), 1024U);
  EXPECT_EQ(slices.region_bytes(), 4096U);
  for (std::uint64_t copy = 0; copy < 9; ++copy)
    EXPECT_EQ(slices.offset(copy), copy % 4 * 1024) << copy;
}

TEST(SharesOfRate, AreTheInverseOfEqualWorksTimes) {
  EXPECT_THAT(shares_of_rate(std::vector<double>{2, 2}), ElementsAre(0.5, 0.5));
  const std::vector<double> shares = shares_of_rate(std::vector<double>{1, 3, 3});
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_DOUBLE_EQ(shares[0], 0.6);
  EXPECT_DOUBLE_EQ(shares[1], 0.2);
  EXPECT_DOUBLE_EQ(shares[0] + shares[1] + shares[2], 1);
}

}  // namespace
}  // namespace railgauge::cuda
