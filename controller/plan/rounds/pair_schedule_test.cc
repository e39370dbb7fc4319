#include "controller/plan/rounds/pair_schedule.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "controller/plan/rounds/seeded.h"

namespace railgauge::plan {
namespace {

// Leaves of the sizes given, `leaves_per_pod` of them in a pod; 0: one pod.
std::vector<LeafPlace> places_of(const std::vector<std::uint32_t>& leaves,
                                 std::uint32_t leaves_per_pod = 0) {
  std::vector<LeafPlace> places;
  for (std::uint32_t leaf = 0; leaf < leaves.size(); ++leaf)
    for (std::uint32_t i = 0; i < leaves[leaf]; ++i)
      places.push_back(
          {.leaf = leaf, .pod = leaves_per_pod == 0 ? LeafPlace::kUnknown : leaf / leaves_per_pod});
  return places;
}

// That each pair meets exactly once, nobody twice in a round, in exactly N - 1 rounds (N when odd),
// each as full as can be. The rounds that hold more than one distance.
std::size_t expect_sound(const std::vector<LeafPlace>& places, const std::string& what) {
  const std::size_t n = places.size();
  const PairSchedule schedule(places);
  EXPECT_EQ(schedule.rounds(), n % 2 == 0 ? n - 1 : n) << what;
  std::set<NodePair> met;
  std::size_t mixed = 0;
  std::vector<NodePair> pairs;
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    schedule.pairs(round, pairs);
    EXPECT_EQ(pairs.size(), n / 2) << what << " round " << round;
    std::set<std::uint32_t> busy;
    std::set<DistanceClass> distances;
    for (const auto& [a, b] : pairs) {
      EXPECT_LT(a, b) << what;
      EXPECT_LT(b, n) << what;
      EXPECT_TRUE(busy.insert(a).second) << what << " round " << round << " node " << a;
      EXPECT_TRUE(busy.insert(b).second) << what << " round " << round << " node " << b;
      EXPECT_TRUE(met.emplace(a, b).second) << what << ": " << a << " meets " << b << " again";
      distances.insert(distance_of(places[a], places[b]));
    }
    mixed += distances.size() > 1 ? 1 : 0;
  }
  EXPECT_EQ(met.size(), n * (n - 1) / 2) << what;
  return mixed;
}

TEST(PairSchedule, OfFewerThanTwoNodesHasNoRounds) {
  EXPECT_EQ(PairSchedule(std::vector<LeafPlace>{}).rounds(), 0u);
  EXPECT_EQ(PairSchedule(std::vector<LeafPlace>(1)).rounds(), 0u);
}

TEST(PairSchedule, WithoutATopologyIsSoundForEveryNumberOfNodes) {
  for (std::size_t n = 2; n <= 65; ++n)
    EXPECT_EQ(expect_sound(std::vector<LeafPlace>(n), fmt::format("{} nodes", n)), 0u);
}

TEST(PairSchedule, OfEqualLeavesOfEvenSizeHasOneDistanceARound) {
  for (std::uint32_t leaves = 1; leaves <= 9; ++leaves)
    for (std::uint32_t size = 2; size <= 10; size += 2)
      EXPECT_EQ(expect_sound(places_of(std::vector(leaves, size)),
                             fmt::format("{} leaves of {}", leaves, size)),
                0u)
          << leaves << " leaves of " << size;
}

TEST(PairSchedule, OfEqualPodsOfEqualLeavesHasOneDistanceARound) {
  for (std::uint32_t pods = 2; pods <= 4; ++pods)
    for (std::uint32_t per_pod = 1; per_pod <= 4; ++per_pod)
      EXPECT_EQ(expect_sound(places_of(std::vector(std::size_t{pods} * per_pod, 4U), per_pod),
                             fmt::format("{} pods of {} leaves", pods, per_pod)),
                0u)
          << pods << " pods of " << per_pod;
}

TEST(PairSchedule, BeginsWithTheNearest) {
  const auto places = places_of(std::vector(6, 4U), 3);
  const PairSchedule schedule(places);
  std::vector<NodePair> pairs;
  DistanceClass before = DistanceClass::kLeaf;
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    schedule.pairs(round, pairs);
    const DistanceClass now = distance_of(places[pairs[0].first], places[pairs[0].second]);
    EXPECT_GE(now, before) << "round " << round;
    before = now;
  }
  EXPECT_EQ(before, DistanceClass::kFabric);
}

TEST(PairSchedule, OneNodeMissingOfEqualEvenLeavesStillLeavesRoundsPure) {
  auto leaves = std::vector(6, 4U);
  leaves[2] = 3;
  EXPECT_EQ(expect_sound(places_of(leaves), "one missing"), 0u);
}

// A leaf of odd size g always has one node over while its pairs meet, in g rounds at least.
TEST(PairSchedule, OfEqualLeavesOfOddSizeMixesNoMoreThanItMust) {
  for (const std::uint32_t leaves : {2U, 4U, 6U, 10U})
    for (const std::uint32_t size : {3U, 5U, 7U})
      EXPECT_EQ(expect_sound(places_of(std::vector(leaves, size)),
                             fmt::format("{} leaves of {}", leaves, size)),
                size)
          << leaves << " leaves of " << size;
}

TEST(PairSchedule, IsSoundForAnyShape) {
  Seeded random(7);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<std::uint32_t> leaves;
    const std::size_t count = 1 + random.below(12);
    for (std::size_t i = 0; i < count; ++i)
      leaves.push_back(static_cast<std::uint32_t>(1 + random.below(9)));
    auto places = places_of(leaves, static_cast<std::uint32_t>(random.below(4)));
    random.shuffle(places);  // nodes of a leaf need not stand together
    if (random.below(3) == 0)
      for (LeafPlace& place : places)
        if (random.below(5) == 0) place = LeafPlace{};
    if (places.size() > 1)
      expect_sound(places, fmt::format("trial {}: leaves {}", trial, fmt::join(leaves, ",")));
  }
}

// Not proven fewest: the bound is what halving costs, a leaf's size for each level.
TEST(PairSchedule, OfUnequalLeavesMixesFewRounds) {
  auto leaves = std::vector(16, 32U);
  leaves[3] = 31;
  leaves[9] = 29;
  const auto places = places_of(leaves);
  const std::size_t mixed = expect_sound(places, "two short leaves");
  EXPECT_LE(mixed, 32u * 5u);
  EXPECT_GT(mixed, 0u);
}

TEST(PairSchedule, IsTheSameEachTime) {
  const auto places = places_of({3, 5, 4, 2});
  std::vector<NodePair> once;
  std::vector<NodePair> again;
  for (std::size_t round = 0; round < 13; ++round) {
    PairSchedule(places).pairs(round, once);
    PairSchedule(places).pairs(round, again);
    EXPECT_EQ(once, again);
  }
}

}  // namespace
}  // namespace railgauge::plan
