// Synthetic curves: no figure here was measured.
#include "kernels/core/stats/size_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace railgauge {
namespace {

// The first without a start-up cost and slow, the second with one and fast.
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

TEST(Crossover, IsAbsentWhenTheFirstIsAlwaysFaster) {
  const auto found = find_crossover(straight_lines(1e9));
  EXPECT_FALSE(found.bytes);
  EXPECT_TRUE(found.first_faster_at_first && found.first_faster_at_last);
  EXPECT_EQ(found.changes, 0U);
}

TEST(Crossover, IsAbsentWhenTheSecondIsAlwaysFaster) {
  const auto found = find_crossover(straight_lines(1));
  EXPECT_FALSE(found.bytes);
  EXPECT_FALSE(found.first_faster_at_first || found.first_faster_at_last);
}

TEST(Crossover, IsAbsentWhenTheFirstIsFasterAtTheEndAlone) {
  const std::vector<SizeTimes> times{{64, 2, 1}, {128, 1, 2}};
  const auto found = find_crossover(times);
  EXPECT_FALSE(found.bytes);
  EXPECT_TRUE(found.first_faster_at_last);
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

// A message costs `start_ns` and its bytes at `bytes_per_ns`.
std::vector<SizeValue> bandwidth_curve(double start_ns, double bytes_per_ns) {
  std::vector<SizeValue> values;
  for (double bytes = 64; bytes <= (4U << 20U); bytes *= 2)
    values.push_back({bytes, bytes / (start_ns + bytes / bytes_per_ns)});
  return values;
}

TEST(Knees, ABandwidthHasOneWhereTheCostOfAMessageAndOfItsBytesAreAlike) {
  const auto knees = find_knees(bandwidth_curve(1000, 16));
  ASSERT_EQ(knees.size(), 1U);
  EXPECT_GE(knees[0].bytes, 8192);  // 1000 ns are 16000 bytes of wire
  EXPECT_LE(knees[0].bytes, 32768);
  EXPECT_EQ(knees[0].before, Trend::kRising);
  EXPECT_EQ(knees[0].after, Trend::kFlat);
}

TEST(Knees, ALatencyHasOneWhereItBeginsToGrow) {
  std::vector<SizeValue> values;
  for (double bytes = 8; bytes <= (1U << 20U); bytes *= 2)
    values.push_back({bytes, 1000 + bytes / 16});
  const auto knees = find_knees(values);
  ASSERT_EQ(knees.size(), 1U);
  EXPECT_EQ(knees[0].before, Trend::kFlat);
  EXPECT_EQ(knees[0].after, Trend::kRising);
  EXPECT_NEAR(knees[0].bytes, 16000, 17000);
}

TEST(Knees, AFallAfterTheTopIsASecondOne) {
  auto values = bandwidth_curve(1000, 16);
  const double top = values.back().value;
  values.push_back({8 << 20, top / 2});
  values.push_back({16 << 20, top / 4});
  const auto knees = find_knees(values);
  ASSERT_EQ(knees.size(), 2U);
  EXPECT_DOUBLE_EQ(knees[1].bytes, 4 << 20);
  EXPECT_EQ(knees[1].after, Trend::kFalling);
}

TEST(Knees, AStraightCurveHasNone) {
  EXPECT_TRUE(find_knees(std::vector<SizeValue>{{1, 1}, {2, 2}, {4, 4}, {8, 8}}).empty());
  EXPECT_TRUE(find_knees(std::vector<SizeValue>{{1, 5}, {2, 5}, {4, 5.1}, {8, 5}}).empty());
  EXPECT_TRUE(find_knees(std::vector<SizeValue>{{1, 1}, {2, 1}}).empty());
}

TEST(Knees, SlopesAroundABoundMakeOneAndNotMany) {
  // 0.55, 0.45, 0.55, 0.45: all belong to the rise before them.
  std::vector<SizeValue> values{{1, 1}, {2, 2}};
  for (const double exponent : {0.55, 0.45, 0.55, 0.45, 0.0})
    values.push_back({values.back().bytes * 2, values.back().value * std::pow(2, exponent)});
  const auto knees = find_knees(values);
  ASSERT_EQ(knees.size(), 1U);
  EXPECT_DOUBLE_EQ(knees[0].bytes, 32);
}

}  // namespace
}  // namespace railgauge
