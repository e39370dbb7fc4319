// Which figures of both sides are compared, and what is said of the others.
#include "controller/upgrades/side_figures.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr int kNodes = 8;  // the first half changed
constexpr int kLaunchesASide = 5;

// A series of each node, five launches a side, which scatter by a thousandth.
UpgradeData sides_of(const store::SeriesRow& like, const store::SidePointRow& launch,
                     int launches = kLaunchesASide) {
  analysis::Chance chance(7);
  UpgradeData sides;
  sides.upgrade.upgrade_id = "u";
  sides.upgrade.runs = {{.run_id = "before"}, {.run_id = "after", .after = true}};
  const auto scatter = [&](std::optional<double> figure) {
    if (figure) *figure *= 1 + 0.001 * chance.normal();
    return figure;
  };
  for (int node = 0; node < kNodes; ++node) {
    const std::string name = fmt::format("n{}", node);
    const bool changed = 2 * node < kNodes;
    sides.upgrade.nodes.push_back({.node_id = name, .node = name, .changed = changed});
    sides.stacks[name].known = true;
    if (changed) sides.stacks[name].changes = {{"ofed", "5.8", "24.04"}};
    sides.tasks_before.push_back({.nodes = {name}, .endpoints = {"mlx5_0:1"}, .outcome = "passed"});
    store::SeriesRow& series = sides.series[node + 1] = like;
    series.series_id = node + 1;
    series.endpoints = {name + "/mlx5_0:1"};
    for (auto* side : {&sides.before, &sides.after})
      for (int i = 0; i < launches; ++i) {
        store::SidePointRow& row = side->emplace_back(launch);
        row.run_id = side == &sides.before ? "before" : "after";
        row.series = node + 1;
        row.headline = *scatter(launch.headline);
        row.mean = *scatter(launch.mean);
        for (auto figure :
             {&store::SidePointRow::p90, &store::SidePointRow::p99, &store::SidePointRow::p999,
              &store::SidePointRow::slot_p10, &store::SidePointRow::slot_p1})
          row.*figure = scatter(row.*figure);
      }
  }
  sides.tasks_after = sides.tasks_before;
  return sides;
}

UpgradeData latencies(int launches = kLaunchesASide) {
  return sides_of({.kernel = "verbs.write_lat",
                   .revision = 4,
                   .metric = "latency_ns",
                   .unit = "ns",
                   .message_bytes = 8},
                  {.headline = 2000, .mean = 2100, .p90 = 2200, .p99 = 2600, .p999 = 4000},
                  launches);
}

UpgradeData bandwidths(double p10 = 11e9) {
  return sides_of({.kernel = "verbs.write_bw",
                   .revision = 4,
                   .metric = "bandwidth",
                   .unit = "bytes_per_second",
                   .larger_is_better = true,
                   .message_bytes = 65536},
                  {.headline = 12e9, .mean = 12e9, .slot_p10 = p10, .pause_share = 0.0});
}

analysis::UpgradeVerdict judged(const UpgradeData& sides) {
  return analysis::judge_upgrade(runs_of(sides));
}

// The verdict of the metric whose name holds the words; absent where it is not judged.
std::optional<analysis::MetricVerdict> of(const analysis::UpgradeVerdict& verdict,
                                          const std::string& words) {
  for (const analysis::MetricVerdict& metric : verdict.metrics)
    if (metric.name.find(words) != std::string::npos) return metric;
  return std::nullopt;
}

// Takes the p99.9 of the first `launches` launches after of the first `nodes` nodes.
void lose_p999(UpgradeData& sides, int nodes, int launches) {
  for (int node = 1; node <= nodes; ++node)
    for (int left = launches; store::SidePointRow & point : sides.after)
      if (point.series == node && left-- > 0) point.p999.reset();
}

// --- tails ---

TEST(LostTail, OfOneLaunchForbidsNoPass) {
  UpgradeData sides = latencies();
  EXPECT_EQ(judged(sides).verdict, analysis::Verdict::kPass);
  lose_p999(sides, 1, 1);
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << verdict.reason;
  EXPECT_THAT(of(verdict, "p99.9")->missing, IsEmpty());
  EXPECT_EQ(of(verdict, "p99.9")->changed, 4U) << "the other four launches of the pair";
  EXPECT_THAT(verdict.notes, Not(Contains(HasSubstr("p99.9"))));
}

TEST(LostTail, OfMostLaunchesOfAPairIsNotedAndNotMissing) {
  UpgradeData sides = latencies();
  lose_p999(sides, 1, 2);
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << verdict.reason;
  EXPECT_THAT(of(verdict, "p99.9")->missing, IsEmpty());
  EXPECT_EQ(of(verdict, "p99.9")->changed, 3U);
  EXPECT_THAT(verdict.notes, Contains("verbs.write_lat latency_ns p99.9 8 B: not judged on 1 of 4 "
                                      "pairs: the after side has too few samples for it"));
}

