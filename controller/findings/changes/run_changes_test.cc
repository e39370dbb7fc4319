// Series of a small fabric over many nights. Synthetic.
#include "controller/findings/changes/run_changes.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/changes/testing/small_fabric.h"

namespace railgauge {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(RunChanges, AQuietFabricHasNone) {
  int events = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    events += static_cast<int>(events_of(fabric(seed)).size());
  EXPECT_LE(events, 1);
  EXPECT_THAT(events_of({}), IsEmpty());
}

TEST(RunChanges, ANodeWhoseSeriesAllMovedIsOneEvent) {
  auto all = fabric(3);
  for (SeriesRuns& one : all)
    if (has_node(one, "n3")) slow_down(one, kRuns - 6, 0.10);
  const auto events = events_of(all);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].node, "n3");
  EXPECT_EQ(events[0].kind, MovedKind::kStep);
  EXPECT_THAT(events[0].series, SizeIs(kNodes - 1));
  EXPECT_NEAR(events[0].worse, 0.10, 0.02);
}

TEST(RunChanges, ASinglePairIsNamedByItsEnds) {
  auto all = fabric(4);
  slow_down(all[0], kRuns - 6, 0.10);
  const auto events = events_of(all);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].where, "n1/rxe0:1 n2/rxe0:1");
  EXPECT_EQ(events[0].node, "");
}

TEST(RunChanges, MostNodesAtOnceAreTheFabric) {
  auto all = fabric(5);
  for (SeriesRuns& one : all) slow_down(one, kRuns - 6, 0.10);
  const auto events = events_of(all);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].where, "fabric");
  EXPECT_THAT(events[0].series, SizeIs(all.size()));
}

TEST(RunChanges, WhatGotBetterIsOldOrIsBackIsNoEvent) {
  auto better = fabric(6);
  for (SeriesRuns& one : better) slow_down(one, kRuns - 6, -0.10);
  EXPECT_THAT(events_of(better), IsEmpty());
  auto old = fabric(7);
  for (SeriesRuns& one : old) slow_down(one, 10, 0.10);
  EXPECT_THAT(events_of(old), IsEmpty());
}

TEST(RunChanges, ADriftThatContinuesIsAsYoungAsItsEnd) {
  auto all = fabric(8);
  for (SeriesRuns& one : all)
    if (has_node(one, "n3"))
      for (std::size_t run = 10; run < one.values.size(); ++run)
        one.values[run] *=
            1 + 0.3 * static_cast<double>(run - 10) / static_cast<double>(one.values.size() - 10);
  const auto events = events_of(all);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].node, "n3");
  EXPECT_EQ(events[0].kind, MovedKind::kDrift);
  EXPECT_NEAR(events[0].worse, 0.3, 0.06);
}

// The latency falls over all runs, and from run 88 of 100 on it is higher by a fifth.
TEST(RunChanges, ALossInsideOfAnImprovementIsAnEvent) {
  auto all = fabric(9);
  analysis::Chance chance(4);
  for (SeriesRuns& one : all) {
    one.values.clear();
    for (std::size_t run = 0; run < 100; ++run)
      one.values.push_back((1500 - 4 * static_cast<double>(run)) * (run >= 88 ? 1.2 : 1) *
                           (1 + 0.005 * chance.normal()));
  }
  const auto events = events_of(all);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].where, "fabric");
  EXPECT_EQ(events[0].kind, MovedKind::kStep);
  EXPECT_NEAR(events[0].worse, 0.2, 0.04);
}

// A drift for the worse over all runs does not end an improvement that began inside of it.
TEST(RunChanges, ALongDriftEndsNoImprovementThatBeganLater) {
  auto all = fabric(10, kNodes, 0.005);
  for (SeriesRuns& one : all)
    for (std::size_t run = 0; run < one.values.size(); ++run)
      one.values[run] *= (1 + 0.012 * static_cast<double>(run)) * (run >= kRuns - 3 ? 0.9 : 1);
  const auto events = events_of(all);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].kind, MovedKind::kDrift);
}

