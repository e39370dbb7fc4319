// Synthetic curves: no figure here was measured.
#include "kernels/bar/crossover_point.h"

#include <gtest/gtest.h>

#include <vector>

namespace railgauge::bar {
namespace {

// The BAR without a start-up cost and slow, the copy engine with one and fast.
std::vector<SizeTimes> straight_lines(double start_ns) {
  std::vector<SizeTimes> times;
  for (double bytes = 64; bytes <= (16U << 20U); bytes *= 2)
    times.push_back({bytes, 100 + bytes, start_ns + 0.02 * bytes});
  return times;
}

TEST(Crossover, LiesWhereTheLinesMeet) {
  const auto found = find_crossover(straight_lines(5000));
  ASSERT_TRUE(found.bytes);
  EXPECT_NEAR(*found.bytes, 5000, 150);  // 100 + x = 5000 + 0.02 x
  EXPECT_EQ(found.changes, 1U);
}

TEST(Crossover, IsExactAtASizeWhereBothAreEqual) {
  const std::vector<SizeTimes> times{{64, 1, 2}, {128, 2, 2}, {256, 4, 2}};
  ASSERT_TRUE(find_crossover(times).bytes);
  EXPECT_DOUBLE_EQ(*find_crossover(times).bytes, 128);
}

TEST(Crossover, LiesInTheMiddleOfTwoSizesOnTheLogarithmsWhenTheGapsAreAlike) {
  const std::vector<SizeTimes> times{{100, 1, 2}, {400, 2, 1}};
  ASSERT_TRUE(find_crossover(times).bytes);
  EXPECT_DOUBLE_EQ(*find_crossover(times).bytes, 200);
}

TEST(Crossover, IsAbsentWhenTheBarIsAlwaysFaster) {
  const auto found = find_crossover(straight_lines(1e9));
  EXPECT_FALSE(found.bytes);
  EXPECT_TRUE(found.bar_faster_at_first && found.bar_faster_at_last);
  EXPECT_EQ(found.changes, 0U);
}

TEST(Crossover, IsAbsentWhenTheCopyIsAlwaysFaster) {
  const auto found = find_crossover(straight_lines(1));
  EXPECT_FALSE(found.bytes);
  EXPECT_FALSE(found.bar_faster_at_first || found.bar_faster_at_last);
}

TEST(Crossover, IsAbsentWhenTheBarIsFasterAtTheEndAlone) {
  const std::vector<SizeTimes> times{{64, 2, 1}, {128, 1, 2}};
  const auto found = find_crossover(times);
  EXPECT_FALSE(found.bytes);
  EXPECT_TRUE(found.bar_faster_at_last);
}

TEST(Crossover, IsTheLastOfSeveralAndTheyAreCounted) {
  const std::vector<SizeTimes> times{{64, 1, 2}, {128, 2, 1}, {256, 1, 2}, {1024, 2, 1}};
  const auto found = find_crossover(times);
  ASSERT_TRUE(found.bytes);
  EXPECT_DOUBLE_EQ(*found.bytes, 512);
  EXPECT_EQ(found.changes, 3U);
}

TEST(Crossover, OfOneSizeIsAbsent) {
  EXPECT_FALSE(find_crossover(std::vector<SizeTimes>{{64, 1, 2}}).bytes);
}

}  // namespace
}  // namespace railgauge::bar