// One operation in a thousand hangs: the median, p90 and p99 stay, and the time cap leaves too few
// samples for the p99.9 that would show it.
TEST(LostTail, BecauseOperationsHangIsNoPass) {
  UpgradeData sides = latencies();
  lose_p999(sides, 4, kLaunchesASide);
  EXPECT_EQ(judged(sides).verdict, analysis::Verdict::kPass) << "fewer samples by request";
  for (store::SidePointRow& point : sides.after)
    if (point.series <= 4) point.mean *= 10;
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kInconclusive);
  EXPECT_THAT(verdict.reason,
              HasSubstr("p99.9 8 B: not judged on 4 of 4 pairs: the after side has too few samples "
                        "for it, and its operations take up to "));
  sides.min_coverage = 0;
  EXPECT_EQ(judged(sides).verdict, analysis::Verdict::kPass) << "no pair is asked for";
}

TEST(LostTail, HidesNoLossOfTheOthers) {
  UpgradeData sides = latencies();
  lose_p999(sides, 1, kLaunchesASide);
  for (store::SidePointRow& point : sides.after)
    if (point.series <= 4 && point.p999) *point.p999 *= 1.5;
  EXPECT_EQ(judged(sides).verdict, analysis::Verdict::kRegressed);
}

TEST(LostTail, OfTheBeforeSideIsNoted) {
  UpgradeData sides = latencies();
  for (store::SidePointRow& point : sides.before)
    if (point.series <= 2) point.p999.reset();
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << verdict.reason;
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("p99.9 8 B: not judged on 2 of 4 pairs: the before "
                                                "side has too few samples for it")));
}

TEST(LostTail, ThatNoLaunchHasIsOneNote) {
  UpgradeData sides = latencies();
  for (auto* side : {&sides.before, &sides.after})
    for (store::SidePointRow& point : *side) point.p99 = point.p999 = std::nullopt;
  EXPECT_THAT(judged(sides).notes,
              Contains("not judged, since no launch has enough samples for it: verbs.write_lat "
                       "latency_ns p99 8 B; verbs.write_lat latency_ns p99.9 8 B"));
}

TEST(LostTail, OfAPairThatWasNotMeasuredAtAllIsMissingAsItsLevelIs) {
  UpgradeData sides = latencies();
  std::erase_if(sides.after, [](const auto& point) { return point.series == 1; });
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kInconclusive);
  EXPECT_THAT(of(verdict, "median")->missing, ElementsAre("n0/mlx5_0:1"));
}

// --- low slots ---

TEST(LowSlots, OfNothingAreTheWorstLoss) {
  UpgradeData sides = bandwidths();
  EXPECT_EQ(judged(sides).verdict, analysis::Verdict::kPass) << judged(sides).reason;
  for (store::SidePointRow& point : sides.after)
    if (point.series <= 4) point.slot_p10 = 0;
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kRegressed);
  EXPECT_THAT(of(verdict, "p10")->missing, IsEmpty());
  EXPECT_EQ(of(verdict, "p10")->verdict, analysis::Verdict::kRegressed);
  EXPECT_GT(of(verdict, "p10")->worse, 0.99);
}

TEST(LowSlots, OfNothingOnBothSidesAreAlike) {
  const auto verdict = judged(bandwidths(0));
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << verdict.reason;
}

TEST(LowSlots, OfALinkThatAlwaysPausesAreALoss) {
  UpgradeData sides = bandwidths();
  for (store::SidePointRow& point : sides.after)
    if (point.series <= 4) point.pause_share = 1;
  EXPECT_EQ(of(judged(sides), "flow")->verdict, analysis::Verdict::kRegressed);
}

// A launch that converged early has no 44 slots.
TEST(LowSlots, ThatAShortLaunchLacksForbidNoPass) {
  UpgradeData sides = bandwidths();
  sides.after.front().slot_p10.reset();
  EXPECT_EQ(judged(sides).verdict, analysis::Verdict::kPass) << judged(sides).reason;
  for (store::SidePointRow& point : sides.after) point.slot_p10.reset();
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << verdict.reason;
  EXPECT_THAT(verdict.notes,
              Contains(HasSubstr("p10 65536 B: not judged on 4 of 4 pairs: the after "
                                 "side has too few slots for it")));
  EXPECT_THAT(
      verdict.notes,
      Contains(HasSubstr("no launch has enough samples for it: verbs.write_bw bandwidth p1")));
}

