#include "controller/detect/peers.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

std::vector<Peer> peers(std::size_t count) {
  Chance chance(1);
  std::vector<Peer> out(count);
  for (Peer& peer : out) peer.value = 100 * std::exp(0.01 * chance.normal());
  return out;
}

TEST(Peers, TheSlowOneStandsOutAndTheFastOneDoesNotWorsen) {
  auto all = peers(40);
  all[3].value = 110;
  all[5].value = 90;
  const auto standing = judge_peers(all, Better::kLower, 0);
  EXPECT_GT(standing[3].z, 5);
  EXPECT_NEAR(standing[3].worse, 0.1, 0.01);
  EXPECT_LT(standing[5].z, -5);
  EXPECT_LT(judge_peers(all, Better::kHigher, 0)[3].z, -5);
}

TEST(Peers, ManyBadOnesDoNotLookNormal) {
  auto all = peers(30);
  for (std::size_t i = 0; i < 10; ++i) all[i].value = 108;
  const auto standing = judge_peers(all, Better::kLower, 0);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_GT(standing[i].z, 5) << i;
}

TEST(Peers, FewOrMissingPeersGiveNoVerdict) {
  auto all = peers(8);
  EXPECT_TRUE(judge_peers(all, Better::kLower, 0)[0].judged);
  all[7].value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(judge_peers(all, Better::kLower, 0)[0].judged);
}

TEST(Peers, EqualPeersHaveNoDeviationToBeJudgedBy) {
  std::vector<Peer> all(12);
  for (Peer& peer : all) peer.value = 5;
  for (const PeerScore& standing : judge_peers(all, Better::kLower, 0))
    EXPECT_DOUBLE_EQ(standing.z, 0);
}

TEST(Paging, NeedsTwoOfThreeNightsOrOneThatMatters) {
  const auto page = [](std::vector<double> nights, double worse) {
    return pages(nights, worse, 0.01);
  };
  EXPECT_FALSE(page({0, 0, 4}, 0.5));
  EXPECT_TRUE(page({4, 0, 4}, 0));
  EXPECT_FALSE(page({4, 4, 0, 0, 4}, 0));
  EXPECT_TRUE(page({0, 0, 6}, 0.03));
  EXPECT_FALSE(page({0, 0, 6}, 0.01));
  EXPECT_FALSE(page({}, 1));
}

TEST(Polish, OneBadPortDoesNotAccuseItsPartners) {
  constexpr std::size_t kNodes = 8;
  Chance chance(2);
  std::vector<double> values(kNodes * kNodes);
  for (std::size_t r = 0; r < kNodes; ++r)
    for (std::size_t c = 0; c < kNodes; ++c)
      values[r * kNodes + c] =
          r == c ? std::nan("") : 1 + 0.001 * chance.normal() + (r == 3 || c == 3 ? 0.2 : 0);
  values[1 * kNodes + 6] += 0.5;  // one bad path
  const Polish polish = median_polish(values, kNodes, kNodes);
  EXPECT_NEAR(polish.overall, 1, 0.01);
  EXPECT_NEAR(polish.rows[3], 0.2, 0.01);
  EXPECT_NEAR(polish.columns[3], 0.2, 0.01);
  EXPECT_NEAR(polish.rows[1], 0, 0.01);
  EXPECT_NEAR(polish.columns[6], 0, 0.01);
  EXPECT_NEAR(polish.residuals[1 * kNodes + 6], 0.5, 0.01);
  EXPECT_TRUE(std::isnan(polish.residuals[0]));
}

}  // namespace
}  // namespace railgauge::analysis
