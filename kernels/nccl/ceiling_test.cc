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

constexpr std::uint64_t kCalls = 100;

// Four ranks, two on each host.
std::vector<HostRate> two_hosts(double first, double second) {
  return {{.ranks = {0, 1}, .ports = 2, .bytes_per_second = first, .moved_bytes = 1e9},
          {.ranks = {2, 3}, .ports = 1, .bytes_per_second = second, .moved_bytes = 1e9}};
}

Operation operation_with(double (*bus_factor)(double), bool shared_out,
                         std::vector<Segment> (*result)(const Share&)) {
  Operation made = operation_of(bus_factor, false, shared_out);
  made.result = result;
  return made;
}

TEST(NcclPortCeiling, IsTheSlowestHostsPortsOverTheBytesThatMustPass) {
  constexpr std::uint64_t kCount = 1'000;
  const Share share{.ranks = 4, .count = kCount};
  const std::vector<std::uint32_t> host_of{0, 0, 1, 1};
  const Operation all_reduce = operation_with(
      factor_both_ways, false,
      +[](const Share& one) { return std::vector<Segment>{{.count = one.count}}; });
  for (const HostBytes& host : least_host_bytes(all_reduce, share, 4, host_of)) {
    EXPECT_DOUBLE_EQ(host.in, 4.0 * kCount);
    EXPECT_DOUBLE_EQ(host.out, 4.0 * kCount);
  }
  const auto reduced = port_ceiling(all_reduce, share, 4, two_hosts(100e9, 50e9), kCalls);
  ASSERT_TRUE(reduced);
  EXPECT_DOUBLE_EQ(reduced->bytes_per_second, 50e9) << "algbw is the message over the time";
  EXPECT_EQ(reduced->words, "1 port of rank 2's host, which 4000 B of a call must pass");
  // Each host lacks two of four shares.
  const Operation all_gather = operation_with(factor_share, true, shares_of_all);
  const auto gathered = port_ceiling(all_gather, share, 4, two_hosts(50e9, 50e9), kCalls);
  ASSERT_TRUE(gathered);
  EXPECT_DOUBLE_EQ(gathered->bytes_per_second, 100e9);
  EXPECT_EQ(gathered->words, "2 ports of rank 0's host, which 8000 B of a call must pass");
}

TEST(NcclPortCeiling, OfARingCountsTheRanksWhoseNeighbourIsElsewhere) {
  const Operation ring = operation_with(
      factor_one, false, +[](const Share& one) {
        const int before = static_cast<int>((one.rank + one.ranks - 1) % one.ranks);
        return std::vector<Segment>{{.count = one.count, .source = before}};
      });
  const Share share{.ranks = 4, .count = 10};
  const std::vector<std::uint32_t> neighbours{0, 0, 1, 1};
  const std::vector<std::uint32_t> in_turn{0, 1, 0, 1};
  EXPECT_DOUBLE_EQ(least_host_bytes(ring, share, 4, neighbours)[0].in, 40);
  EXPECT_DOUBLE_EQ(least_host_bytes(ring, share, 4, in_turn)[0].in, 80);
}

TEST(NcclPortCeiling, IsAbsentOnOneHostAndWhereARateIsUnknown) {
  const Operation all_gather = operation_with(factor_share, true, shares_of_all);
  const Share share{.ranks = 4, .count = 10};
  const std::vector<HostRate> one_host{{.ranks = {0, 1, 2, 3}, .ports = 1, .bytes_per_second = 1}};
  EXPECT_FALSE(port_ceiling(all_gather, share, 4, one_host, kCalls));
  EXPECT_FALSE(port_ceiling(all_gather, share, 4, two_hosts(0, 0), kCalls));
  EXPECT_TRUE(port_ceiling(all_gather, share, 4, two_hosts(0, 1), kCalls))
      << "the other one has its bound";
  EXPECT_FALSE(lower_ceiling({}, {}));
}

// Four ranks on two hosts by `split: mod 2`: a share has two ranks, the hosts' ranks are 0 to 3.
TEST(NcclPortCeiling, IsAbsentOfTheGroupsOfASplit) {
  const Operation all_gather = operation_with(factor_share, true, shares_of_all);
  EXPECT_FALSE(
      port_ceiling(all_gather, {.ranks = 2, .count = 10}, 4, two_hosts(50e9, 50e9), kCalls));
  EXPECT_FALSE(
      port_ceiling(all_gather, {.ranks = 2, .rank = 1, .count = 10}, 4,
                   std::vector<HostRate>{{.ranks = {0, 2}, .ports = 1, .bytes_per_second = 50e9},
                                         {.ranks = {1, 3}, .ports = 1, .bytes_per_second = 50e9}},
                   0));
  EXPECT_TRUE(
      port_ceiling(all_gather, {.ranks = 4, .count = 10}, 4, two_hosts(50e9, 50e9), kCalls));
}

TEST(NcclPortCeiling, IsAbsentWhereThePortsMovedLessThanTheCalls) {
  const Operation all_gather = operation_with(factor_share, true, shares_of_all);
  const Share share{.ranks = 4, .count = 1'000};
  // Each host receives and sends 8,000 B in a call.
  std::vector<HostRate> hosts = two_hosts(50e9, 50e9);
  for (HostRate& host : hosts) host.moved_bytes = 16'000.0 * kCalls;
  EXPECT_TRUE(port_ceiling(all_gather, share, 4, hosts, kCalls));
  for (HostRate& host : hosts) host.moved_bytes = 8'000.0 * kCalls;
  EXPECT_FALSE(port_ceiling(all_gather, share, 4, hosts, kCalls));
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
