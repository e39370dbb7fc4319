#include "controller/stats/families.h"

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

TEST(Families, SimesIsTheSmallestScaledP) {
  const std::vector<double> p{0.01, 0.04, 0.03};
  EXPECT_DOUBLE_EQ(simes_p(p), 0.03);
  EXPECT_DOUBLE_EQ(simes_p({}), 1);
  const std::vector<double> one{0.2};
  EXPECT_DOUBLE_EQ(simes_p(one), 0.2);
}

TEST(Families, BenjaminiAndHochbergStepUp) {
  // 0.02 alone would not stand at 0.05 * 1 / 4, but 0.03 at rank 3 carries it.
  const std::vector<double> p{0.03, 0.9, 0.02, 0.025};
  EXPECT_EQ(benjamini_hochberg(p, 0.05), (std::vector<bool>{true, false, true, true}));
  EXPECT_TRUE(benjamini_hochberg({}, 0.05).empty());
}

TEST(Families, FalseDiscoveriesStayInTheirShare) {
  double share = 0;
  constexpr int kTrials = 400;
  for (std::uint64_t seed = 0; seed < kTrials; ++seed) {
    Chance chance(seed);
    std::vector<double> p;
    for (int i = 0; i < 200; ++i) p.push_back(i < 20 ? 1e-5 * chance.uniform() : chance.uniform());
    const auto stand = benjamini_hochberg(p);
    double told = 0;
    double wrong = 0;
    for (std::size_t i = 0; i < stand.size(); ++i) {
      told += stand[i] ? 1 : 0;
      wrong += stand[i] && i >= 20 ? 1 : 0;
    }
    share += told > 0 ? wrong / told / kTrials : 0;
  }
  EXPECT_LE(share, 0.055);
  EXPECT_GE(share, 0.03);
}

TEST(Families, AQuietFamilyCostsNothing) {
  const std::vector<std::vector<double>> families{{0.001, 0.9}, {0.5, 0.6, 0.7}, {}};
  const auto stand = hierarchical(families);
  EXPECT_EQ(stand[0], (std::vector<bool>{true, false}));
  EXPECT_EQ(stand[1], (std::vector<bool>{false, false, false}));
  EXPECT_TRUE(stand[2].empty());
}

}  // namespace
}  // namespace railgauge::analysis
