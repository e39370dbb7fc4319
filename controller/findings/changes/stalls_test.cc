// Pauses that move no median are found by the gate and by the judge of nights. Synthetic.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/changes/run_changes.h"
#include "controller/findings/changes/testing/stalled_fabric.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kMillisecond = 1e6;

struct Case {
  double share = 0;
  double pause_ms = 0;
  [[nodiscard]] Stalls stalls() const { return {share, pause_ms * kMillisecond}; }
};

class Stalling : public testing::TestWithParam<Case> {};

analysis::UpgradeVerdict judged(const UpgradeData& sides) {
  return analysis::judge_upgrade(runs_of(sides));
}

TEST_P(Stalling, MovesNoMedianAndTheRateByTheShareOfTime) {
  analysis::Chance chance(1);
  double rate = 0;
  double pauses = 0;
  constexpr int kLaunches = 40;
  for (int i = 0; i < kLaunches; ++i) {
    const Point point = stalled_launch(kLevel, GetParam().stalls(), chance);
    EXPECT_NEAR(point.median() / kLevel, 1, 0.004);  // a tenth of the windows is paused
    rate += point.rate() / kLevel / kLaunches;
    pauses += point.pause_share() / kLaunches;
  }
  EXPECT_NEAR(rate, 1 - GetParam().share, 0.02);
  EXPECT_NEAR(pauses, GetParam().share, 0.02);
}

TEST_P(Stalling, OfAllChangedNodesIsFoundByTheGate) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto verdict = judged(stalled_sides(kStalledNodes / 2, GetParam().stalls(), seed));
    EXPECT_EQ(verdict.verdict, analysis::Verdict::kRegressed) << seed << ": " << verdict.reason;
    EXPECT_EQ(verdict.kind, "performance");
  }
}

// One node of eight, in which the mean of all hides nearly all of it.
TEST_P(Stalling, OfOneChangedNodeIsFoundByTheGate) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto verdict = judged(stalled_sides(1, GetParam().stalls(), seed));
    EXPECT_EQ(verdict.verdict, analysis::Verdict::kRegressed) << seed << ": " << verdict.reason;
    EXPECT_THAT(verdict.reason, HasSubstr("n0")) << seed;
  }
}

TEST_P(Stalling, OfOneNodeIsFoundByTheJudgeOfNights) {
  constexpr int kFrom = kStalledNights - 5;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const auto events = events_of(stalled_nights(kFrom, GetParam().stalls(), seed));
    ASSERT_EQ(events.size(), 1U) << seed;
    EXPECT_EQ(events[0].node, "n1");
    EXPECT_NEAR(events[0].worse, GetParam().share, 0.3 * GetParam().share + 0.01);
  }
}

// Nights are the before side where nobody prepared one: two launches of each place are enough.
TEST_P(Stalling, IsFoundByAGateThatComparesWithNights) {
  UpgradeData sides = stalled_sides(kStalledNodes / 2, GetParam().stalls(), 1);
  sides.upgrade.before_is_history = true;
  std::map<std::int64_t, int> nights;
  std::erase_if(sides.before, [&](const auto& point) { return ++nights[point.series] > 2; });
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kRegressed) << verdict.reason;
}

// Pauses that leave whole slots empty: a p10 of 0 is no missing figure.
TEST_P(Stalling, LeavesNothingOfTheFiguresMissing) {
  const auto verdict = judged(stalled_sides(kStalledNodes / 2, GetParam().stalls(), 1));
  for (const analysis::MetricVerdict& metric : verdict.metrics)
    EXPECT_THAT(metric.missing, IsEmpty()) << metric.name;
}

INSTANTIATE_TEST_SUITE_P(Pauses, Stalling,
                         testing::Values(Case{0.05, 20}, Case{0.05, 100}, Case{0.2, 20},
                                         Case{0.2, 100}, Case{0.5, 20}, Case{0.5, 100}),
                         [](const auto& each) {
                           return fmt::format("{:.0f}PercentIn{:.0f}ms", 100 * each.param.share,
                                              each.param.pause_ms);
                         });

TEST(PausesOfAFifth, MakeTheLowSlotsTheWorstLoss) {
  const auto verdict = judged(stalled_sides(kStalledNodes / 2, {0.2, 100 * kMillisecond}, 1));
  const auto p10 = std::ranges::find_if(verdict.metrics, [](const auto& metric) {
    return metric.name.find(" p10 ") != std::string::npos;
  });
  ASSERT_NE(p10, verdict.metrics.end());
  EXPECT_EQ(p10->verdict, analysis::Verdict::kRegressed);
  EXPECT_GT(p10->worse, 0.9);
}

TEST(WithoutStalls, TheGatePassesAndTheJudgeOfNightsIsSilent) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto verdict = judged(stalled_sides(0, {}, seed));
    EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << seed << ": " << verdict.reason;
    EXPECT_THAT(events_of(stalled_nights(kStalledNights, {}, seed)), IsEmpty()) << seed;
  }
}

// --- another method on the after side ---

TEST(RevisedKernel, LeavesTheGateInconclusiveWithThatReason) {
  UpgradeData sides = stalled_sides(0, {}, 1);
  for (int node = 0; node < kStalledNodes; ++node) {
    store::SeriesRow older = sides.series[node + 1];
    older.revision = 3;
    older.series_id += 100;
    sides.series[older.series_id] = older;
  }
  for (store::SidePointRow& point : sides.before) {
    point.series += 100;
    point.headline *= 2;  // what a median gave
  }
  for (const bool is_history : {false, true}) {
    sides.upgrade.before_is_history = is_history;
    const auto verdict = judged(sides);
    EXPECT_EQ(verdict.verdict, analysis::Verdict::kInconclusive);
    EXPECT_EQ(
        verdict.reason,
        "another method measures verbs.write_bw (revision 4 now, 3 before), so that the sides "
        "are not compared; railgauge upgrades prepare measures a before side by it");
  }
}

TEST(RevisedKernel, HidesNoLossOfAnother) {
  UpgradeData sides = stalled_sides(kStalledNodes / 2, {.share = 0.2}, 1);
  const store::SeriesRow first = sides.series[1];
  for (const auto& [id, revision] : {std::pair{201, 1U}, std::pair{202, 2U}}) {
    sides.series[id] = first;
    sides.series[id].series_id = id;
    sides.series[id].kernel = "net.tcp_bw";
    sides.series[id].revision = revision;
  }
  for (int launch = 0; launch < kStalledLaunches; ++launch) {
    sides.before.push_back({.run_id = "before", .series = 201, .headline = 1e9});
    sides.after.push_back({.run_id = "after", .series = 202, .headline = 0.9e9});
  }
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kRegressed);
  EXPECT_THAT(verdict.reason, HasSubstr("verbs.write_bw"));
}

}  // namespace
}  // namespace railgauge
