#include "controller/verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

using testing::HasSubstr;

std::vector<double> runs(double level, Chance& chance, std::size_t count = 5) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(level * (1 + 0.002 * chance.normal()));
  return out;
}

// 8 changed and 8 control pairs of bandwidth; the changed ones lose `loss`.
UpgradeRuns upgrade(double loss, std::size_t controls = 8) {
  Chance chance(11);
  UpgradeRuns out{.id = "u1", .metrics = {}, .functions = {}};
  MetricRuns metric{
      .name = "bandwidth", .traits = traits_of("bytes_per_second", true, "median"), .pairs = {}};
  for (std::size_t i = 0; i < 8 + controls; ++i) {
    const bool changed = i < 8;
    PairRuns pair{.node = (changed ? "n" : "c") + std::to_string(i),
                  .endpoint = "mlx5_0:1",
                  .changed = changed,
                  .before = runs(100, chance),
                  .after = runs(100 * (1 - (changed ? loss : 0)), chance)};
    metric.pairs.push_back(std::move(pair));
  }
  out.metrics.push_back(std::move(metric));
  return out;
}

TEST(UpgradeVerdict, NothingLostIsAPassWithABound) {
  const UpgradeVerdict verdict = judge_upgrade(upgrade(0));
  EXPECT_EQ(verdict.verdict, Verdict::kPass) << verdict.reason;
  ASSERT_TRUE(verdict.metrics[0].high);
  EXPECT_LT(*verdict.metrics[0].high, 0.01);
  EXPECT_DOUBLE_EQ(verdict.metrics[0].coverage, 1);
  EXPECT_TRUE(verdict.notes.empty());
}

TEST(UpgradeVerdict, ALossIsRegressedAndItsNodesAreFlagged) {
  const UpgradeVerdict verdict = judge_upgrade(upgrade(0.05));
  EXPECT_EQ(verdict.verdict, Verdict::kRegressed);
  EXPECT_EQ(verdict.kind, "performance");
  EXPECT_NEAR(verdict.metrics[0].worse, 0.05, 0.005);
  EXPECT_EQ(verdict.metrics[0].flags.size(), 8U);
}

TEST(UpgradeVerdict, ASmallLossThatIsRealPassesAndIsNamed) {
  const UpgradeVerdict verdict = judge_upgrade(upgrade(0.005));
  EXPECT_EQ(verdict.verdict, Verdict::kPass) << verdict.reason;
  ASSERT_EQ(verdict.notes.size(), 1U);
  EXPECT_THAT(verdict.notes[0], HasSubstr("is real"));
}

TEST(UpgradeVerdict, WhatTheControlsLostAsWellIsSaidBesideAPass) {
  UpgradeRuns input = upgrade(0);
  for (PairRuns& pair : input.metrics[0].pairs)
    for (double& value : pair.after) value *= 0.9;
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kPass) << verdict.reason;
  ASSERT_EQ(verdict.notes.size(), 1U);
  EXPECT_THAT(verdict.notes[0], HasSubstr("% worse than before as well"));
}

TEST(UpgradeVerdict, WithoutControlsItSaysWhatItCannotExclude) {
  const UpgradeVerdict verdict = judge_upgrade(upgrade(0, 0));
  EXPECT_EQ(verdict.verdict, Verdict::kPass) << verdict.reason;
  ASSERT_EQ(verdict.notes.size(), 1U);
  EXPECT_THAT(verdict.notes[0], HasSubstr("no controls"));
}

// As a tail is, which slower messages leave too few samples for.
TEST(UpgradeVerdict, AMetricThatLacksWhileOthersWereMeasuredIsInconclusive) {
  UpgradeRuns input = upgrade(0);
  input.metrics.push_back(input.metrics[0]);
  input.metrics[1].name = "p99";
  for (PairRuns& pair : input.metrics[1].pairs) pair.after.clear();
  const UpgradeVerdict one = judge_upgrade(input);
  EXPECT_EQ(one.verdict, Verdict::kInconclusive) << one.reason;
  EXPECT_THAT(one.reason, HasSubstr("p99: fewer than"));
  input.metrics[0] = upgrade(0.1).metrics[0];
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kRegressed);
  for (PairRuns& pair : input.metrics[0].pairs) pair.after.clear();
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kInvalid);
}

TEST(UpgradeVerdict, AMissingNodeIsNeverAPass) {
  UpgradeRuns input = upgrade(0);
  input.metrics[0].pairs[2].after.clear();
  UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_THAT(verdict.reason, HasSubstr("n2/mlx5_0:1"));
  input.min_coverage = 0.8;
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kPass);
  for (PairRuns& pair : input.metrics[0].pairs) pair.before.clear();
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kInvalid);
  EXPECT_EQ(judge_upgrade({}).verdict, Verdict::kInvalid);
}

