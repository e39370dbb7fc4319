// Detection on modelled fabrics, 10 seeds at 64 nodes: detection_bench has the whole table.
#include "controller/sim/score.h"

#include <cmath>

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

// Figures that trials share are those of a fabric by itself, whatever was there before.
TEST(Simulator, GivesTheSameFiguresInMemoryThatWasUsedBefore) {
  Figures reused;
  const auto expect_same = [](const localise::PairData& a, const localise::PairData& b) {
    ASSERT_EQ(a.nodes, b.nodes);
    ASSERT_EQ(a.leaf_of, b.leaf_of);
    ASSERT_EQ(a.layers.size(), b.layers.size());
    for (std::size_t l = 0; l < a.layers.size(); ++l)
      for (std::size_t at = 0; at < a.layers[l].values.size(); ++at) {
        const float x = a.layers[l].values[at];
        const float y = b.layers[l].values[at];
        ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << l << ' ' << at;
      }
  };
  // Kinds side by side in an order that leaves something behind each time.
  for (const std::uint32_t nodes : {32u, 20u})
    for (const std::uint64_t seed : {5u, 6u})
      for (int i = 0; i < 3 * kFaultKinds; ++i) {
        const auto kind = static_cast<FaultKind>(i * 5 % kFaultKinds);
        const FabricSpec spec{.nodes = nodes, .nodes_per_leaf = 8, .seed = seed};
        const int step = 1 + i / kFaultKinds;
        const double drop = 0.05 * step;
        Fabric alone(spec);
        Fabric shared(spec);
        for (const Fault& fault : alone.random_faults(kind, drop)) alone.inject(fault);
        for (const Fault& fault : shared.random_faults(kind, drop)) shared.inject(fault);
        SCOPED_TRACE(fault_word(kind));
        expect_same(alone.all_pairs(), shared.all_pairs(reused));
        expect_same(alone.quick_scan(3), shared.quick_scan(3, reused));
      }
}

// A seed means the same for ever, or what was measured with it could not be compared. As shares of
// what a healthy pair gives, since the last bits are the compiler's.
TEST(Simulator, KeepsTheMeaningOfASeed) {
  Fabric fabric({.nodes = 24, .nodes_per_leaf = 8, .seed = 11});
  for (const Fault& fault : fabric.random_faults(FaultKind::kFlapping, 0.5)) fabric.inject(fault);
  const localise::PairData data = fabric.all_pairs();
  double sum = 0;
  for (const localise::Layer& layer : data.layers)
    for (const float value : layer.values)
      if (value > 0) sum += value / 48.5e9;
  EXPECT_NEAR(data.layers[0].values[1] / 48.5e9, 0.985527, 1e-6);
  EXPECT_NEAR(sum, 2130.33448, 1e-4);
}

TEST(Simulator, HidesNoFaultWhereNothingIsMeasured) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Fabric fabric({.gpu_memory = false, .seed = seed});
    for (const Fault& fault : fabric.random_faults(FaultKind::kTwo, 0.1))
      EXPECT_NE(fault.element.memory, "gpu") << seed;
  }
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
