#include "controller/plan/rounds/pair_rounds.h"

#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// A fabric of equal leaves, and what a test asks of it.
struct Fabric {
  std::vector<LeafPlace> places{};
  std::vector<std::uint32_t> kinds{};
  std::vector<std::uint32_t> order{};

  Fabric(std::uint32_t leaves, std::uint32_t size) {
    for (std::uint32_t i = 0; i < leaves * size; ++i) places.push_back({.leaf = i / size});
    order.resize(places.size());
    std::iota(order.begin(), order.end(), 0U);
  }
  [[nodiscard]] PairInput input(std::uint64_t seed = 1, std::uint64_t slice = 0) const {
    return {.places = places, .kinds = kinds, .order = order, .seed = seed, .slice_index = slice};
  }
};

PairRounds rounds_of(const Placement& placement, const PairInput& input) {
  auto rounds = PairRounds::make(placement, input);
  RG_CHECK(rounds.has_value());
  return std::move(*rounds);
}

// All pairs of all rounds; nobody twice in one.
std::multiset<NodePair> met_in(const PairRounds& rounds) {
  std::multiset<NodePair> met;
  std::vector<NodePair> pairs;
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    rounds.pairs(round, pairs);
    EXPECT_EQ(pairs.size(), rounds.info(round).pairs);
    std::set<std::uint32_t> busy;
    for (const auto& [a, b] : pairs) {
      EXPECT_TRUE(busy.insert(a).second);
      EXPECT_TRUE(busy.insert(b).second);
      met.emplace(a, b);
    }
  }
  return met;
}

bool all_once(const std::multiset<NodePair>& met, std::size_t nodes) {
  return met.size() == nodes * (nodes - 1) / 2 &&
         std::set<NodePair>(met.begin(), met.end()).size() == met.size();
}

TEST(PairRounds, WithinAndAcrossTogetherAreAllPairs) {
  const Fabric fabric(3, 4);
  const PairRounds within = rounds_of({.leaves = Placement::Leaves::kWithin}, fabric.input());
  const PairRounds across = rounds_of({.leaves = Placement::Leaves::kAcross}, fabric.input());
  EXPECT_EQ(within.size(), 3u);
  EXPECT_EQ(across.size(), 8u);
  auto met = met_in(within);
  met.merge(met_in(across));
  EXPECT_TRUE(all_once(met, 12));
  for (std::size_t i = 0; i < within.size(); ++i)
    EXPECT_EQ(within.info(i).distance, DistanceClass::kLeaf);
}

TEST(PairRounds, ByLeafWithoutATopologyIsRefused) {
  Fabric fabric(1, 4);
  fabric.places.assign(4, LeafPlace{});
  const auto refused = PairRounds::make({.leaves = Placement::Leaves::kWithin}, fabric.input());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("want a topology"));
}

TEST(PairRounds, StrictClassGivesPureRoundsAndSaysHowManyMore) {
  Fabric fabric(4, 3);
  const PairRounds mixed = rounds_of({}, fabric.input());
  EXPECT_EQ(mixed.size(), 11u);
  const PairRounds strict = rounds_of({.strict_class = true}, fabric.input());
  for (std::size_t i = 0; i < strict.size(); ++i) EXPECT_FALSE(strict.info(i).mixed) << i;
  EXPECT_TRUE(all_once(met_in(strict), 12));
  EXPECT_GT(strict.size(), mixed.size());
  EXPECT_THAT(strict.notes(),
              ElementsAre(HasSubstr(fmt::format("{} more than the 11", strict.size() - 11))));
}

// Neither within leaves nor with one distance a round.
TEST(PairRounds, OfMixedHardwareNoRoundHasPairsOfOneKindAndPairsBetweenTwo) {
  Fabric fabric(3, 4);
  for (std::uint32_t i = 0; i < 12; ++i) fabric.kinds.push_back(i % 5 < 2 ? 1 : 0);
  const PairRounds strict = rounds_of({.strict_class = true}, fabric.input());
  const PairRounds within = rounds_of({.leaves = Placement::Leaves::kWithin}, fabric.input());
  for (const PairRounds* rounds : {&strict, &within})
    for (std::size_t i = 0; i < rounds->size(); ++i) {
      std::vector<NodePair> pairs;
      rounds->pairs(i, pairs);
      std::set<bool> between;
      for (const auto& [a, b] : pairs) between.insert(fabric.kinds[a] != fabric.kinds[b]);
      EXPECT_EQ(between.size(), 1u) << "round " << i;
      EXPECT_FALSE(rounds->info(i).mixed) << "round " << i;
    }
  EXPECT_TRUE(all_once(met_in(strict), 12));
  EXPECT_EQ(met_in(within).size(), 3u * 6);
}

TEST(PairRounds, StrictClassCostsNothingWhereNoRoundIsMixed) {
  const Fabric fabric(3, 4);
  const PairRounds strict = rounds_of({.strict_class = true}, fabric.input());
  EXPECT_EQ(strict.size(), 11u);
  EXPECT_THAT(strict.notes(), testing::IsEmpty());
}

