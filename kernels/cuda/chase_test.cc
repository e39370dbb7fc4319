#include "kernels/cuda/chase.h"

#include <gmock/gmock.h>

#include <set>

namespace railgauge::cuda {
namespace {

class Chain : public ::testing::TestWithParam<bool> {};

TEST_P(Chain, VisitsEachLineOnceFromTheFirst) {
  for (const std::uint64_t lines : {2U, 3U, 64U, 1000U}) {
    const auto order = chain_order(lines, GetParam(), 1);
    EXPECT_EQ(order.size(), lines);
    EXPECT_EQ(order.front(), 0U);
    EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), lines);
  }
}

TEST_P(Chain, LeadsThroughItsWordsAndBackToTheFirst) {
  constexpr std::uint64_t kAddress = 0x7f0000000000;
  const auto order = chain_order(100, GetParam(), 1);
  const auto words = chain_words(order, kAddress);
  ASSERT_EQ(words.size() * sizeof(std::uint64_t), 100 * kLineBytes);
  std::uint64_t at = kAddress;
  for (std::size_t step = 0; step < order.size(); ++step) {
    EXPECT_EQ(at, kAddress + order[step] * kLineBytes);
    at = words[(at - kAddress) / sizeof(std::uint64_t)];
  }
  EXPECT_EQ(at, kAddress);
}
INSTANTIATE_TEST_SUITE_P(BothOrders, Chain, ::testing::Bool());

// 4096 accesses through 2 MiB were a quarter of the chain: four lost launches ended where none did.
TEST(Chain, EndsOnADifferentLineForEveryNumberOfLaunches) {
  for (const std::uint64_t accesses : {16U, 4096U, 1000U, 999'999U})
    for (const std::uint64_t bytes : {1024UL, 2UL << 20U}) {
      const std::uint64_t lines = chain_lines(bytes, accesses);
      EXPECT_LE(lines * kLineBytes, bytes);
      EXPECT_GE(lines * kLineBytes, bytes / 2);
      std::set<std::uint64_t> ends;
      for (std::uint64_t launches = 0; launches < lines; ++launches)
        EXPECT_TRUE(ends.insert(launches * accesses % lines).second) << launches;
    }
  EXPECT_EQ(chain_lines(2 * kLineBytes, 16), 2U) << "none is left that could do better";
}

TEST(Chain, StridesUpwardsOrGoesAtRandomButAlwaysTheSame) {
  EXPECT_EQ(chain_order(4, false, 1), (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(chain_order(1000, true, 1), chain_order(1000, true, 1));
  EXPECT_NE(chain_order(1000, true, 1), chain_order(1000, true, 2));
  EXPECT_NE(chain_order(1000, true, 1), chain_order(1000, false, 1));
}

TEST(BlockLeap, VisitsEveryMultiprocessor) {
  for (const unsigned multiprocessors : {1U, 2U, 37U, 74U, 108U, 114U, 132U, 142U, 148U, 160U}) {
    std::set<unsigned> visited;
    for (unsigned sample = 0; sample < multiprocessors; ++sample)
      visited.insert(sample * block_leap(multiprocessors) % multiprocessors);
    EXPECT_EQ(visited.size(), multiprocessors);
  }
}

}  // namespace
}  // namespace railgauge::cuda