// A stream that was looked at for half a second may have met none of its pauses.
TEST(BriefRates, AreNotJudgedAndSaySo) {
  UpgradeData sides = bandwidths();
  for (store::SidePointRow& point : sides.after) {
    point.brief = true;
    if (point.series <= 4) point.headline *= 0.5;
  }
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kInvalid) << verdict.reason;
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("rates are not judged: they were measured for less "
                                                "than 2 s")));
}

// --- launches ---

// Stages that one node runs GPU by GPU have three.
TEST(NeededLaunches, AreAsManyAsTheSuiteAsksFor) {
  EXPECT_EQ(judged(latencies(3)).verdict, analysis::Verdict::kPass) << judged(latencies(3)).reason;
  EXPECT_NE(judged(latencies(2)).verdict, analysis::Verdict::kPass);
}

// A collective within each node, five times, and between two, three times, at one size.
TEST(NeededLaunches, AreOfEachStageThoughFiguresHaveOneName) {
  UpgradeData sides = latencies();
  const UpgradeData ring = latencies(3);
  for (int node = 0; node < kNodes; ++node) {
    store::SeriesRow& series = sides.series[node + 101] = ring.series.at(node + 1);
    series.series_id = node + 101;
    series.endpoints.push_back(fmt::format("n{}/mlx5_0:1", (node + 1) % kNodes));
  }
  for (const bool after : {false, true})
    for (store::SidePointRow point : after ? ring.after : ring.before) {
      point.series += 100;
      (after ? sides.after : sides.before).push_back(point);
    }
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << verdict.reason;
  EXPECT_THAT(of(verdict, "median")->missing, IsEmpty());
}

TEST(NeededLaunches, OfAPairAreThoseOfTheOthers) {
  UpgradeData sides = latencies();
  for (int left = 2; left > 0; --left)
    sides.after.erase(std::ranges::find(sides.after, 1, &store::SidePointRow::series));
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kInconclusive);
  EXPECT_THAT(of(verdict, "median")->missing, ElementsAre("n0/mlx5_0:1"));
}

// --- revisions ---

// Nights before the upgrade: `older` launches of each node by revision 3, `newer` by that of now.
UpgradeData nights(int older, int newer) {
  UpgradeData sides = latencies();
  sides.upgrade.before_is_history = true;
  for (int node = 1; node <= kNodes; ++node) {
    store::SeriesRow& old = sides.series[node + 100] = sides.series[node];
    old.series_id = node + 100;
    old.revision = 3;
  }
  std::vector<store::SidePointRow> before;
  for (int node = 1; node <= kNodes; ++node)
    for (int night = 0; night < older + newer; ++night) {
      store::SidePointRow& point =
          before.emplace_back(*std::ranges::find(sides.before, node, &store::SidePointRow::series));
      if (night >= older) continue;
      point.series = node + 100;
      point.headline *= 2;  // what the other method gave
    }
  sides.before = std::move(before);
  return sides;
}

// Railgauge was upgraded yesterday.
TEST(Revision, OfOneNightIsNoBeforeSide) {
  const UpgradeData sides = nights(9, 1);
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kInconclusive);
  EXPECT_THAT(verdict.reason,
              HasSubstr("another method measures verbs.write_lat (revision 4 now, 3 before)"));
  EXPECT_THAT(revised_kernels(sides), ElementsAre(Pair("verbs.write_lat", testing::_)));
}

TEST(Revision, ThatEnoughNightsHaveIsComparedWithoutTheOlder) {
  const UpgradeData sides = nights(9, 2);
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << verdict.reason;
  EXPECT_THAT(of(verdict, "median")->missing, IsEmpty());
  EXPECT_THAT(revised_kernels(sides), IsEmpty());
}

// One changed node without a night by the new method: the others do not speak for it.
TEST(Revision, IsTheReasonWhereOnePlaceLacksIt) {
  UpgradeData sides = nights(9, 2);
  std::erase_if(sides.before, [](const auto& point) { return point.series == 1; });
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kInconclusive);
  EXPECT_THAT(verdict.reason, HasSubstr("another method measures verbs.write_lat"));
}

// `prepare` measured half of the launches before Railgauge itself was upgraded.
TEST(Revision, OfAPreparedSideThatIsEnoughLeavesNothingMissing) {
  UpgradeData sides = nights(5, 5);
  sides.upgrade.before_is_history = false;
  const auto verdict = judged(sides);
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass) << verdict.reason;
  for (const analysis::MetricVerdict& metric : verdict.metrics)
    EXPECT_THAT(metric.missing, IsEmpty()) << metric.name;
}

TEST(Revision, HidesNoLoss) {
  UpgradeData sides = nights(9, 2);
  for (store::SidePointRow& point : sides.after)
    if (point.series <= 4) point.headline *= 1.1;
  EXPECT_EQ(judged(sides).verdict, analysis::Verdict::kRegressed);
}

}  // namespace
}  // namespace railgauge
