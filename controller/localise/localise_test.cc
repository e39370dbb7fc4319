#include "controller/localise/localise.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/localise/testing/localise_testing.h"

namespace railgauge::localise {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

Localisation localised(const PairData& data) {
  auto found = find_suspects(data);
  EXPECT_TRUE(found) << found.error().message;
  return found ? std::move(*found) : Localisation{};
}

TEST(Localise, AccusesNobodyInAHealthyFabric) {
  EXPECT_THAT(localised(healthy(16)).suspects, IsEmpty());
}

TEST(Localise, NamesTheSendingSideOfANode) {
  PairData data = healthy(16);
  for_all(data, [](int from, int, float& value) { value *= from == 5 ? 0.9F : 1; });
  const Localisation found = localised(data);
  ASSERT_EQ(found.suspects.size(), 1u);
  const Suspect& suspect = found.suspects[0];
  EXPECT_EQ(suspect.element,
            (Element{.kind = Kind::kPort, .first = 5, .rail = 0, .direction = Direction::kSends}));
  EXPECT_TRUE(suspect.confirmed);
  EXPECT_NEAR(suspect.drop, 0.1, 0.02);
  EXPECT_EQ(suspect.tasks, 30) << "15 partners, two kinds of memory";
  EXPECT_EQ(suspect.evidence.size(), kMaxEvidence);
  EXPECT_EQ(suspect.evidence[0].from, 5);
  EXPECT_LT(suspect.evidence[0].seen, suspect.evidence[0].expected);
  EXPECT_THAT(suspect.sentence, HasSubstr("n5 rail 0 sends"));
  EXPECT_THAT(suspect.sentence, HasSubstr("what it receives is as expected"));
}

TEST(Localise, NamesTheReceivingSideThoughHalfOfThePairsAreMissing) {
  PairData data = healthy(15);
  for_all(data, [](int from, int to, float& value) {
    if (to == 14) value *= 0.9F;
    if (from > to) value = kNone;  // each pair in one direction alone
  });
  const Localisation found = localised(data);
  ASSERT_FALSE(found.suspects.empty());
  EXPECT_EQ(found.suspects[0].element.first, 14);
  EXPECT_NE(found.suspects[0].element.direction, Direction::kSends);
}

TEST(Localise, TellsThePathToTheGpuFromTheNic) {
  PairData data = healthy(16);
  for_all(
      data, [](int from, int to, float& value) { value *= from == 3 || to == 3 ? 0.8F : 1; },
      "gpu");
  const Localisation found = localised(data);
  ASSERT_EQ(found.suspects.size(), 1u);
  EXPECT_EQ(found.suspects[0].element.memory, "gpu");
  EXPECT_EQ(found.suspects[0].element.first, 3);
  EXPECT_THAT(found.suspects[0].sentence, HasSubstr("the path between GPU and NIC"));
  EXPECT_THAT(found.suspects[0].sentence,
              HasSubstr("other memory on the same port is as expected"));
}

TEST(Localise, DoesNotAccuseTheEndsOfASlowPath) {
  PairData data = healthy(16);
  for_all(data, [](int from, int to, float& value) { value *= from == 2 && to == 9 ? 0.6F : 1; });
  const Localisation found = localised(data);
  ASSERT_EQ(found.suspects.size(), 1u);
  EXPECT_EQ(found.suspects[0].element, (Element{.kind = Kind::kPair,
                                                .first = 2,
                                                .second = 9,
                                                .rail = 0,
                                                .direction = Direction::kSends}));
  EXPECT_TRUE(found.suspects[0].confirmed) << "seen from host and from GPU memory";
}

TEST(Localise, CallsNothingBadThatFailedOnce) {
  PairData data = healthy(16);
  for_all(
      data, [](int from, int to, float& value) { value *= from == 2 && to == 9 ? 0.5F : 1; },
      "host");
  const Localisation found = localised(data);
  ASSERT_EQ(found.suspects.size(), 1u);
  EXPECT_FALSE(found.suspects[0].confirmed);
  EXPECT_THAT(found.suspects[0].sentence, HasSubstr("measure it again"));
}

TEST(Localise, NamesALeafRatherThanItsNodesAndATrunkRatherThanItsLeaves) {
  PairData leaf = healthy(16, 4);
  for_all(leaf, [](int from, int to, float& v) { v *= from / 4 == 1 || to / 4 == 1 ? 0.9F : 1; });
  const Localisation of_leaf = localised(leaf);
  ASSERT_EQ(of_leaf.suspects.size(), 1u);
  EXPECT_EQ(of_leaf.suspects[0].element.kind, Kind::kLeaf);
  EXPECT_EQ(of_leaf.suspects[0].element.first, 1);
  PairData trunk = healthy(16, 4);
  for_all(trunk, [](int from, int to, float& v) { v *= from / 4 == 0 && to / 4 == 3 ? 0.9F : 1; });
  const Localisation of_trunk = localised(trunk);
  ASSERT_EQ(of_trunk.suspects.size(), 1u);
  EXPECT_EQ(of_trunk.suspects[0].element, (Element{.kind = Kind::kTrunk,
                                                   .first = 0,
                                                   .second = 3,
                                                   .rail = 0,
                                                   .direction = Direction::kSends}));
  EXPECT_THAT(of_trunk.suspects[0].sentence, HasSubstr("leaf l0 to leaf l3"));
}

TEST(Localise, FindsANodeAmongFour) {
  PairData data = healthy(4);
  data.layers.pop_back();  // host memory alone
  for_all(data, [](int from, int, float& value) { value *= from == 1 ? 0.3F : 1; });
  const Localisation found = localised(data);
  ASSERT_FALSE(found.suspects.empty());
  EXPECT_EQ(found.suspects[0].element,
            (Element{.kind = Kind::kPort, .first = 1, .rail = 0, .direction = Direction::kSends}));
  EXPECT_TRUE(found.suspects[0].confirmed);
}

TEST(Localise, AddsLatenciesUp) {
  PairData data = healthy(16);
  data.model = Model::kAdditive;
  for_all(data, [](int from, int to, float& value) {
    if (from == 4) value += 300;
    if (to == 11) value += 200;
  });
  const Localisation found = localised(data);
  ASSERT_EQ(found.suspects.size(), 2u);
  EXPECT_EQ(found.suspects[0].element.first, 4);
  EXPECT_EQ(found.suspects[0].element.direction, Direction::kSends);
  EXPECT_EQ(found.suspects[1].element.first, 11);
  EXPECT_EQ(found.suspects[1].element.direction, Direction::kReceives);
  EXPECT_NEAR(found.suspects[0].drop, 0.3, 0.04);
  EXPECT_THAT(found.suspects[0].sentence, HasSubstr("later than expected"));
}

TEST(Localise, TellsOfNodesWithoutAFigure) {
  PairData data = healthy(8);
  for_all(data, [](int from, int to, float& value) {
    if (from == 6 || to == 6) value = kNone;
  });
  const Localisation found = localised(data);
  EXPECT_THAT(found.suspects, IsEmpty());
  EXPECT_THAT(found.unmeasured_nodes, testing::ElementsAre(6));
  EXPECT_EQ(found.possible_pairs, 112);
  EXPECT_EQ(found.measured_pairs, 84);
}

TEST(Localise, RefusesWhatDoesNotFit) {
  PairData data = healthy(4);
  data.layers[0].values.pop_back();
  EXPECT_EQ(find_suspects(data).error().code, Code::kInvalidArgument);
  data = healthy(4, 2);
  data.leaf_of[1] = 7;
  EXPECT_THAT(find_suspects(data).error().message, HasSubstr("leaves"));
  data = healthy(4);
  data.layers[1] = data.layers[0];
  EXPECT_THAT(find_suspects(data).error().message, HasSubstr("twice"));
  data = healthy(4);
  for_all(data, [](int, int, float& value) { value = kNone; });
  EXPECT_EQ(find_suspects(data).error().code, Code::kFailedPrecondition);
}

}  // namespace
}  // namespace railgauge::localise