TEST(UpgradeVerdict, ANodeCountsOnceHoweverManyPairsItHas) {
  UpgradeRuns input = upgrade(0);
  std::vector<PairRuns>& pairs = input.metrics[0].pairs;
  const std::vector<PairRuns> once = pairs;
  for (PairRuns pair : once) {
    pair.endpoint = "mlx5_1:1";
    pairs.push_back(pair);
  }
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.metrics[0].changed, 8U);
  EXPECT_EQ(verdict.metrics[0].controls, 8U);
  EXPECT_NEAR(*verdict.metrics[0].high, *judge_upgrade(upgrade(0)).metrics[0].high, 1e-12)
      << "the same figures again are no more nodes";
}

TEST(UpgradeVerdict, CoverageIsOfPairsAlsoWhereTheirEndsWereMeasuredWithOthers) {
  UpgradeRuns input = upgrade(0);
  std::vector<PairRuns>& pairs = input.metrics[0].pairs;
  PairRuns more = pairs[0];
  more.other_node = "n1";
  more.other_endpoint = "mlx5_0:1";
  pairs.push_back(more);
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kPass);
  pairs.back().after.resize(1);
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive) << "n0 and n1 are measured, the pair is not";
  EXPECT_THAT(verdict.metrics[0].missing, testing::ElementsAre("n0/mlx5_0:1 with n1/mlx5_0:1"));
  EXPECT_NEAR(verdict.metrics[0].coverage, 8.0 / 9, 1e-12);
}

// `count` nodes on a ring, each pair measured by its first node.
void add_ring(std::vector<PairRuns>& pairs, char kind, std::size_t count, double loss) {
  Chance chance(7);
  for (std::size_t i = 0; i < count; ++i)
    pairs.push_back({.node = kind + std::to_string(i),
                     .endpoint = "mlx5_0:1",
                     .changed = kind == 'n',
                     .before = runs(100, chance),
                     .after = runs(100 * (1 - loss), chance),
                     .other_node = kind + std::to_string((i + 1) % count),
                     .other_endpoint = "mlx5_0:1"});
}

TEST(UpgradeVerdict, PairsThatShareNodesBoundLessThanPairsThatShareNone) {
  UpgradeRuns ring{.id = "u1", .metrics = {}, .functions = {}};
  ring.metrics.push_back(
      {.name = "b", .traits = traits_of("bytes_per_second", true, "median"), .pairs = {}});
  add_ring(ring.metrics[0].pairs, 'n', 8, 0);
  add_ring(ring.metrics[0].pairs, 'c', 8, 0);
  UpgradeRuns apart = ring;
  for (PairRuns& pair : apart.metrics[0].pairs) pair.other_node.clear();
  const MetricVerdict shared = judge_upgrade(ring).metrics[0];
  const MetricVerdict alone = judge_upgrade(apart).metrics[0];
  EXPECT_NEAR(shared.worse, alone.worse, 1e-12);
  EXPECT_GT(*shared.high - *shared.low, 1.2 * (*alone.high - *alone.low));
}

TEST(UpgradeVerdict, TwoDirectionsOfOnePairAreOneFigure) {
  UpgradeRuns input{.id = "u1", .metrics = {}, .functions = {}};
  input.metrics.push_back(
      {.name = "b", .traits = traits_of("bytes_per_second", true, "median"), .pairs = {}});
  add_ring(input.metrics[0].pairs, 'n', 2, 0);
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_TRUE(verdict.metrics[0].lone);
  ASSERT_FALSE(verdict.notes.empty());
  EXPECT_THAT(verdict.notes, testing::Contains(HasSubstr("one node only")));
}

TEST(UpgradeVerdict, ASlowModeThatIsHeldMoreOftenIsALossWithoutAShift) {
  UpgradeRuns input = upgrade(0);
  for (PairRuns& pair : input.metrics[0].pairs)
    if (pair.changed) pair.after[0] = pair.after[1] = 80;
  UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kRegressed) << verdict.reason;
  EXPECT_EQ(verdict.kind, "mode_mix");
  EXPECT_THAT(verdict.reason, HasSubstr("in 40 % of runs, 0 % before"));
  for (PairRuns& pair : input.metrics[0].pairs) pair.after[0] = pair.after[1] = 80;
  verdict = judge_upgrade(input);
  EXPECT_NE(verdict.kind, "mode_mix") << "the controls did it as well";
}

TEST(UpgradeVerdict, ASecondLookIsHeldToAWiderInterval) {
  UpgradeRuns input = upgrade(0);
  const MetricVerdict first = judge_upgrade(input).metrics[0];
  input.again = true;
  const UpgradeVerdict second = judge_upgrade(input);
  EXPECT_GT(*second.metrics[0].high, *first.high);
  EXPECT_THAT(second.notes, testing::Contains(HasSubstr("repeated look")));
}

// The first of upgrade()'s changed nodes and its controls.
UpgradeRuns single(double loss) {
  UpgradeRuns input = upgrade(loss);
  std::vector<PairRuns>& pairs = input.metrics[0].pairs;
  pairs.erase(pairs.begin() + 1, pairs.begin() + 8);
  return input;
}

