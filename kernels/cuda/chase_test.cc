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

TEST(Chain, IsColdFromTwiceTheCacheOfItsMemorysOwnerOn) {
  EXPECT_EQ(chain_buffer_words(2U << 20U, 50U << 20U),
            "hot: a chain of 2MiB, less than twice the cache of 50MiB");
  EXPECT_EQ(chain_buffer_words((100U << 20U) - 1, 50U << 20U).substr(0, 5), "hot: ");
  EXPECT_EQ(chain_buffer_words(100U << 20U, 50U << 20U), "cold");
  EXPECT_EQ(chain_buffer_words(2U << 20U, 0), "not known: the size of the cache cannot be read");
}

TEST(ChaseRounds, VisitEveryMultiprocessorInWhicheverSampleTheyBegin) {
  for (const unsigned multiprocessors : {1U, 2U, 37U, 74U, 108U, 114U, 132U, 142U, 148U, 160U}) {
    const std::uint64_t launches = launches_in_sample(multiprocessors);
    for (const std::uint64_t first : {0UL, 1UL, 7UL, 1000UL}) {
      std::set<unsigned> visited;
      for (std::uint64_t launch = first; launch < first + launches * kRounds; ++launch)
        visited.insert(multiprocessor_of(launch, multiprocessors));
      EXPECT_EQ(visited.size(), multiprocessors) << "from launch " << first;
    }
  }
}

TEST(ChaseRounds, SpreadEachSampleOverTheChip) {
  constexpr unsigned kMultiprocessors = 132;
  const unsigned launches = launches_in_sample(kMultiprocessors);
  EXPECT_EQ(launches, 12U);
  for (std::uint64_t sample = 0; sample < 2 * kRounds; ++sample)
    for (unsigned launch = 1; launch < launches; ++launch)
      EXPECT_EQ(
          multiprocessor_of(sample * launches + launch, kMultiprocessors),
          multiprocessor_of(sample * launches, kMultiprocessors) + std::uint64_t{launch} * kRounds);
}

}  // namespace
}  // namespace railgauge::cuda
