#include "kernels/nccl/figures.h"

#include <gmock/gmock.h>

namespace railgauge::nccl {
namespace {

Operation with_factor(bool shared_out, double (*factor)(double)) {
  Operation operation{};
  operation.name = "nccl.test";
  operation.shared_out = shared_out;
  operation.bus_factor = factor;
  return operation;
}

const Point* find(const std::vector<Point>& points, const std::string& metric,
                  const std::string& meaning) {
  for (const Point& point : points)
    if (point.metric() == metric && point.meaning() == meaning) return &point;
  return nullptr;
}

Measured two_ranks() {
  Measured measured;
  measured.asked_bytes = measured.moved_bytes = 1'000'000;
  measured.ranks = 2;
  measured.by_rank_ns = {{1000, 1000, 1000}, {2000, 2000, 2000}};
  measured.wall_by_rank_ns = {{3000}, {5000}};
  measured.wall_iterations = 20;
  return measured;
}

// The factors of the table in nccl-tests' documentation.
TEST(Figures, FactorsAreThoseOfTheCollectives) {
  EXPECT_DOUBLE_EQ(factor_both_ways(8), 1.75);
  EXPECT_DOUBLE_EQ(factor_share(8), 0.875);
  EXPECT_DOUBLE_EQ(factor_one(8), 1);
}

TEST(Figures, AreThoseOfTheSlowestRank) {
  const auto points = points_of(with_factor(false, factor_both_ways), two_ranks());
  const Point* latency = find(points, "latency_ns", "completion");
  ASSERT_NE(latency, nullptr);
  EXPECT_DOUBLE_EQ(latency->median(), 2000);
  EXPECT_EQ(latency->facts().at("slowest_rank"), "1");
  EXPECT_EQ(latency->facts().at("rank_median_ns"), "0: 1000, 1: 2000");
  const Point* bus = find(points, "busbw_bytes_per_second", "completion");
  ASSERT_NE(bus, nullptr);
  EXPECT_DOUBLE_EQ(bus->median(), 1e6 / 2000e-9);  // the factor of two ranks is 1
}

TEST(Figures, OfTheAggregateAverageTheRanks) {
  const auto points = points_of(with_factor(false, factor_one), two_ranks());
  EXPECT_DOUBLE_EQ(find(points, "latency_ns", "aggregate_wall")->median(), 4000);
}

TEST(Figures, SayHowManyIterationsShareASample) {
  Measured measured = two_ranks();
  measured.repeat = 7;
  const auto points = points_of(with_factor(false, factor_one), measured);
  EXPECT_EQ(find(points, "latency_ns", "completion")->facts().at("iterations_in_sample"), "7");
  EXPECT_EQ(find(points, "latency_ns", "aggregate_wall")->facts().at("iterations_in_sample"), "20");
}

TEST(Figures, OfOneRankHaveNoBusBandwidth) {
  Measured measured = two_ranks();
  measured.ranks = 1;
  measured.by_rank_ns.resize(1);
  measured.wall_by_rank_ns.resize(1);
  const auto points = points_of(with_factor(false, factor_both_ways), measured);
  EXPECT_EQ(find(points, "busbw_bytes_per_second", "completion"), nullptr);
  EXPECT_NE(find(points, "algbw_bytes_per_second", "completion"), nullptr);
}

TEST(Figures, LatencyIsToldOfSmallSizesOnly) {
  Measured measured = two_ranks();
  measured.asked_bytes = kLatencyUpToBytes + 1;
  const auto points = points_of(with_factor(false, factor_one), measured);
  EXPECT_EQ(find(points, "latency_ns", "completion"), nullptr);
}

TEST(Shares, OfASizeAreWholeElementsAndAtLeastOne) {
  const Operation whole = with_factor(false, factor_one);
  const Operation shared = with_factor(true, factor_one);
  EXPECT_EQ(share_of_size(whole, 1024, 4, 8), 256U);
  EXPECT_EQ(share_of_size(shared, 1024, 4, 8), 32U);
  EXPECT_EQ(share_of_size(shared, 8, 4, 8), 1U);
  EXPECT_EQ(moved_bytes(shared, {.ranks = 8, .count = 1}, 4), 32U);
  EXPECT_EQ(moved_bytes(whole, {.ranks = 8, .count = 256}, 4), 1024U);
  EXPECT_EQ(share_of_size(whole, 1001, 4, 1), 250U);
}

}  // namespace
}  // namespace railgauge::nccl
