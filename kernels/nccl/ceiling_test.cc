#include "kernels/nccl/ceiling.h"

#include <gtest/gtest.h>

namespace railgauge::nccl {
namespace {

constexpr gpu::PeerParts kGpu{
    .links = 18, .link_bytes_per_second = 25e9, .pcie_bytes_per_second = 50e9};
constexpr double kAll = 500e9;

Operation operation_of(double (*bus_factor)(double), bool rooted, bool shared_out) {
  Operation made{.name = "nccl.test", .summary = ""};
  made.bus_factor = bus_factor;
  made.rooted = rooted;
  made.shared_out = shared_out;
  return made;
}

TEST(NcclCeiling, IsOneDirectionOfTheLinksOverTheShareThatMustMove) {
  const Operation all_reduce = operation_of(factor_both_ways, false, false);
  EXPECT_DOUBLE_EQ(least_share(all_reduce, {.ranks = 2}), 1);
  EXPECT_DOUBLE_EQ(least_share(all_reduce, {.ranks = 8}), 1) << "switches may reduce";
  const auto bound = algbw_ceiling(all_reduce, {.ranks = 8}, kGpu);
  ASSERT_TRUE(bound);
  EXPECT_DOUBLE_EQ(bound->bytes_per_second, kAll);
  const Operation all_gather = operation_of(factor_share, false, true);
  EXPECT_DOUBLE_EQ(least_share(all_gather, {.ranks = 8}), 7.0 / 8);
  EXPECT_DOUBLE_EQ(algbw_ceiling(all_gather, {.ranks = 8}, kGpu)->bytes_per_second, kAll * 8 / 7);
  const Operation broadcast = operation_of(factor_one, true, false);
  EXPECT_DOUBLE_EQ(least_share(broadcast, {.ranks = 8, .root = 3}), 1);
}

TEST(NcclCeiling, ARankThatIsNotTheRootOfAGatherMovesItsShareAlone) {
  const Operation gather = operation_of(factor_share, true, true);
  EXPECT_DOUBLE_EQ(least_share(gather, {.ranks = 4}), 3.0 / 4);
  EXPECT_DOUBLE_EQ(least_share(gather, {.ranks = 4, .root = 1}), 1.0 / 4);
}

TEST(NcclCeiling, IsAbsentForOneRankAndUnknownLinks) {
  const Operation all_reduce = operation_of(factor_both_ways, false, false);
  EXPECT_FALSE(algbw_ceiling(all_reduce, {.ranks = 1}, kGpu));
  EXPECT_FALSE(algbw_ceiling(all_reduce, {.ranks = 2}, {}));
}

TEST(NcclCeiling, AnAlgbwAboveItIsNoFigureAndOthersAreNotCompared) {
  const Operation all_reduce = operation_of(factor_both_ways, false, false);
  const auto ceiling = algbw_ceiling(all_reduce, {.ranks = 2}, kGpu);
  Point point;
  point.set_metric("algbw_bytes_per_second");
  point.set_median(250e9);
  EXPECT_TRUE(check_links(all_reduce, ceiling, point));
  EXPECT_EQ(point.facts().at("share_of_ceiling"), "0.500");
  point.set_median(501e9);
  const Status above = check_links(all_reduce, ceiling, point);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().code, Code::kDataLoss);
  point.set_metric("busbw_bytes_per_second");
  EXPECT_TRUE(check_links(all_reduce, ceiling, point));
}

}  // namespace
}  // namespace railgauge::nccl
