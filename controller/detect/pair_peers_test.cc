// Nodes and paths out of pairs' figures. Synthetic.
#include "controller/detect/peers.h"

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kNodes = 10;

// All pairs once, 1 % noise.
std::vector<PairFigure> all_pairs(std::uint64_t seed) {
  Chance chance(seed);
  std::vector<PairFigure> figures;
  for (std::size_t a = 0; a < kNodes; ++a)
    for (std::size_t b = a + 1; b < kNodes; ++b)
      figures.push_back({.from = a, .to = b, .value = 1500 * (1 + 0.01 * chance.normal())});
  return figures;
}

TEST(PairPeers, ASlowNodeAccusesNeitherItsPartnersNorItsPaths) {
  auto figures = all_pairs(1);
  for (PairFigure& figure : figures)
    if (figure.from == 4 || figure.to == 4) figure.value *= 1.1;
  const PairScores standings = judge_pairs(figures, kNodes, Better::kLower, 0.005);
  ASSERT_TRUE(standings.apart);
  for (std::size_t i = 0; i < kNodes; ++i) {
    ASSERT_TRUE(standings.nodes[i].judged);
    EXPECT_EQ(standings.nodes[i].z > kPageAtOnceZ, i == 4) << i << ": " << standings.nodes[i].z;
  }
  for (const PeerScore& path : standings.paths) EXPECT_LT(path.z, kPageAtOnceZ);
}

TEST(PairPeers, ASlowPathAccusesNeitherOfItsEnds) {
  auto figures = all_pairs(2);
  figures[0].value *= 1.2;
  const PairScores standings = judge_pairs(figures, kNodes, Better::kLower, 0.005);
  EXPECT_GT(standings.paths[0].z, kPageAtOnceZ);
  EXPECT_LT(standings.nodes[0].z, kPageAtOnceZ);
  EXPECT_LT(standings.nodes[1].z, kPageAtOnceZ);
}

TEST(PairPeers, ARateThatIsLowInOneDirectionIsTheSenders) {
  auto figures = all_pairs(3);
  for (std::size_t i = kNodes * (kNodes - 1) / 2; i-- > 0;)
    figures.push_back({.from = figures[i].to, .to = figures[i].from, .value = figures[i].value});
  for (PairFigure& figure : figures)
    if (figure.from == 7) figure.value *= 0.9;
  const PairScores standings = judge_pairs(figures, kNodes, Better::kHigher, 0.005);
  for (std::size_t i = 0; i < kNodes; ++i)
    EXPECT_EQ(standings.nodes[i].z > kPageAtOnceZ, i == 7) << i << ": " << standings.nodes[i].z;
}

TEST(PairPeers, TooFewPartnersOrNodesCannotBeTakenApart) {
  std::vector<PairFigure> ring;
  for (std::size_t i = 0; i < kNodes; ++i)
    ring.push_back({.from = i, .to = (i + 1) % kNodes, .value = 1500});
  EXPECT_FALSE(judge_pairs(ring, kNodes, Better::kLower, 0.005).apart);
  auto figures = all_pairs(4);
  std::erase_if(figures, [](const PairFigure& f) { return f.from >= 7 || f.to >= 7; });
  EXPECT_FALSE(judge_pairs(figures, kNodes, Better::kLower, 0.005).apart) << "seven nodes";
  figures = all_pairs(5);
  for (PairFigure& figure : figures)
    if (figure.from == 9 || figure.to == 9) figure.value = 0;
  const PairScores standings = judge_pairs(figures, kNodes, Better::kLower, 0.005);
  ASSERT_TRUE(standings.apart);
  EXPECT_FALSE(standings.nodes[9].judged) << "nothing was measured with it";
  EXPECT_FALSE(judge_pairs({}, 0, Better::kLower, 0.005).apart);
}

}  // namespace
}  // namespace railgauge::analysis
