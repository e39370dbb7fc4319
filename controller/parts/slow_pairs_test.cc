#include "controller/parts/slow_pairs.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::parts {
namespace {

using localise::Direction;
using testing::IsEmpty;
using testing::SizeIs;

// A night of 32 nodes with these losses of single figures among 100,000.
Levels night_with(std::vector<PairLoss> pairs) {
  Levels levels{.pairs = std::move(pairs), .figures = 100'000};
  for (int node = 0; node < 32; ++node)
    levels.nodes.push_back({.name = std::string(1, static_cast<char>('A' + node))});
  return levels;
}

std::vector<SlowPair> pairs_of(const std::vector<Levels>& nights) {
  std::vector<const Levels*> pointers;
  for (const Levels& night : nights) pointers.push_back(&night);
  return slow_pairs(pointers, [](const PairLoss&) { return false; });
}

TEST(SlowPairs, AreThoseBelowHalfThatNothingComesNear) {
  const std::vector<SlowPair> found = pairs_of({night_with({{.from = 3, .to = 9, .loss = 0.8F}})});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found.front().confirmed);
  EXPECT_EQ(found.front().element.direction, Direction::kSends);
}

TEST(SlowPairs, OfOneFigureAreCandidatesWhereOtherFiguresAreAsLow) {
  std::vector<Levels> nights{night_with({{.from = 3, .to = 9, .loss = 0.8F}})};
  nights.front().largest_gain = 0.7;
  const std::vector<SlowPair> found = pairs_of(nights);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_FALSE(found.front().confirmed);
}

TEST(SlowPairs, OfSmallLossNeedTwoVisits) {
  const Levels night = night_with({{.from = 3, .to = 9, .loss = 0.2F}});
  EXPECT_THAT(pairs_of({night}), IsEmpty());
  const std::vector<SlowPair> found = pairs_of({night, night});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found.front().confirmed);
  EXPECT_EQ(found.front().nights, 2U);
}

TEST(SlowPairs, AreNotOfAPortWithManySlowPartners) {
  std::vector<PairLoss> pairs;
  for (std::uint32_t to = 10; to < 15; ++to) pairs.push_back({.from = 3, .to = to, .loss = 0.8F});
  EXPECT_THAT(pairs_of({night_with(pairs)}), IsEmpty());
}

}  // namespace
}  // namespace railgauge::parts
