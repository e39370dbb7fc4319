// Bounds by the ports between nodes.
#include "kernels/mpi/ceiling.h"

#include <gmock/gmock.h>

#include <array>

namespace railgauge::mpi {
namespace {

using ::testing::HasSubstr;

constexpr double kBytes = 1000;

Operation from_each(std::vector<Segment> (*received)(const Share&)) {
  return {.name = "mpi.test", .summary = "", .received = received};
}
std::vector<Segment> from_all(const Share& share) {
  std::vector<Segment> all;
  for (std::uint32_t rank = 0; rank < share.ranks; ++rank)
    all.push_back({.bytes = share.bytes, .rank = rank});
  return all;
}
std::vector<Segment> one_from_all(const Share& share) {
  auto all = from_all(share);
  for (Segment& one : all) one.block = share.rank;
  return all;
}
std::vector<Segment> from_first(const Share& share) { return {{.bytes = share.bytes}}; }
std::vector<Segment> window_from_other(const Share& share) {
  return window_of(share, 1 - share.rank);
}

// Two nodes with two ranks each.
constexpr std::array<std::uint32_t, 4> kTwoByTwo{0, 0, 1, 1};
constexpr Share kShare{.bytes = static_cast<std::uint64_t>(kBytes)};

TEST(Crossings, CountEachContentOnceThatANodeLacks) {
  const auto gather = crossings(from_each(from_all), kShare, kTwoByTwo);
  ASSERT_EQ(gather.size(), 2U);
  EXPECT_EQ(gather[0].in, 2 * kBytes) << "both ranks get the same two messages";
  EXPECT_EQ(gather[0].out, 2 * kBytes);
  const auto all_to_all = crossings(from_each(one_from_all), kShare, kTwoByTwo);
  EXPECT_EQ(all_to_all[1].in, 4 * kBytes) << "each of two ranks gets its own from two";
  EXPECT_EQ(all_to_all[1].out, 4 * kBytes);
  const auto broadcast = crossings(from_each(from_first), kShare, std::array{0U, 1U, 2U});
  EXPECT_EQ(broadcast[0].in, 0);
  EXPECT_EQ(broadcast[0].out, kBytes) << "a switch may copy";
  EXPECT_EQ(broadcast[2].in, kBytes);
}

TEST(Crossings, OfASumAreTheOtherNodesPartOfIt) {
  Operation sum = from_each(own_message);
  sum.reduces = true;
  for (const Crossing& node : crossings(sum, kShare, kTwoByTwo)) {
    EXPECT_EQ(node.in, kBytes);
    EXPECT_EQ(node.out, kBytes);
  }
}

TEST(Crossings, CountEachMessageOfAWindowThatSharesOneBuffer) {
  Operation windows = from_each(window_from_other);
  windows.windowed = true;
  Share share = kShare;
  share.window = 64;
  for (const bool one : {true, false}) {
    share.one_buffer = one;
    const auto nodes = crossings(windows, share, std::array{0U, 1U});
    EXPECT_DOUBLE_EQ(nodes[0].in, 64 * kBytes);
    EXPECT_DOUBLE_EQ(nodes[1].out, 64 * kBytes);
  }
}

TEST(Crossings, AreNoneWithinANode) {
  const auto nodes = crossings(from_each(from_all), kShare, std::array{0U, 0U});
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].in, 0);
  EXPECT_EQ(nodes[0].out, 0);
}

// A rank of this machine, whose node sends by one RDMA port and one interface.
RankTraffic rank_on(std::uint64_t machine, double rdma_rate, double netdev_rate) {
  const auto wire = [](double rate) {
    return Wire{.ports = 1, .without_rate = rate > 0 ? 0.0 : 1.0, .bytes_per_second = rate};
  };
  return {.machine = machine,
          .network = machine,
          .wires = {.rdma = wire(rdma_rate), .netdev = wire(netdev_rate)}};
}

WireCeiling ceiling_of(const std::string& transport, const std::vector<RankTraffic>& ranks) {
  return wire_ceiling(from_each(from_all), kShare, transport, ranks, 1000);
}

TEST(WireCeiling, IsTheNarrowestNodesPortsThatCarriedTheMessages) {
  const std::vector ranks{rank_on(7, 4e9, 1e9), rank_on(8, 2e9, 3e9)};
  const WireCeiling rdma = ceiling_of("rdma", ranks);
  ASSERT_TRUE(rdma.ceiling) << rdma.none;
  EXPECT_DOUBLE_EQ(rdma.ceiling->bytes_per_second, 2e9);
  EXPECT_DOUBLE_EQ(rdma.passed, 1e9);
  EXPECT_EQ(rdma.ceiling->words,
            "1 port of rank 1's node (rdma), which 1000 B of a sample must pass");
  EXPECT_DOUBLE_EQ(ceiling_of("netdev", ranks).ceiling->bytes_per_second, 1e9);
  EXPECT_DOUBLE_EQ(ceiling_of("rdma+netdev", ranks).ceiling->bytes_per_second, 5e9);
}

// Four ranks on two machines: a machine's port counts once, and its views of different networks add
// up.
TEST(WireCeiling, CountsTheMachinesPortsOnce) {
  std::vector ranks{rank_on(7, 4e9, 0), rank_on(7, 4e9, 0), rank_on(8, 4e9, 0), rank_on(8, 4e9, 0)};
  EXPECT_DOUBLE_EQ(ceiling_of("rdma", ranks).ceiling->bytes_per_second, 4e9);
  ranks[1].network = 70;
  ranks[3].network = 80;
  EXPECT_DOUBLE_EQ(ceiling_of("rdma", ranks).ceiling->bytes_per_second, 8e9);
}

TEST(WireCeiling, IsThatOfTheNodeWhoseRateIsKnown) {
  const WireCeiling half = ceiling_of("netdev", {rank_on(7, 0, 0), rank_on(8, 0, 1e9)});
  ASSERT_TRUE(half.ceiling);
  EXPECT_THAT(half.ceiling->words, HasSubstr("rank 1's node"));
  const WireCeiling none = ceiling_of("netdev", {rank_on(7, 0, 0), rank_on(8, 0, 0)});
  EXPECT_FALSE(none.ceiling);
  EXPECT_THAT(none.none, HasSubstr("no rate of 1 port in use by rank"));
}

TEST(WireCeiling, SaysWhyThereIsNone) {
  const std::vector one_machine{rank_on(7, 4e9, 1e9), rank_on(7, 4e9, 1e9)};
  const std::vector two{rank_on(7, 4e9, 1e9), rank_on(8, 4e9, 1e9)};
  EXPECT_THAT(ceiling_of("memory", one_machine).none, HasSubstr("declares no rate"));
  EXPECT_THAT(ceiling_of("loopback", one_machine).none, HasSubstr("one machine"));
  EXPECT_THAT(ceiling_of("unknown", two).none, HasSubstr("unknown what carried"));
  Share empty;
  const auto nothing = wire_ceiling(from_each(from_all), empty, "rdma", two, 1000);
  EXPECT_FALSE(nothing.ceiling);
  EXPECT_THAT(nothing.none, HasSubstr("no byte"));
  EXPECT_THAT(ceiling_of("rdma", std::vector(1025, two[0])).none, HasSubstr("above 1024 ranks"));
}

}  // namespace
}  // namespace railgauge::mpi
