// Rollouts over many nights. Synthetic.
#include "controller/verdict/event_study.h"

#include <limits>

#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge::analysis {
namespace {

constexpr std::size_t kNights = 40;
constexpr double kNever = std::numeric_limits<double>::quiet_NaN();

// Twelve nodes, of which the first six are upgraded one every second night from night 18 on; 1 %
// noise. All move by `common` at night 20.
std::vector<RolloutNode> rollout(std::uint64_t seed, double loss, double common = 0) {
  Chance chance(seed);
  std::vector<RolloutNode> nodes(12);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i < 6) nodes[i].upgraded_at = 18 + 2 * i;
    for (std::size_t t = 0; t < kNights; ++t) {
      const bool has = nodes[i].upgraded_at && t >= *nodes[i].upgraded_at;
      nodes[i].nights.push_back(1500 * (1 + 0.01 * chance.normal()) * (has ? 1 + loss : 1) *
                                (t >= 20 ? 1 + common : 1));
    }
  }
  return nodes;
}

TEST(EventStudy, WhatTheRolloutCostsIsToldByNight) {
  const EventStudy study = study_rollout(rollout(1, 0.04), Better::kLower, 0.02);
  EXPECT_EQ(study.verdict, StudyVerdict::kRegressed) << study.reason;
  EXPECT_EQ(study.upgraded, 6U);
  EXPECT_NEAR(study.worse, 0.04, 0.01);
  ASSERT_EQ(study.nights.front().night, -kStudyNights);
  ASSERT_EQ(study.nights.back().night, kStudyNights);
  for (const StudyNight& night : study.nights)
    EXPECT_NEAR(night.worse, night.night < 0 ? 0 : 0.04, 0.02) << night.night;
}

TEST(EventStudy, WhatIsCommonToAllIsNotBlamedOnIt) {
  int regressed = 0;
  int passed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const EventStudy study = study_rollout(rollout(seed, 0, 0.05), Better::kLower, 0.02);
    regressed += study.verdict == StudyVerdict::kRegressed ? 1 : 0;
    passed += study.verdict == StudyVerdict::kNoRegression ? 1 : 0;
  }
  EXPECT_LE(regressed, 4);
  EXPECT_GE(passed, 30);
}

TEST(EventStudy, NodesThatMovedBeforeTheirUpgradeMakeItConfounded) {
  auto nodes = rollout(3, 0.04);
  for (RolloutNode& node : nodes)
    if (node.upgraded_at)
      for (std::size_t t = 0; t < kNights; ++t)
        node.nights[t] *= 1 + 0.005 * static_cast<double>(t);
  EXPECT_EQ(study_rollout(nodes, Better::kLower, 0.02).verdict, StudyVerdict::kConfounded);
}

TEST(EventStudy, UpgradedNodesAreNobodysControls) {
  auto nodes = rollout(4, 0.10);
  for (RolloutNode& node : nodes)
    if (!node.upgraded_at) node.nights.assign(kNights, kNever);
  const EventStudy study = study_rollout(nodes, Better::kLower, 0.02);
  EXPECT_NEAR(study.worse, 0.10, 0.03) << "later ones are the controls of earlier ones";
  for (const StudyNight& night : study.nights) {
    EXPECT_NEAR(night.worse, night.night < 0 ? 0 : 0.10, 0.05) << night.night;
  }
}

TEST(EventStudy, WithoutControlsOrNightsItIsNoStatement) {
  EXPECT_EQ(study_rollout({}, Better::kLower, 0.02).verdict, StudyVerdict::kInconclusive);
  auto nodes = rollout(5, 0.04);
  for (RolloutNode& node : nodes) node.upgraded_at = 20;
  const EventStudy at_once = study_rollout(nodes, Better::kLower, 0.02);
  EXPECT_EQ(at_once.verdict, StudyVerdict::kInconclusive);
  EXPECT_FALSE(at_once.reason.empty());
  nodes = rollout(6, 0.04);
  for (RolloutNode& node : nodes)
    for (std::size_t t = 0; t < 17; ++t) node.nights[t] = t % 2 == 0 ? kNever : -1;
  const EventStudy few = study_rollout(nodes, Better::kLower, 0.02);
  EXPECT_LT(few.upgraded, 6U) << "the first one has a single night before its upgrade";
}

}  // namespace
}  // namespace railgauge::analysis
