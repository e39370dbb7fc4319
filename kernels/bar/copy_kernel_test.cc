#include "kernels/bar/with_routines.h"

#include <gtest/gtest.h>

namespace railgauge::bar {
namespace {

constexpr CopyDirection kWrite = CopyDirection::kWrite;
constexpr CopyDirection kRead = CopyDirection::kRead;

TEST(DefaultRepeat, IsOneForEveryLatency) {
  for (const std::uint64_t bytes : {1, 4, 65536})
    for (const CopyDirection direction : {kWrite, kRead})
      EXPECT_EQ(default_repeat(direction, CopyFigure::kLatency, bytes), 1U);
}

TEST(DefaultRepeat, LetsASampleOfBandwidthBeLongEnoughForTheClock) {
  EXPECT_EQ(default_repeat(kWrite, CopyFigure::kBandwidth, 1), 65536U);
  EXPECT_EQ(default_repeat(kWrite, CopyFigure::kBandwidth, 4096), 16U);
  EXPECT_EQ(default_repeat(kRead, CopyFigure::kBandwidth, 64), 64U);
  EXPECT_EQ(default_repeat(kRead, CopyFigure::kBandwidth, 4096), 1U);
}

TEST(DefaultRepeat, IsNeverZero) {
  EXPECT_EQ(default_repeat(kWrite, CopyFigure::kBandwidth, 1U << 30U), 1U);
}

}  // namespace
}  // namespace railgauge::bar
