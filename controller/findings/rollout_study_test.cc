// Rollouts as the store has them: series of pairs and nodes over nights. Figures are synthetic.
#include "controller/findings/finding_causes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge {
namespace {

using analysis::StudyVerdict;
using testing::AllOf;
using testing::HasSubstr;

constexpr double kDay = 86'400;
constexpr double kFirst = 19'700 * kDay + 7'200;  // two at night
constexpr int kNights = 30;

double night(int number) { return kFirst + kDay * number; }

// Latency of all pairs of ten nodes; n0 to n3 are upgraded on the noons of days 14, 15, 16 and 17,
// and what one of their ends costs is `loss`.
RolloutFacts rollout(std::uint64_t seed, double loss) {
  analysis::Chance chance(seed);
  RolloutFacts facts{.what = "gpu_driver 580.1 -> 580.2",
                     .traits = analysis::traits_of("ns", false, "median")};
  for (int i = 0; i < 4; ++i) facts.upgraded_at[fmt::format("n{}", i)] = night(14 + i) + kDay / 2;
  for (int a = 0; a < 10; ++a)
    for (int b = a + 1; b < 10; ++b) {
      RolloutSeries series{.nodes = {fmt::format("n{}", a), fmt::format("n{}", b)}};
      const double level = 1'500 + 100 * a + 10 * b;
      for (int t = 0; t < kNights; ++t) {
        const int upgraded = (a < 4 && t > 14 + a ? 1 : 0) + (b < 4 && t > 14 + b ? 1 : 0);
        series.points.push_back(
            {night(t), level * (1 + 0.005 * chance.normal()) * (1 + loss * upgraded)});
      }
      facts.series.push_back(std::move(series));
    }
  return facts;
}

TEST(RolloutStudy, CountsEachNodeFromItsOwnUpgradeAndNoPartnersTwice) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto study = study_of(rollout(seed, 0.05));
    ASSERT_TRUE(study);
    EXPECT_EQ(study->study.verdict, StudyVerdict::kRegressed) << study->text;
    EXPECT_EQ(study->study.upgraded, 4U);
    // A partner's loss would make it up to twice as much.
    EXPECT_NEAR(study->study.worse, 0.05, 0.01) << study->text;
    EXPECT_THAT(study->text,
                AllOf(HasSubstr("rollout of gpu_driver 580.1 -> 580.2 to 4 nodes since 2023-12-"),
                      HasSubstr("% worse than nodes that did not have it yet")));
    for (const auto& one : study->study.nights)
      EXPECT_NEAR(one.worse, one.night < 0 ? 0 : 0.05, 0.02) << one.night;
  }
}

TEST(RolloutStudy, ExcludesARolloutThatCostNothing) {
  int regressed = 0;
  int excluded = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto study = study_of(rollout(seed, 0));
    ASSERT_TRUE(study);
    regressed += study->study.verdict == StudyVerdict::kRegressed ? 1 : 0;
    const bool is_none = study->study.verdict == StudyVerdict::kNoRegression;
    excluded += is_none ? 1 : 0;
    EXPECT_EQ(study->text.find("no cause: ") != std::string::npos, is_none) << study->text;
  }
  EXPECT_LE(regressed, 4);
  EXPECT_GE(excluded, 30);
}

// Measured before and after its upgrade on one day (of UTC): that night is of neither side.
TEST(RolloutStudy, LeavesOutANightWithFiguresOfBothStacks) {
  RolloutFacts facts = rollout(1, 0.05);
  for (RolloutSeries& series : facts.series)
    for (const std::string& node : series.nodes) {
      const auto at = facts.upgraded_at.find(node);
      if (at == facts.upgraded_at.end()) continue;
      series.points.push_back({at->second + 60, 1e6});  // far off: it would show
    }
  for (RolloutSeries& series : facts.series) std::ranges::sort(series.points, {}, &LevelPoint::at);
  const auto study = study_of(facts);
  ASSERT_TRUE(study);
  EXPECT_NEAR(study->study.worse, 0.05, 0.01) << study->text;
}

TEST(RolloutStudy, SaysNothingOfOneNodeAndNothingSureWithoutNightsBefore) {
  RolloutFacts one = rollout(1, 0.05);
  one.upgraded_at = {{"n0", night(14)}};
  EXPECT_FALSE(study_of(one));
  RolloutFacts all = rollout(1, 0.05);
  for (RolloutSeries& series : all.series)
    std::erase_if(series.points, [](const LevelPoint& point) { return point.at < night(16); });
  const auto study = study_of(all);
  ASSERT_TRUE(study);
  EXPECT_EQ(study->study.verdict, StudyVerdict::kInconclusive);
  EXPECT_THAT(study->text, HasSubstr("no statement: "));
}

TEST(RolloutStudy, TakesNoSeriesAtAllForNoStatement) {
  RolloutFacts none = rollout(1, 0.05);
  none.series.clear();
  const auto study = study_of(none);
  ASSERT_TRUE(study);
  EXPECT_EQ(study->study.verdict, StudyVerdict::kInconclusive);
}

}  // namespace
}  // namespace railgauge
