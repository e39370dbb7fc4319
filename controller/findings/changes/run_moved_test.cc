// Series that fall behind their peers, and knees of size curves that move. Synthetic.

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/changes/run_changes.h"
#include "controller/findings/changes/testing/small_fabric.h"

namespace railgauge {
namespace {

using testing::SizeIs;

std::vector<SeriesRuns> nodes_of_two_kinds(bool told) {
  auto all = fabric(21, 8, 0.004);  // 28 series, each of a node of its own here
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].series.endpoints = {fmt::format("n{}/rxe0:1", i + 1)};
    if (told) all[i].peers = i < 18 ? "fast" : "slow";
  }
  return all;
}

std::size_t behind_peers(const std::vector<RunEvent>& events) {
  return static_cast<std::size_t>(std::ranges::count(events, MovedKind::kPeer, &RunEvent::kind));
}

// A change of a whole kind in two nights is no node's fault; it becomes a step once a step can be
// placed.
TEST(RunMoved, NodesOfAnotherKindAreNoPeers) {
  for (const bool told : {false, true}) {
    auto all = nodes_of_two_kinds(told);
    for (std::size_t i = 18; i < all.size(); ++i) slow_down(all[i], kRuns - 2, 0.30);
    EXPECT_EQ(behind_peers(events_of(all)) == 0, told);
    auto one = nodes_of_two_kinds(told);
    slow_down(one[20], kRuns - 2, 0.30);
    EXPECT_EQ(behind_peers(events_of(one)), 1U);
  }
}

TEST(RunMoved, WhatFallsBehindItsPeersIsToldBeforeAStepCanBePlaced) {
  auto all = fabric(8);
  for (SeriesRuns& one : all)
    if (has_node(one, "n2")) slow_down(one, kRuns - 2, 0.30);
  const auto events = events_of(all);
  ASSERT_FALSE(events.empty());
  for (const RunEvent& event : events) EXPECT_EQ(event.node, "n2") << word(event.kind);
}

// No single pair's figure is far off; a node's own effect, out of nine of them, is.
TEST(RunMoved, ANodeFallsBehindItsPeersThoughNoPairDoes) {
  int found = 0;
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    auto all = fabric(seed, 10, 0.02);
    alarms += static_cast<int>(events_of(all).size());
    for (SeriesRuns& one : all)
      if (has_node(one, "n2")) slow_down(one, kRuns - 2, 0.06);
    for (const RunEvent& event : events_of(all))
      if (event.kind == MovedKind::kPeer && event.node == "n2" && event.series.size() >= 5) ++found;
  }
  EXPECT_GE(found, 8);
  EXPECT_LE(alarms, 1);
}

// A rate over sizes that reaches half of its best at 8 KiB, and at `later` for the last runs.
std::vector<SeriesRuns> curve(double later, std::size_t from) {
  analysis::Chance chance(11);
  std::vector<SeriesRuns> all;
  for (double bytes = 256; bytes <= 1 << 20; bytes *= 4) {
    SeriesRuns& one = all.emplace_back(fabric(1).front());
    one.series.series_id = static_cast<std::int64_t>(bytes);
    one.series.kernel = "verbs.write_bw";
    one.series.metric = "bandwidth";
    one.series.unit = "bytes_per_second";
    one.series.larger_is_better = true;
    one.series.message_bytes = bytes;
    for (std::size_t run = 0; run < one.values.size(); ++run) {
      one.values[run] =
          1e10 * bytes / (bytes + (run < from ? 8192 : later)) * (1 + 0.005 * chance.normal());
      one.runs.push_back(fmt::format("r{}", run));
    }
  }
  return all;
}

std::size_t knees(const std::vector<RunEvent>& events) {
  return static_cast<std::size_t>(std::ranges::count(events, MovedKind::kKnee, &RunEvent::kind));
}

TEST(RunMoved, AKneeThatMovesToLargerSizesIsToldWithBothSizes) {
  const auto events = events_of(curve(32768, kRuns - 6));
  ASSERT_EQ(knees(events), 1U);
  const auto knee = std::ranges::find(events, MovedKind::kKnee, &RunEvent::kind);
  EXPECT_EQ(knee->metric, "verbs.write_bw bandwidth knee of the size curve");
  EXPECT_EQ(knee->where, "n1/rxe0:1 n2/rxe0:1");
  EXPECT_NEAR(knee->worse, 3, 0.6) << "four times the size";
  EXPECT_THAT(knee->detail, testing::MatchesRegex("from [89][0-9]+ B to 3[0-9]+ B"));
  ASSERT_THAT(knee->series, SizeIs(1));
  EXPECT_LT(*knee->series[0].after, *knee->series[0].before) << "the size that lost most";
}

TEST(RunMoved, AKneeThatStaysOrMovesToSmallerSizesIsNoEvent) {
  EXPECT_EQ(knees(events_of(curve(8192, kRuns - 6))), 0U);
  EXPECT_EQ(knees(events_of(curve(2048, kRuns - 6))), 0U) << "better";
  auto slower = curve(8192, kRuns - 6);
  for (SeriesRuns& one : slower) slow_down(one, kRuns - 6, -0.2);
  EXPECT_EQ(knees(events_of(slower)), 0U) << "slower at all sizes alike";
  auto gaps = curve(32768, kRuns - 6);
  for (SeriesRuns& one : gaps) one.runs.clear();
  EXPECT_EQ(knees(events_of(gaps)), 0U) << "runs that nobody told form no curve";
}

}  // namespace
}  // namespace railgauge
