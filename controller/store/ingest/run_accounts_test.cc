#include "controller/store/ingest/run_accounts.h"

#include <gtest/gtest.h>

namespace railgauge::store {
namespace {

using enum RunAccounts::Answer;

TEST(RunAccounts, ANodeHasSoMuchARunAndMoreForEachRank) {
  RunAccounts accounts({.bytes = 100, .rank_bytes = 10});
  accounts.add_rank(1, 1);
  EXPECT_EQ(accounts.take(1, 1, 110), kTaken);
  EXPECT_EQ(accounts.take(1, 1, 1), kRefusedFirst) << "one event";
  EXPECT_EQ(accounts.take(1, 1, 1), kRefused);
  EXPECT_EQ(accounts.take(1, 2, 100), kTaken) << "another node";
  EXPECT_EQ(accounts.take(2, 1, 100), kTaken) << "another run";
  accounts.add_rank(1, 1);
  EXPECT_EQ(accounts.take(1, 1, 10), kTaken);
  EXPECT_EQ(accounts.take(1, 1, 1), kRefused);
}

// 512 nodes of 8 rails: the most tasks of one run, two ranks each, 20 sizes with their histograms.
TEST(RunAccounts, ANightOfALargeSiteDoesNotMeetTheBound) {
  RunAccounts accounts({});
  for (int rank = 0; rank < 2 * 200'000 / 512; ++rank) {
    accounts.add_rank(1, 1);
    for (int point = 0; point < 20; ++point) ASSERT_EQ(accounts.take(1, 1, 20'000), kTaken);
  }
}

TEST(RunAccounts, TheirNumberIsBounded) {
  RunAccounts accounts({.bytes = 100, .rank_bytes = 0});
  EXPECT_EQ(accounts.take(1, 0, 100), kTaken);
  for (std::size_t node = 0; node <= RunAccounts::kMostAccounts; ++node)
    accounts.take(2, static_cast<std::int64_t>(node), 1);
  EXPECT_EQ(accounts.take(1, 0, 100), kTaken) << "the oldest run's is forgotten";
}

}  // namespace
}  // namespace railgauge::store
