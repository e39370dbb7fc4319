#include "controller/parts/pair_evidence.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::parts {
namespace {

using localise::Direction;
using localise::Element;
using localise::Kind;

// All pairs of six nodes under two leaves, both ways, on two rails: 100 each.
NightFigures six_nodes() {
  NightFigures night{.leaves = {"a", "b"}};
  for (std::uint32_t node = 0; node < 6; ++node)
    night.nodes.push_back({.name = std::string(1, static_cast<char>('0' + node)),
                           .leaf = static_cast<std::int32_t>(node / 3)});
  for (std::uint32_t rail = 0; rail < 2; ++rail)
    for (std::uint32_t from = 0; from < 6; ++from)
      for (std::uint32_t to = 0; to < 6; ++to)
        if (from != to)
          night.figures.push_back({.from = from, .to = to, .rail = rail, .value = 100});
  return night;
}

std::size_t count_of(const Element& element) {
  const NightFigures night = six_nodes();
  return static_cast<std::size_t>(std::ranges::count_if(
      night.figures, [&](const Figure& figure) { return uses(night, element, figure); }));
}

TEST(PairEvidence, APartHasTheFiguresThatUseIt) {
  EXPECT_EQ(count_of({.kind = Kind::kPort, .first = 1, .rail = 1}), 10U);
  EXPECT_EQ(count_of({.kind = Kind::kPort, .first = 1, .rail = 1, .direction = Direction::kSends}),
            5U);
  EXPECT_EQ(count_of({.kind = Kind::kNode, .first = 1}), 20U);
  EXPECT_EQ(count_of({.kind = Kind::kPort, .first = 1, .rail = 1, .memory = "gpu"}), 0U);
  EXPECT_EQ(count_of({.kind = Kind::kLeaf, .first = 0, .rail = 0}), 24U);
  EXPECT_EQ(count_of({.kind = Kind::kUplink, .first = 0, .rail = 0}), 18U);
  EXPECT_EQ(count_of({.kind = Kind::kTrunk,
                      .first = 1,
                      .second = 0,
                      .rail = 0,
                      .direction = Direction::kSends}),
            9U);
  EXPECT_EQ(count_of({.kind = Kind::kPair, .first = 1, .second = 4}), 4U);
  EXPECT_EQ(count_of({.kind = Kind::kRail, .rail = 1}), 30U);
  EXPECT_EQ(count_of({.kind = Kind::kSpine}), 0U);
}

TEST(PairEvidence, FiguresAreForAPartFromHalfOfItsLossOn) {
  NightFigures night = six_nodes();
  const Element port{.kind = Kind::kPort, .first = 1, .rail = 1};
  double value = 86.5;
  for (Figure& figure : night.figures)
    if (uses(night, port, figure)) figure.value = value += 1;  // 87.5 to 96.5
  night.figures.push_back({.from = 1, .to = 2, .rail = 1, .value = NAN});
  const PairEvidence found = pairs_of(night, port, 0.1);
  EXPECT_EQ(found.slow, 8U) << "of 95 and less";
  EXPECT_EQ(found.others, 2U);
  ASSERT_THAT(found.worst, testing::SizeIs(kMostShown));
  EXPECT_NEAR(found.worst.front().loss, 0.125, 1e-6);
  EXPECT_NEAR(found.worst.back().loss, 0.055, 1e-6);
}

TEST(PairEvidence, ALongerTimeIsALoss) {
  NightFigures night = six_nodes();
  night.larger_is_better = false;
  const Element pair{.kind = Kind::kPair, .first = 1, .second = 4, .rail = 0};
  for (Figure& figure : night.figures)
    if (uses(night, pair, figure)) figure.value = 125;
  const PairEvidence found = pairs_of(night, pair, 0.2);
  EXPECT_EQ(found.slow, 2U);
  EXPECT_NEAR(found.worst.front().loss, 0.2, 1e-6) << "as a share of the speed";
}

}  // namespace
}  // namespace railgauge::parts
