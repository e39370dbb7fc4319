#include "controller/localise/retest/suspects_halving.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::localise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

NodeGroup first_nodes(std::int32_t count) {
  NodeGroup nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

using Answer = GroupHalving::Answer;

Answer answer_of(bool passed) { return passed ? Answer::kPassed : Answer::kFailed; }
Answer answer_of(Answer answer) { return answer; }

// Runs the hunt in a world in which `passes` says what a group does.
template <class Passes>
GroupHalving::Verdict hunted(NodeGroup nodes, Passes passes) {
  GroupHalving hunt(std::move(nodes));
  for (int wave = 0; wave < 1'000 && !hunt.finished(); ++wave) {
    std::vector<std::int32_t> busy;
    for (const GroupHalving::Test& test : hunt.next()) {
      EXPECT_GE(test.nodes.size(), 2u);
      for (const std::int32_t node : test.nodes) {
        EXPECT_EQ(std::ranges::count(busy, node), 0) << "in two tests at once";
        busy.push_back(node);
      }
      EXPECT_TRUE(hunt.report(test.id, answer_of(passes(test.nodes))));
    }
  }
  EXPECT_TRUE(hunt.finished());
  return hunt.verdict();
}

bool has(const NodeGroup& group, std::int32_t node) { return std::ranges::count(group, node) > 0; }

TEST(GroupHalving, AsksAHealthyGroupOnce) {
  const auto verdict = hunted(first_nodes(64), [](const NodeGroup&) { return true; });
  EXPECT_EQ(verdict.tests, 1u);
  EXPECT_THAT(verdict.bad, IsEmpty());
}

TEST(GroupHalving, FindsEachOfSeveralBadNodesByHalving) {
  const auto verdict =
      hunted(first_nodes(61), [](const NodeGroup& g) { return !has(g, 7) && !has(g, 40); });
  NodeGroup bad = verdict.bad;
  std::ranges::sort(bad);
  EXPECT_THAT(bad, ElementsAre(7, 40));
  EXPECT_THAT(verdict.boundaries, IsEmpty());
  EXPECT_THAT(verdict.unresolved, IsEmpty());
  EXPECT_LE(verdict.tests, 34u) << "about 2 log2 N for each, and two more";
}

TEST(GroupHalving, FindsTwoNodesThatFailOnlyTogetherByMixedHalves) {
  const auto verdict =
      hunted(first_nodes(32), [](const NodeGroup& g) { return !(has(g, 3) && has(g, 29)); });
  EXPECT_THAT(verdict.bad, IsEmpty());
  ASSERT_EQ(verdict.boundaries.size(), 1u);
  EXPECT_THAT(verdict.boundaries[0].first, ElementsAre(3));
  EXPECT_THAT(verdict.boundaries[0].second, ElementsAre(29));
}

TEST(GroupHalving, TellsWhenOnlyTheWholeFails) {
  const auto verdict = hunted(first_nodes(16), [](const NodeGroup& g) { return g.size() < 16; });
  ASSERT_EQ(verdict.boundaries.size(), 1u);
  EXPECT_EQ(verdict.boundaries[0].first.size() + verdict.boundaries[0].second.size(), 16u);
  EXPECT_THAT(verdict.bad, IsEmpty());
}

TEST(GroupHalving, CallsNobodyBadWithoutAKnownGoodPartner) {
  const auto verdict = hunted(first_nodes(8), [](const NodeGroup&) { return false; });
  EXPECT_THAT(verdict.bad, IsEmpty());
  EXPECT_EQ(verdict.unresolved.size(), 8u);
}

TEST(GroupHalving, WantsASecondFailureWithAnotherPartner) {
  int alone = 0;  // node 5 fails in groups and with its first partner, then never again
  const auto verdict = hunted(first_nodes(16), [&alone](const NodeGroup& g) {
    if (!has(g, 5)) return true;
    return g.size() == 2 && !has(g, 4) && ++alone > 1;
  });
  EXPECT_THAT(verdict.bad, IsEmpty());
  EXPECT_THAT(verdict.unresolved, ElementsAre(5));
}

TEST(GroupHalving, ATestThatWasNotMeasuredAccusesNobody) {
  const auto verdict =
      hunted(first_nodes(8), [](const NodeGroup&) { return Answer::kNotMeasured; });
  EXPECT_EQ(verdict.tests, 1u) << "halves would not run either";
  EXPECT_EQ(verdict.not_measured, 1u);
  EXPECT_THAT(verdict.bad, IsEmpty());
  EXPECT_EQ(verdict.unresolved.size(), 8u);
}

// A neighbour came, and the tests with node 5 gave way to it.
TEST(GroupHalving, FindsABadNodeBesideAnotherThatCouldNotBeMeasured) {
  const auto verdict = hunted(first_nodes(8), [](const NodeGroup& g) {
    if (g.size() == 8) return Answer::kFailed;
    if (has(g, 5)) return Answer::kNotMeasured;
    return has(g, 2) ? Answer::kFailed : Answer::kPassed;
  });
  EXPECT_THAT(verdict.bad, ElementsAre(2));
  EXPECT_THAT(verdict.unresolved, ElementsAre(4, 5, 6, 7)) << "the half that gave way";
  EXPECT_THAT(verdict.boundaries, IsEmpty());
}

TEST(GroupHalving, MixedHalvesThatWereNotAllMeasuredNameNoBoundary) {
  const auto verdict = hunted(first_nodes(8), [](const NodeGroup& g) {
    if (g.size() == 8) return Answer::kFailed;
    return has(g, 0) && has(g, 4) ? Answer::kNotMeasured : Answer::kPassed;
  });
  EXPECT_THAT(verdict.boundaries, IsEmpty());
  EXPECT_THAT(verdict.unresolved, ElementsAre(0, 1, 4, 5));
}

TEST(GroupHalving, RefusesAReportOfATestThatIsNotOut) {
  GroupHalving hunt(first_nodes(4));
  EXPECT_FALSE(hunt.report(1, Answer::kPassed));
  ASSERT_EQ(hunt.next().size(), 1u);
  EXPECT_TRUE(hunt.report(1, Answer::kPassed));
  EXPECT_FALSE(hunt.report(1, Answer::kPassed));
  EXPECT_TRUE(hunt.finished());
}

}  // namespace
}  // namespace railgauge::localise
