#include "controller/plan/rounds/partner_rounds.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::plan {
namespace {

// The nodes of a proof and their partners, with numbers in no order.
struct ProofNodes {
  ProofNodes(std::size_t nodes, std::size_t others, std::uint32_t seed) {
    std::vector<std::uint32_t> all(nodes + others);
    std::iota(all.begin(), all.end(), 0U);
    std::ranges::shuffle(all, std::mt19937(seed));
    proved.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(nodes));
    partners.assign(all.begin() + static_cast<std::ptrdiff_t>(nodes), all.end());
  }
  std::vector<std::uint32_t> proved{};
  std::vector<std::uint32_t> partners{};
};

TEST(PartnerRounds, HoldTheirPropertiesForAnyNumbers) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const ProofNodes given(random() % 40, random() % 40, static_cast<std::uint32_t>(random()));
    const auto rounds = partner_rounds(given.proved, given.partners);
    std::set<NodePair> pairs;
    std::map<std::uint32_t, std::size_t> met;
    std::map<std::uint32_t, std::size_t> partners_of;
    for (const auto& round : rounds) {
      EXPECT_FALSE(round.empty());
      std::set<std::uint32_t> busy;
      for (const NodePair& pair : round) {
        EXPECT_TRUE(busy.insert(pair.first).second && busy.insert(pair.second).second);
        EXPECT_TRUE(pairs.insert(pair).second) << "a pair twice";
        for (const std::uint32_t node : {pair.first, pair.second}) ++met[node];
        for (const auto& [own, other] :
             {std::pair(pair.first, pair.second), std::pair(pair.second, pair.first)})
          partners_of[own] += std::ranges::find(given.partners, other) != given.partners.end();
      }
    }
    for (const std::uint32_t node : given.proved)
      EXPECT_EQ(partners_of[node], std::min(kPartnersMet, given.partners.size()));
    std::size_t most = 0;
    for (const auto& [node, count] : met) most = std::max(most, count);
    EXPECT_LE(rounds.size(), 2 * most);
  }
}

// The time of a proof is that of its rounds.
TEST(PartnerRounds, OfEightNodesAreAboutAsManyAsTheirPairsEach) {
  const ProofNodes eight(8, 8, 1);
  EXPECT_LE(partner_rounds(eight.proved, eight.partners).size(), 13U);
  const ProofNodes one(1, 7, 1);
  EXPECT_LE(partner_rounds(one.proved, one.partners).size(), 9U);
}

TEST(PartnerRounds, BothEndsOfASlowPairMeet) {
  const ProofNodes two(2, 7, 3);
  std::set<NodePair> pairs;
  for (const auto& round : partner_rounds(two.proved, two.partners))
    pairs.insert(round.begin(), round.end());
  EXPECT_TRUE(pairs.contains(std::minmax(two.proved[0], two.proved[1])));
}

TEST(PartnerRounds, ALoneNodeHasNone) {
  EXPECT_TRUE(partner_rounds(std::vector<std::uint32_t>{3}, {}).empty());
  EXPECT_TRUE(partner_rounds({}, {}).empty());
}

}  // namespace
}  // namespace railgauge::plan