TEST(UpgradeVerdict, OneNodeIsBoundByItsOwnRunsAndThatIsSaid) {
  const UpgradeVerdict pass = judge_upgrade(single(0));
  EXPECT_EQ(pass.verdict, Verdict::kPass) << pass.reason;
  ASSERT_EQ(pass.notes.size(), 1U);
  EXPECT_THAT(pass.notes[0], HasSubstr("one node only"));
  EXPECT_EQ(judge_upgrade(single(0.2)).verdict, Verdict::kRegressed);
  const UpgradeVerdict drift = judge_upgrade(single(0.011));
  EXPECT_EQ(drift.verdict, Verdict::kInconclusive) << "a loss as small may be its drift";
  EXPECT_THAT(drift.reason, HasSubstr("one node's drift"));
}

TEST(UpgradeVerdict, TwoNodesThatBothLoseMuchAreRegressed) {
  for (const std::size_t controls : {0U, 2U, 8U}) {
    UpgradeRuns input = upgrade(0.2, controls);
    std::vector<PairRuns>& pairs = input.metrics[0].pairs;
    pairs.erase(pairs.begin() + 2, pairs.begin() + 8);
    EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kRegressed) << controls << " controls";
    for (PairRuns& pair : pairs)
      if (pair.node == "n1") pair.after = pair.before;
    EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kInconclusive) << "one of them alone";
  }
}

TEST(UpgradeVerdict, AFigureThatIsNotPositiveIsMissing) {
  UpgradeRuns input = upgrade(0);
  input.metrics[0].pairs[1].after[0] = 0;
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_EQ(verdict.metrics[0].missing, std::vector<std::string>{"n1/mlx5_0:1"});
}

TEST(UpgradeVerdict, FewNoisyPairsAreInconclusiveWithWhatWouldSettleIt) {
  Chance chance(3);
  UpgradeRuns input{.id = "u2", .metrics = {}, .functions = {}};
  MetricRuns metric{.name = "latency", .traits = traits_of("ns", false, "median"), .pairs = {}};
  for (std::size_t i = 0; i < 4; ++i) {
    PairRuns pair{.node = "n" + std::to_string(i),
                  .endpoint = "e",
                  .changed = i < 2,
                  .before = {},
                  .after = {}};
    for (int r = 0; r < 5; ++r) {
      pair.before.push_back(1000 * (1 + 0.05 * chance.normal()));
      pair.after.push_back(1000 * (1 + 0.05 * chance.normal()));
    }
    metric.pairs.push_back(std::move(pair));
  }
  input.metrics.push_back(std::move(metric));
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_THAT(verdict.reason, HasSubstr("would settle it"));
}

// One metric of twelve at p = 0.03 is chance as often as not; asking for nothing would leave it so.
TEST(UpgradeVerdict, ALossThatMayBeChanceAmongManyMetricsSaysWhatWouldSettleIt) {
  int asked = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Chance chance(seed);
    UpgradeRuns input = upgrade(0);
    for (int more = 1; more < 12; ++more) {
      input.metrics.push_back(input.metrics.front());
      input.metrics.back().name = "bandwidth " + std::to_string(more);
    }
    for (PairRuns& pair : input.metrics.front().pairs) {
      for (double& run : pair.before) run = 100 * (1 + 0.02 * chance.normal());
      for (double& run : pair.after)
        run = (pair.changed ? 98.6 : 100) * (1 + 0.02 * chance.normal());
    }
    const UpgradeVerdict verdict = judge_upgrade(input);
    const MetricVerdict& metric = verdict.metrics.front();
    if (metric.p_worse < 0.02 || metric.p_worse > 0.04) continue;
    ++asked;
    EXPECT_EQ(verdict.verdict, Verdict::kInconclusive) << verdict.reason;
    EXPECT_THAT(verdict.reason, HasSubstr("may be chance among 12 metrics"));
    EXPECT_GT(metric.need.runs + metric.need.nodes, 0U);
    EXPECT_THAT(verdict.reason, HasSubstr("nodes would settle it"));
  }
  EXPECT_GE(asked, 3);
}

TEST(UpgradeVerdict, AMetricThatNoEarlierRunHasForbidsAPassUnlessLessIsAskedFor) {
  UpgradeRuns input = upgrade(0);
  ASSERT_EQ(judge_upgrade(input).verdict, Verdict::kPass);
  input.uncompared = {"message_rate"};
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_THAT(verdict.reason, HasSubstr("1 of 2 metrics have no before side"));
  EXPECT_THAT(verdict.reason, HasSubstr("message_rate"));
  input.min_coverage = 0.5;
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kPass);
}

TEST(UpgradeVerdict, EqualInputGivesEqualVerdicts) {
  const UpgradeVerdict one = judge_upgrade(upgrade(0.012));
  const UpgradeVerdict other = judge_upgrade(upgrade(0.012));
  EXPECT_EQ(one.verdict, other.verdict);
  EXPECT_EQ(one.metrics[0].p_worse, other.metrics[0].p_worse);
}

}  // namespace
}  // namespace railgauge::analysis
