// A place that lost much in a cohort that lost nothing.
#include "controller/verdict/cohort.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"
#include "controller/verdict/verdict.h"

namespace railgauge::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 64 pairs of changed nodes and 16 of controls that drift by 0.5 %; the first loses `loss`.
UpgradeRuns large(double loss, std::uint64_t seed) {
  Chance chance(seed);
  UpgradeRuns out{.id = "u1", .metrics = {}, .functions = {}};
  MetricRuns metric{
      .name = "bandwidth", .traits = traits_of("bytes_per_second", true, "median"), .pairs = {}};
  for (std::size_t i = 0; i < 80; ++i) {
    const double level = 100 * (1 + 0.005 * chance.normal()) * (1 - (i == 0 ? loss : 0));
    PairRuns pair{.node = "n" + std::to_string(i),
                  .endpoint = "e",
                  .changed = i < 64,
                  .before = {},
                  .after = {}};
    for (int run = 0; run < 5; ++run) {
      pair.before.push_back(100 * (1 + 0.01 * chance.normal()));
      pair.after.push_back(level * (1 + 0.01 * chance.normal()));
    }
    metric.pairs.push_back(std::move(pair));
  }
  out.metrics.push_back(std::move(metric));
  return out;
}

TEST(FarLosses, OneNodeOfManyThatLostMuchIsNoPass) {
  std::size_t called = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const UpgradeVerdict verdict = judge_upgrade(large(0.1, seed));
    called += verdict.verdict == Verdict::kRegressed ? 1 : 0;
    if (seed == 1) {
      EXPECT_LT(*verdict.metrics[0].high, 0.01) << "the mean alone is within the bound";
      EXPECT_EQ(verdict.kind, "performance");
      EXPECT_THAT(verdict.reason, HasSubstr("n0/e, n0: up to "));
    }
  }
  EXPECT_GE(called, 49U);
}

// The places of a verdict alone, without the permutations of its mean.
MetricVerdict places_of(const UpgradeRuns& runs) {
  MetricVerdict out;
  const MetricRuns& metric = runs.metrics[0];
  find_far_losses(metric, gather(metric, runs, out), runs.metrics.size(), out);
  return out;
}

// The smallest loss that a verdict promises to name is named as often as it promises, and half of
// it seldom.
TEST(FarLosses, ThePromisedLossIsNamed) {
  constexpr std::uint64_t kSeeds = 100;
  std::size_t named = 0;
  std::size_t half = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const MetricVerdict calm = places_of(large(0, seed));
    ASSERT_EQ(calm.sight.size(), 64U) << "one for each changed pair";
    ASSERT_EQ(calm.sight[0].name, "n0/e");
    const double promised = calm.sight[0].loss.value();
    const auto names = [&](double loss) {
      const std::vector<std::string> far = places_of(large(loss, seed)).far;
      return std::ranges::find(far, "n0/e") != far.end() ? 1U : 0U;
    };
    named += names(promised);
    half += names(promised / 2);
  }
  EXPECT_GE(named, 90U);
  EXPECT_LT(half, 50U);
}

TEST(FarLosses, APairWithoutFiguresShowsNothing) {
  UpgradeRuns input = large(0, 1);
  input.metrics[0].pairs[3].after.clear();
  const MetricVerdict verdict = places_of(input);
  const auto blind = std::ranges::find(verdict.sight, "n3/e", &PairSight::name);
  ASSERT_NE(blind, verdict.sight.end());
  EXPECT_FALSE(blind->loss);
  EXPECT_EQ(verdict.sight.size(), 64U);
}

// Eight rails, each within what single rails scatter by.
TEST(FarLosses, ANodeAllOfWhoseRailsLostSomeIsNoPass) {
  UpgradeRuns input = large(0, 1);
  std::vector<PairRuns> rails;
  for (std::uint64_t rail = 1; rail <= 8; ++rail) {
    const UpgradeRuns of_rail = large(0.04, rail);
    for (PairRuns pair : of_rail.metrics[0].pairs) {
      pair.endpoint = "e" + std::to_string(rail);
      rails.push_back(std::move(pair));
    }
  }
  input.metrics[0].pairs = rails;
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kRegressed);
  EXPECT_THAT(verdict.metrics[0].far, testing::Contains("n0"));
}

TEST(FarLosses, DriftOfManyNodesCallsNoneOfThem) {
  std::size_t called = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed)
    called += judge_upgrade(large(0, seed)).verdict == Verdict::kRegressed ? 1 : 0;
  EXPECT_LE(called, 2U);
}

// The scatter of few places is not known.
TEST(FarLosses, FewPlacesCallNobody) {
  std::vector<PlaceShift> places(10, PlaceShift{.changed = true});
  places[3].shift = 0.5;
  EXPECT_THAT(far_losses(places, 0.01, 1), IsEmpty());
  places.resize(20, PlaceShift{.changed = true});
  EXPECT_THAT(far_losses(places, 0.01, 1), ElementsAre(3U));
  for (PlaceShift& place : places) place.run_error2 = 0.1;
  EXPECT_THAT(far_losses(places, 0.01, 1), IsEmpty()) << "its own runs scatter as much";
}

// A loss that the controls share is nobody's own.
TEST(FarLosses, TheControlsMoveIsTakenOff) {
  std::vector<PlaceShift> places(20, PlaceShift{.changed = true});
  places[3].shift = 0.2;
  std::vector<PlaceShift> all = places;
  for (int i = 0; i < 8; ++i) all.push_back({.changed = false, .shift = 0.2});
  EXPECT_THAT(far_losses(places, 0.01, 1), ElementsAre(3U));
  EXPECT_THAT(far_losses(all, 0.01, 1), IsEmpty());
}

}  // namespace
}  // namespace railgauge::analysis
