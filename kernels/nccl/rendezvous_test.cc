// Messages between the ranks of a collective: their size per rank does not grow with the ranks.
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using fake::RankResult;

class Rendezvous : public OnFakeRanks {
 protected:
  struct Bytes {
    std::size_t said = 0;   // by any rank in one step
    std::size_t heard = 0;  // by any but rank 0
    std::size_t heard_by_rank_zero = 0;
  };
  static Bytes most_bytes(std::uint32_t ranks) {
    const auto results = run("nccl.all_reduce", ranks, {{"iterations", "60"}, {"sizes", "8"}});
    expect_passed(results);
    Bytes most{.heard_by_rank_zero = results[0].most_heard_bytes};
    for (const RankResult& result : results)
      most.said = std::max(most.said, result.most_said_bytes);
    for (std::size_t rank = 1; rank < results.size(); ++rank)
      most.heard = std::max(most.heard, results[rank].most_heard_bytes);
    return most;
  }
};

// The bound of controller/run/task_steps_test.cc, which hands such messages of 4,096 ranks round.
constexpr std::size_t kMostSaid = 512;
constexpr std::size_t kLeastHello = 40;  // two hashes and a version

TEST_F(Rendezvous, OfMoreRanksTellsEachRankNoMore) {
  const Bytes two = most_bytes(2);
  const Bytes eight = most_bytes(8);
  EXPECT_GT(two.said, nc::kUniqueIdBytes) << "which is the least of what rank 0 says";
  EXPECT_LE(two.said, kMostSaid);
  EXPECT_LE(eight.said, kMostSaid);
  EXPECT_LE(two.heard, kMostSaid);
  EXPECT_LE(eight.heard, two.heard + kMostSaid / 4) << "grows with the ranks";
  EXPECT_GE(eight.heard_by_rank_zero, 8 * kLeastHello) << "rank 0 hears all";
}

// Rank 0 finds a value that differs between ranks; all report it.
TEST_F(Rendezvous, OfRanksThatWouldShareAGpuEndsThemAllNamingBoth) {
  fake::RanksOptions options{.parameters = {{"sizes", "8"}, {"iterations", "1"}}, .ranks = 4};
  options.endpoints = {"gpu0", "gpu1", "gpu2", "gpu1"};
  const auto results = fake::run_ranks(*find_kernel("nccl.all_reduce"), options);
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_THAT(result.status.error().message, ::testing::HasSubstr("ranks 1 and 3: both use "));
  }
}

TEST_F(Rendezvous, GivesWhoNamedNoGpuTheNextOneOfItsHost) {
  fake::RanksOptions options{
      .parameters = {{"sizes", "8"}, {"iterations", "1"}, {"proof_time", "0s"}}, .ranks = 3};
  options.endpoints = {"", "", ""};
  const auto results = fake::run_ranks(*find_kernel("nccl.all_reduce"), options);
  expect_passed(results);
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    EXPECT_EQ(results[rank].facts.at("device"), "gpu" + std::to_string(rank));
}

}  // namespace
}  // namespace railgauge::nccl
