// Modelled proofs. Figures are synthetic.
#include "controller/parts/proof.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/rounds/partner_rounds.h"

namespace railgauge::parts {
namespace {

// Proved nodes first, then partners, two leaves, with figures of the pairs of a proof.
struct ModelledProof {
  std::size_t proved = 1;
  std::size_t partners = 7;
  std::uint32_t rails = 2;
  double noise = 0.01;
  bool larger_is_better = true;
  // Factor of the figure of a node that sends or receives on a rail.
  std::function<double(std::uint32_t node, std::uint32_t rail, Side side)> factor =
      [](std::uint32_t, std::uint32_t, Side) { return 1.0; };

  [[nodiscard]] std::vector<bool> is_partner() const {
    std::vector<bool> is(proved + partners, false);
    std::fill(is.begin() + static_cast<std::ptrdiff_t>(proved), is.end(), true);
    return is;
  }
  [[nodiscard]] NightFigures figures(std::uint32_t seed) const {
    NightFigures night{.larger_is_better = larger_is_better, .leaves = {"L0", "L1"}};
    std::vector<std::uint32_t> own;
    std::vector<std::uint32_t> others;
    for (std::uint32_t i = 0; i < proved + partners; ++i) {
      night.nodes.push_back({.name = fmt::format("n{}", i), .leaf = static_cast<int>(i % 2)});
      (i < proved ? own : others).push_back(i);
    }
    std::mt19937 random(seed);
    std::normal_distribution<double> chance(0, noise);
    for (const auto& round : plan::partner_rounds(own, others))
      for (const auto& [a, b] : round)
        for (std::uint32_t rail = 0; rail < rails; ++rail)
          for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
            night.figures.push_back({.from = from,
                                     .to = to,
                                     .rail = rail,
                                     .value = 4e10 * factor(from, rail, Side::kSends) *
                                              factor(to, rail, Side::kReceives) *
                                              std::exp(chance(random))});
    return night;
  }
  // The answer of one side by its peers alone.
  [[nodiscard]] ProofAnswer answer(std::uint32_t seed, std::uint32_t node, std::uint32_t rail,
                                   Side side) const {
    ProofCase one{.least = larger_is_better ? kLeastRateLoss : kLeastTimeLoss};
    const std::vector<bool> is = is_partner();
    for (const ProofLevel& level : levels_against(figures(seed), is)) {
      if (is[level.node]) one.peers.push_back(level.loss);
      if (level.node != node || level.rail != rail || level.side != side) continue;
      one.loss = level.loss;
      one.error = level.error;
    }
    return prove(one);
  }
};

TEST(Proof, HealthyNodesAreProvedAndSlowOnesAreNot) {
  int proved = 0;
  int called = 0;
  constexpr int kSeeds = 200;
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    ModelledProof model{.proved = 1 + seed % 8, .partners = 7 + seed % 3};
    const std::uint32_t node = seed % static_cast<std::uint32_t>(model.proved);
    proved += model.answer(seed, node, 1, Side::kSends).state == ProofState::kProved ? 1 : 0;
    model.factor = [&](std::uint32_t n, std::uint32_t rail, Side side) {
      return n == node && rail == 1 && side == Side::kSends ? 0.9 : 1;
    };
    called += model.answer(seed, node, 1, Side::kSends).state == ProofState::kWorse ? 1 : 0;
    EXPECT_EQ(model.answer(seed, node, 1, Side::kReceives).state, ProofState::kProved)
        << "the other side is as it should be, seed " << seed;
  }
  EXPECT_GE(proved, kSeeds - 1);
  EXPECT_GE(called, kSeeds - 1) << "a tenth at 1 % noise";
}

// Half of the measured nodes are slow: the partners alone say what is expected.
TEST(Proof, NodesThatAreAllSlowAreAllCalled) {
  ModelledProof model{.proved = 8, .partners = 8};
  model.factor = [](std::uint32_t node, std::uint32_t, Side) { return node < 8 ? 0.9 : 1; };
  for (std::uint32_t node = 0; node < 8; ++node)
    for (const Side side : {Side::kSends, Side::kReceives}) {
      const ProofAnswer answer = model.answer(3, node, 0, side);
      EXPECT_EQ(answer.state, ProofState::kWorse);
      EXPECT_NEAR(*answer.of_peers, -std::log(0.9), 0.03);
    }
}

TEST(Proof, ALatencyIsWorseWhenItIsLarger) {
  ModelledProof model{.larger_is_better = false};
  model.factor = [](std::uint32_t node, std::uint32_t rail, Side) {
    return node == 0 && rail == 0 ? 1.2 : 1;
  };
  EXPECT_EQ(model.answer(5, 0, 0, Side::kReceives).state, ProofState::kWorse);
  EXPECT_EQ(model.answer(5, 0, 1, Side::kReceives).state, ProofState::kProved);
}

TEST(Proof, PastNightsOfTheFaultDoNotHideThatItWasBetter) {
  ProofCase one{.loss = 0.1, .peers = std::vector<double>(7, 0.1), .loss_now = 0.1, .least = 0.03};
  EXPECT_EQ(prove(one).state, ProofState::kProved) << "without a past, the peers decide";
  one.past = {0.001, -0.002, 0.0, 0.1, 0.101};
  EXPECT_EQ(prove(one).state, ProofState::kWorse);
  one.past = {0.1, 0.099, 0.102, 0.101};
  EXPECT_EQ(prove(one).state, ProofState::kProved) << "it always was so, and so are its peers";
}

// A figure of a node by itself has noise of its own, and its peers are as few as the partners.
TEST(Proof, OfHundredsOfSingleFiguresNearlyNoneIsCalledWrongly) {
  std::mt19937 random(23);
  for (const double noise : {0.01, 0.03}) {
    std::normal_distribution<double> chance(0, noise);
    int called = 0;
    int missed = 0;
    constexpr int kFigures = 20'000;
    for (int i = 0; i < kFigures; ++i) {
      ProofCase one{.loss = chance(random), .least = kLeastRateLoss};
      for (int peer = 0; peer < 8; ++peer) one.peers.push_back(chance(random));
      called += prove(one).state == ProofState::kWorse ? 1 : 0;
      one.loss += 0.25;
      missed += prove(one).state == ProofState::kProved ? 1 : 0;
    }
    EXPECT_LT(called, kFigures / 2'000) << noise;
    EXPECT_LT(missed, kFigures / 100) << noise;
  }
}

TEST(Proof, WithoutPeersAndPastIsUnsure) {
  EXPECT_EQ(prove({.peers = {0, 0}, .past = {0, 0}}).state, ProofState::kUnsure);
  EXPECT_EQ(prove({.peers = {-0.2, 0, 0.2, 0.1}, .least = 0.03}).state, ProofState::kUnsure)
      << "peers that scatter so much call nothing";
  EXPECT_TRUE(levels_against({}, {}).empty());
}

// The unit and the common level of all figures say nothing.
TEST(Proof, LevelsDoNotDependOnTheUnit) {
  const ModelledProof model{.proved = 3};
  NightFigures night = model.figures(9);
  const auto before = levels_against(night, model.is_partner());
  for (Figure& figure : night.figures) figure.value /= 125'000;
  const auto after = levels_against(night, model.is_partner());
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(before[i].loss, after[i].loss, 1e-9);
}

}  // namespace
}  // namespace railgauge::parts
