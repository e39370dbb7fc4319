// The explanation of a finding of nights. Figures are synthetic.
#include "controller/findings/finding_causes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kDay = 86'400;
constexpr double kBegin = 1.7e9;

double night(int number) { return kBegin + kDay * number; }

// Ten nights of latency at 100, then five at 120; seen at the third of those.
FindingFacts a_step() {
  FindingFacts facts{.kind = "step", .run_id = "r1", .opened_at = night(12) + 60};
  facts.before = 100;
  facts.after = 120;
  for (int i = 0; i < 15; ++i) facts.points.push_back({night(i), i < 10 ? 100.0 : 120.0});
  facts.nodes = {{.name = "n1", .node_id = "id-1"}};
  return facts;
}

store::EpochRow stack(double from, const std::string& kernel, const std::string& driver = "580.1") {
  return {.valid_from = from,
          .parts = {.versions = {{"linux_kernel", kernel}, {"gpu_driver", driver}}}};
}

TEST(FindingCauses, NameTheChangeBetweenTheLastGoodAndTheFirstBadFigure) {
  FindingFacts facts = a_step();
  facts.nodes[0].epochs = {stack(night(11), "6.1.0-56", "580.2"),
                           stack(night(9) + 3600, "6.1.0-56"), stack(night(2), "6.1.0-55"),
                           stack(night(0), "6.1.0-54")};
  const FindingCauses found = causes_of(facts);
  EXPECT_EQ(found.good_at, night(9));
  EXPECT_EQ(found.since, night(10));
  EXPECT_THAT(found.causes, ElementsAre(AllOf(HasSubstr("n1: linux_kernel 6.1.0-55 -> 6.1.0-56"),
                                              HasSubstr("2023-"))));
  EXPECT_THAT(found.excluded, ElementsAre(AllOf(HasSubstr("gpu_driver 580.1 -> 580.2"),
                                                HasSubstr("after it began")),
                                          HasSubstr("no event of links")));
  EXPECT_THAT(found.before_levels, SizeIs(10));
  EXPECT_THAT(found.after_levels, SizeIs(5));
  EXPECT_DOUBLE_EQ(found.after_levels.front(), 1.2);
  EXPECT_THAT(found.next.front(), HasSubstr("nodes diff n1"));
}

TEST(FindingCauses, PointAwayFromSoftwareWhereTheStackStayedAndSayWhatMovedInstead) {
  FindingFacts facts = a_step();
  facts.nodes[0].epochs = {stack(night(2), "6.1.0-55"), stack(night(0), "6.1.0-54")};
  facts.events = {
      {.at = night(9) + 60, .kind = "watch_counter", .text = "critical: n1 link_downed 3"},
      {.at = night(4), .kind = "watch_counter", .text = "warning: long before"},
      {.at = night(11), .kind = "watch_xid", .text = "critical: afterwards"}};
  const FindingCauses found = causes_of(facts);
  EXPECT_THAT(found.causes, ElementsAre(HasSubstr("link_downed 3")));
  EXPECT_THAT(found.excluded, ElementsAre(AllOf(HasSubstr("software: no part of the stack of n1"),
                                                HasSubstr("between 2023-"))));
  EXPECT_THAT(found.next.front(), HasSubstr("preflight n1"));
}

TEST(FindingCauses, ChangesThatNoFigurePartsAreABundleAndEqualOnesOfNodesOne) {
  FindingFacts facts = a_step();
  facts.nodes.push_back({.name = "n2", .node_id = "id-2"});
  for (NodePast& node : facts.nodes)
    node.epochs = {stack(night(9) + 7200, "6.1.0-56", "580.2"), stack(night(9) + 3600, "6.1.0-56"),
                   stack(night(0), "6.1.0-55")};
  const FindingCauses found = causes_of(facts);
  EXPECT_THAT(found.causes,
              ElementsAre(HasSubstr("n1, n2: linux_kernel"), HasSubstr("n1, n2: gpu_driver"),
                          HasSubstr("so they cannot be separated")));
}

// Old figures are removed after a time, and with them the one that a person had chosen.
TEST(FindingCauses, ABeginThatWasMovedToAFigureThatIsGoneIsTheJudgesAgain) {
  FindingFacts facts = a_step();
  facts.moved_to = night(8) + 0.0004;
  EXPECT_EQ(causes_of(facts).since, night(8));
  EXPECT_EQ(causes_of(facts).since_judged, night(10));
  EXPECT_EQ(moved_begin(facts, 1), night(9));
  facts.points.erase(facts.points.begin() + 8);
  EXPECT_EQ(causes_of(facts).since, night(10));
  EXPECT_FALSE(causes_of(facts).since_judged);
  EXPECT_EQ(moved_begin(facts, 1), night(11));
  facts.moved_to = night(40);
  EXPECT_EQ(causes_of(facts).since, night(10)) << "later than all figures";
}

TEST(FindingCauses, OfASpreadLookAtTheFreshNightsAndOfNothingSayNothing) {
  FindingFacts facts = a_step();
  facts.kind = "variance";
  for (int i = 15; i < 30; ++i) facts.points.push_back({night(i), 120});
  facts.opened_at = night(29) + 60;
  facts.nodes[0].epochs = {stack(night(20), "6.1.0-56"), stack(night(3), "6.1.0-55"),
                           stack(night(0), "6.1.0-54")};
  const FindingCauses found = causes_of(facts);
  EXPECT_EQ(found.since, night(16));
  EXPECT_THAT(found.before_levels, IsEmpty());
  facts.points.clear();
  EXPECT_FALSE(causes_of(facts).since);
  EXPECT_THAT(causes_of(facts).causes, IsEmpty());
  facts = a_step();
  facts.nodes.clear();
  EXPECT_THAT(causes_of(facts).excluded, IsEmpty());
}

// Whatever the direction and however noisy: within one of the true night.
TEST(FirstOfNewLevel, IsFoundInNoiseInBothDirections) {
  for (int seed = 0; seed < 200; ++seed) {
    analysis::Chance chance(static_cast<std::uint64_t>(seed) + 1);
    const double after = seed % 2 == 0 ? 110 : 90;
    const std::size_t first = 5 + static_cast<std::size_t>(seed) % 20;
    std::vector<LevelPoint> points;
    for (std::size_t i = 0; i < 30; ++i)
      points.push_back({night(static_cast<int>(i)), (i < first ? 100 : after) + chance.normal()});
    EXPECT_EQ(first_of_new_level(points, 100, after), first) << seed;
  }
}

TEST(FirstOfNewLevel, IsTheBeginWhereAllIsNewAndTheEndWhereNothingIs) {
  const std::vector<LevelPoint> points{{1, 120}, {2, 121}};
  EXPECT_EQ(first_of_new_level(points, 100, 120), 0U);
  EXPECT_EQ(first_of_new_level(points, 100, 200), 2U);
}

}  // namespace
}  // namespace railgauge
