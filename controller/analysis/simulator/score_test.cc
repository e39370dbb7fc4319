// Detection on modelled fabrics, 10 seeds at 64 nodes: detection_bench has the whole table.
#include "controller/analysis/simulator/score.h"

#include <gtest/gtest.h>

namespace railgauge::simulator {
namespace {

constexpr std::uint64_t kSeeds = 10;

class Detection : public testing::TestWithParam<int> {};

TEST_P(Detection, NamesTheFaultAndItsDirectionAtTheFirstPlace) {
  const auto kind = static_cast<FaultKind>(GetParam());
  Score sum;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Score one = score_of({.kind = kind, .drop = usual_drop(kind)}, seed);
    sum.right += one.right;
    sum.wrong += one.wrong;
  }
  EXPECT_EQ(sum.right, kSeeds) << fault_word(kind);
  EXPECT_TRUE(kind != FaultKind::kNone || sum.wrong == 0);
}

INSTANTIATE_TEST_SUITE_P(EveryFault, Detection, testing::Range(0, kFaultKinds),
                         [](const auto& each) {
                           std::string name(fault_word(static_cast<FaultKind>(each.param)));
                           std::erase(name, ' ');
                           return name;
                         });

TEST(Simulator, MarksWhatItGivesAsSynthetic) {
  Fabric fabric({.nodes = 8, .nodes_per_leaf = 4});
  EXPECT_TRUE(fabric.all_pairs().synthetic);
  const auto quick = fabric.quick_scan(2);
  EXPECT_TRUE(quick.synthetic);
  const auto found = localise::find_suspects(quick);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->synthetic);
}

TEST(Simulator, GivesTheSameFiguresForTheSameSeed) {
  const auto a = Fabric({.nodes = 8, .nodes_per_leaf = 4, .seed = 3}).all_pairs();
  const auto b = Fabric({.nodes = 8, .nodes_per_leaf = 4, .seed = 3}).all_pairs();
  const auto c = Fabric({.nodes = 8, .nodes_per_leaf = 4, .seed = 4}).all_pairs();
  EXPECT_EQ(a.layers[0].values[1], b.layers[0].values[1]);
  EXPECT_NE(a.layers[0].values[1], c.layers[0].values[1]);
}

TEST(Simulator, DrawsNumbersWithTheMomentsAndTailsOfABell) {
  const Normal normal;
  Random random(7);
  constexpr int kDraws = 1'000'000;
  double sum = 0;
  double squares = 0;
  int beyond_three = 0;
  int beyond_four = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = normal(random);
    sum += x;
    squares += x * x;
    beyond_three += std::abs(x) > 3 ? 1 : 0;
    beyond_four += std::abs(x) > 4 ? 1 : 0;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.004);
  EXPECT_NEAR(squares / kDraws, 1, 0.006);
  EXPECT_NEAR(beyond_three, 2'700, 260);
  EXPECT_NEAR(beyond_four, 63, 40);
}

}  // namespace
}  // namespace railgauge::simulator