TEST(PairRounds, SlicesOfNightsInARowCoverEveryPairOnceFromAnyNight) {
  for (const std::uint32_t period : {2U, 7U, 30U})
    for (const std::uint32_t size : {3U, 4U}) {
      const Fabric fabric(5, size);
      std::multiset<NodePair> met;
      const std::uint64_t first_night = 20'000 + size;
      const std::size_t rounds = rounds_of({}, fabric.input()).size();
      const std::size_t nights = std::min<std::size_t>(period, rounds);
      std::size_t most = 0;
      std::size_t least = rounds;
      for (std::size_t night = 0; night < nights; ++night) {
        const PairRounds slice =
            rounds_of({.slice_of = period}, fabric.input(1, first_night + night));
        met.merge(met_in(slice));
        most = std::max(most, slice.size());
        least = std::min(least, slice.size());
      }
      EXPECT_TRUE(all_once(met, fabric.places.size())) << period << " nights";
      EXPECT_LE(most - least, 1u) << "nights are alike";
    }
}

// Another node is away each night: the others meet in the slices that they always meet in.
TEST(PairRounds, WhoIsAwayOnANightShiftsNobodyElsesPairs) {
  const Fabric fabric(5, 4);
  const auto nodes = static_cast<std::uint32_t>(fabric.places.size());
  for (std::uint32_t night = 0; night < 7; ++night) {
    const std::uint32_t away = 3 * night % nodes;
    std::vector<std::uint32_t> numbers(nodes);
    for (std::uint32_t node = 0; node < nodes; ++node) numbers[node] = node - (node > away ? 1 : 0);
    numbers[away] = kNotThere;
    PairInput input = fabric.input(1, night);
    std::multiset<NodePair> expected;
    for (const auto& [a, b] : met_in(rounds_of({.slice_of = 7}, input)))
      if (a != away && b != away) expected.emplace(numbers[a], numbers[b]);
    input.numbers = numbers;
    const PairRounds slice = rounds_of({.slice_of = 7}, input);
    EXPECT_EQ(met_in(slice), expected);
    EXPECT_THAT(slice.notes(), ElementsAre(HasSubstr("of 7"), HasSubstr("1 take no part now")));
  }
}

TEST(PairRounds, ASliceOfAbsentNodesAloneHasNoRound) {
  const Fabric fabric(1, 2);
  const std::vector<std::uint32_t> numbers{0, kNotThere};
  PairInput input = fabric.input();
  input.numbers = numbers;
  EXPECT_EQ(rounds_of({.slice_of = 7}, input).size(), 0u);
}

TEST(PairRounds, ASliceOfMoreNightsThanRoundsIsNeverEmpty) {
  const Fabric fabric(1, 4);
  for (std::uint64_t night = 0; night < 14; ++night)
    EXPECT_EQ(rounds_of({.slice_of = 7}, fabric.input(1, night)).size(), 1u);
}

TEST(PairRounds, QuickScanIsSeededMatchingsInWhichNobodyMeetsTheSameTwice) {
  const Fabric fabric(4, 8);
  const Placement quick{.pairs = PairChoice::kQuick, .matchings = 4};
  const PairRounds scan = rounds_of(quick, fabric.input(5));
  EXPECT_EQ(scan.size(), 4u);
  const auto met = met_in(scan);
  EXPECT_EQ(met.size(), 4u * 16u) << "full rounds";
  EXPECT_EQ(std::set<NodePair>(met.begin(), met.end()).size(), met.size());
  EXPECT_EQ(met_in(rounds_of(quick, fabric.input(5))), met);
  EXPECT_NE(met_in(rounds_of(quick, fabric.input(6))), met);
  EXPECT_THAT(scan.notes(), ElementsAre(HasSubstr("4 random matchings")));
}

TEST(PairRounds, QuickScanKeepsToLeaves) {
  const Fabric fabric(4, 8);
  for (const auto leaves : {Placement::Leaves::kWithin, Placement::Leaves::kAcross}) {
    const PairRounds scan =
        rounds_of({.pairs = PairChoice::kQuick, .matchings = 2, .leaves = leaves}, fabric.input(3));
    const auto met = met_in(scan);
    EXPECT_EQ(met.size(), 32u);
    for (const auto& [a, b] : met) EXPECT_EQ(a / 8 == b / 8, leaves == Placement::Leaves::kWithin);
  }
}