TEST(RunChanges, AShortImprovementThatEndsIsNoEventAndALossThatComesBackIsOne) {
  const auto better_from = [](std::size_t from) {
    auto all = fabric(12, kNodes, 0.004);
    for (SeriesRuns& one : all)
      for (std::size_t run = from; run < kRuns - 5; ++run) one.values[run] *= 0.9;
    return events_of(all);
  };
  EXPECT_THAT(better_from(kRuns - 12), IsEmpty());
  EXPECT_THAT(better_from(5), SizeIs(1)) << "better for 30 runs: that is the level";
  auto again = fabric(13, kNodes, 0.004);
  for (SeriesRuns& one : again)
    for (std::size_t run = kRuns - 24; run < kRuns; ++run)
      if (run < kRuns - 14 || run >= kRuns - 5) one.values[run] *= 1.10;
  EXPECT_THAT(events_of(again), SizeIs(1)) << "mended for a few runs only";
}

// Ten runs with a stack, 25 with one that is a tenth faster, then the first again.
std::vector<SeriesRuns> rolled_back(double loss) {
  auto all = fabric(12, kNodes, 0.004);
  for (SeriesRuns& one : all)
    for (std::size_t run = 0; run < kRuns; ++run) {
      const bool is_first = run < 10 || run >= kRuns - 5;
      one.present_stack.push_back(is_first);
      if (!is_first) one.values[run] *= 0.9;
      if (run >= kRuns - 5) one.values[run] *= 1 + loss;
    }
  return all;
}

TEST(RunChanges, AStackThatComesBackIsHeldAgainstWhatItGaveThen) {
  EXPECT_THAT(events_of(rolled_back(0)), IsEmpty());
  const auto events = events_of(rolled_back(0.1));
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_NEAR(events[0].worse, 0.1, 0.02) << "not against the faster stack in between";
  EXPECT_NEAR(*events[0].series[0].before, 1500, 20);
  auto untold = rolled_back(0);
  for (SeriesRuns& one : untold) one.present_stack.clear();
  EXPECT_THAT(events_of(untold), SizeIs(1)) << "nobody knows what it ran then";
}

// A step that is hardly one: significant as the only question, it may be chance among sixty.
TEST(RunChanges, ManyQuietMetricsAskForMoreProof) {
  std::size_t alone = 0;
  std::size_t among_others = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::vector<SeriesRuns> all{fabric(seed, 2).front()};
    slow_down(all[0], kRuns - 6, 0.02);
    alone += events_of(all).size();
    for (int size = 1; size <= 60; ++size) {
      all.push_back(fabric(1'000 * seed + static_cast<std::uint64_t>(size), 2).front());
      all.back().series.series_id = 10'000 + size;
      all.back().series.message_bytes = 8.0 + size;
    }
    among_others += events_of(all).size();
  }
  EXPECT_GT(among_others, 0U);
  EXPECT_GT(alone, among_others);
}

// One pair over 240 nights with two levels 5 % apart; the other one is held in two runs of ten, and
// nearly always at the end. Fewer nights do not show so young a mix.
SeriesRuns two_levels(bool bandwidth, double other, std::uint64_t seed) {
  analysis::Chance chance(seed);
  SeriesRuns one = fabric(1).front();
  one.series.larger_is_better = bandwidth;
  if (bandwidth) one.series.unit = "bytes_per_second";
  one.values.clear();
  for (int run = 0; run < 240; ++run) {
    const bool is_other = chance.uniform() < (run < 226 ? 0.2 : 0.97);
    one.values.push_back(1500 * (1 + 0.001 * chance.normal()) * (is_other ? other : 1));
  }
  return one;
}

std::size_t mode_mixes(bool bandwidth, double other) {
  std::size_t count = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const SeriesRuns one = two_levels(bandwidth, other, seed);
    for (const RunEvent& event : events_of({&one, 1})) {
      if (event.kind != MovedKind::kModeMix) continue;
      ++count;
      EXPECT_NEAR(event.worse, 0.05, 0.01);
    }
  }
  return count;
}

TEST(RunChanges, AModeThatIsHeldMoreOftenIsALossOnlyWhereItIsTheWorseOne) {
  EXPECT_GE(mode_mixes(false, 1.05), 5U);
  EXPECT_GE(mode_mixes(true, 0.95), 5U);
  EXPECT_EQ(mode_mixes(false, 0.95), 0U);
  EXPECT_EQ(mode_mixes(true, 1.05), 0U);
}

TEST(RunChanges, AWordHasNothingThatACommandLineReadsOtherwise) {
  EXPECT_EQ(finding_word("step n1/rxe0:1 8 B"), "step-n1-rxe0-1-8-B");
}

}  // namespace
}  // namespace railgauge
