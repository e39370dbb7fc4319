// Series of a small fabric over many nights. Synthetic.
#include "controller/run_changes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/analysis/testing/simulate.h"

namespace railgauge {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr int kNodes = 6;
constexpr int kRuns = 40;

// All pairs of six nodes, 1 % noise.
std::vector<SeriesRuns> fabric(std::uint64_t seed) {
  analysis::Chance chance(seed);
  std::vector<SeriesRuns> all;
  for (int a = 1; a <= kNodes; ++a)
    for (int b = a + 1; b <= kNodes; ++b) {
      SeriesRuns& one = all.emplace_back();
      one.series.series_id = 10 * a + b;
      one.series.kernel = "verbs.write_lat";
      one.series.metric = "latency_ns";
      one.series.unit = "ns";
      one.series.message_bytes = 8;
      one.series.endpoints = {fmt::format("n{}/rxe0:1", a), fmt::format("n{}/rxe0:1", b)};
      for (int run = 0; run < kRuns; ++run)
        one.values.push_back(1500 * (1 + 0.01 * chance.normal()));
    }
  return all;
}

bool has_node(const SeriesRuns& one, const std::string& node) {
  return one.series.endpoints[0].starts_with(node + "/") ||
         one.series.endpoints[1].starts_with(node + "/");
}

// From run `from` on.
void slow_down(SeriesRuns& one, std::size_t from, double share) {
  for (std::size_t run = from; run < one.values.size(); ++run) one.values[run] *= 1 + share;
}

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
  EXPECT_EQ(events[0].kind, "step");
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

TEST(RunChanges, WhatFallsBehindItsPeersIsToldBeforeAStepCanBePlaced) {
  auto all = fabric(8);
  for (SeriesRuns& one : all)
    if (has_node(one, "n2")) slow_down(one, kRuns - 2, 0.30);
  const auto events = events_of(all);
  ASSERT_FALSE(events.empty());
  for (const RunEvent& event : events) EXPECT_EQ(event.node, "n2") << event.kind;
}

// One pair over 90 nights with two levels 5 % apart; the other one is held in a seventh of the
// runs, and at the end in six of seven.
SeriesRuns two_levels(bool bandwidth, double other) {
  analysis::Chance chance(1);
  SeriesRuns one = fabric(1).front();
  one.series.larger_is_better = bandwidth;
  if (bandwidth) one.series.unit = "bytes_per_second";
  one.values.clear();
  for (int run = 0; run < 90; ++run) {
    const bool is_seventh = run % 7 == 3;
    const bool is_other = run < 78 ? is_seventh : !is_seventh;
    one.values.push_back(1500 * (1 + 0.001 * chance.normal()) * (is_other ? other : 1));
  }
  return one;
}

TEST(RunChanges, AModeThatIsHeldMoreOftenIsALossOnlyWhereItIsTheWorseOne) {
  for (const bool bandwidth : {false, true}) {
    const SeriesRuns slower = two_levels(bandwidth, bandwidth ? 0.95 : 1.05);
    const auto events = events_of({&slower, 1});
    ASSERT_THAT(events, SizeIs(1)) << bandwidth;
    EXPECT_EQ(events[0].kind, "mode_mix");
    EXPECT_NEAR(events[0].worse, 0.05, 0.01);
    const SeriesRuns faster = two_levels(bandwidth, bandwidth ? 1.05 : 0.95);
    EXPECT_THAT(events_of({&faster, 1}), IsEmpty()) << bandwidth;
  }
}

TEST(RunChanges, AWordHasNothingThatACommandLineReadsOtherwise) {
  EXPECT_EQ(finding_word("step n1/rxe0:1 8 B"), "step-n1-rxe0-1-8-B");
}

}  // namespace
}  // namespace railgauge