// The stated rule: with a share f of bad nodes about N f^R good ones meet bad partners alone. Over
// 400 scans of 200 nodes with 10 % bad ones, R = 2: 0.9 * 200 * 0.01 = 1.8 are good and accused.
TEST(PairRounds, QuickScanAccusesAsManyWronglyAsItSays) {
  const Fabric fabric(10, 20);
  constexpr std::size_t kScans = 400;
  std::size_t accused = 0;
  for (std::uint64_t seed = 0; seed < kScans; ++seed) {
    const PairRounds scan =
        rounds_of({.pairs = PairChoice::kQuick, .matchings = 2}, fabric.input(seed));
    std::map<std::uint32_t, std::size_t> good_partners;
    const auto is_bad = [](std::uint32_t node) { return node % 10 == 0; };
    for (const auto& [a, b] : met_in(scan)) {
      good_partners[a] += is_bad(b) ? 0 : 1;
      good_partners[b] += is_bad(a) ? 0 : 1;
    }
    for (const auto& [node, partners] : good_partners)
      accused += !is_bad(node) && partners == 0 ? 1 : 0;
  }
  const double mean = static_cast<double>(accused) / kScans;
  const double stated = expected_false_suspects(200, 0.1, 2);
  EXPECT_DOUBLE_EQ(stated, 2.0);
  EXPECT_NEAR(mean, stated * 0.9, 0.3);
}

TEST(PairRounds, RingAndHalvesFollowTheOrder) {
  Fabric fabric(1, 5);
  fabric.order = {4, 3, 2, 1, 0};
  const PairRounds ring = rounds_of({.pairs = PairChoice::kRing}, fabric.input());
  EXPECT_EQ(ring.size(), 3u) << "an odd ring";
  EXPECT_EQ(met_in(ring).size(), 5u);
  std::vector<NodePair> pairs;
  const PairRounds halves = rounds_of({.pairs = PairChoice::kHalves}, fabric.input());
  EXPECT_EQ(halves.size(), 1u);
  halves.pairs(0, pairs);
  EXPECT_THAT(pairs, ElementsAre(Pair(0, 3), Pair(1, 4)));
  Fabric even(1, 6);
  EXPECT_EQ(rounds_of({.pairs = PairChoice::kRing}, even.input()).size(), 2u);
  Fabric two(1, 2);
  EXPECT_EQ(met_in(rounds_of({.pairs = PairChoice::kRing}, two.input())).size(), 1u);
}

TEST(PairRounds, MixedHardwareMeetsItsOwnKindFirstThenTheOther) {
  for (const std::uint32_t fewer : {1U, 3U, 4U, 7U}) {
    Fabric fabric(3, 5);
    for (std::uint32_t i = 0; i < 15; ++i) fabric.kinds.push_back(i < fewer ? 1 : 0);
    const PairRounds rounds = rounds_of({}, fabric.input());
    EXPECT_TRUE(all_once(met_in(rounds), 15)) << fewer;
    std::vector<NodePair> pairs;
    bool between = false;
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      rounds.pairs(i, pairs);
      for (const auto& [a, b] : pairs) {
        const bool is_between = fabric.kinds[a] != fabric.kinds[b];
        EXPECT_TRUE(is_between || !between) << "own kind after the other in round " << i;
        EXPECT_EQ(is_between, fabric.kinds[pairs[0].first] != fabric.kinds[pairs[0].second]);
      }
      between = fabric.kinds[pairs[0].first] != fabric.kinds[pairs[0].second];
    }
  }
}

TEST(PairRounds, ThreeKindsOfHardwareMeetOnceEach) {
  Fabric fabric(1, 16);
  for (std::uint32_t i = 0; i < 16; ++i) fabric.kinds.push_back(i < 3 ? 0 : i < 8 ? 1 : 2);
  EXPECT_TRUE(all_once(met_in(rounds_of({}, fabric.input())), 16));
}

TEST(PairList, IsReadByRoundsAndLeavesOutWhoIsNotChosen) {
  const std::vector<std::string> nodes{"a", "b", "c", "d"};
  const auto listed = parse_pair_list("# by hand\n2 a b\n1 d c  # first\n2 c x\n\n1 b a\n", nodes);
  ASSERT_FALSE(listed) << "a and b meet twice";
  EXPECT_THAT(listed.error().message, HasSubstr("line 6: this pair is in the list"));
  const auto good = parse_pair_list("# by hand\r\n2 a b\r\n1 d c\n2 c x\n", nodes);
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_THAT(good->rounds, ElementsAre(ElementsAre(Pair(2, 3)), ElementsAre(Pair(0, 1))));
  EXPECT_EQ(good->left_out, 1u);
}

TEST(PairList, RefusesWhatIsNoList) {
  const std::vector<std::string> nodes{"a", "b", "c"};
  const auto refusal = [&](std::string_view text) {
    const auto listed = parse_pair_list(text, nodes);
    return listed ? std::string("accepted") : listed.error().message;
  };
  EXPECT_THAT(refusal("1 a"), HasSubstr("line 1: must be ROUND NODE NODE"));
  EXPECT_THAT(refusal("\nx a b"), HasSubstr("line 2: \"x\" is no round's number"));
  EXPECT_THAT(refusal("-1 a b"), HasSubstr("no round's number"));
  EXPECT_THAT(refusal("1 a a"), HasSubstr("\"a\" is in round 1 already"));
  EXPECT_THAT(refusal("1 a b\n1 b c"), HasSubstr("\"b\" is in round 1 already"));
}

}  // namespace
}  // namespace railgauge::plan
