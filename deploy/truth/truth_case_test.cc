#include "deploy/truth/truth_case.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/fleet/scenario/scenario.h"
#include "controller/plan/testing/plan_testing.h"
#include "deploy/truth/modelled_nights.h"

namespace railgauge::truth {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// The kernel of the suites, as the runner declares it, with the parameters that they use.
std::vector<KernelInfo> kernel_of_nights() {
  KernelInfo kernel = plan::fake_kernel("verbs.write_bw", "bandwidth_bytes_per_second");
  plan::add_parameter(kernel, "memory", "text", "host", true);
  return {kernel};
}

Case case_of(std::string_view kind, std::uint64_t seed = 1) {
  return make_case({.kind = find_case_kind(kind), .seed = seed});
}

TEST(TruthCase, EveryKindIsAScenarioThatTheFleetReads) {
  for (const CaseKind& kind : case_kinds())
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Case one = case_of(kind.name, seed);
      const auto scenario = fleet::read_scenario(one.scenario, "case");
      ASSERT_TRUE(scenario) << scenario.error().message << "\n" << one.scenario;
      const std::size_t parts = kind.name == "none" ? 0 : kind.name == "two" ? 2 : 1;
      EXPECT_THAT(one.parts, SizeIs(parts)) << kind.name;
      EXPECT_EQ(scenario->faults.size(), kind.name == "flapping" ? 2 : parts) << kind.name;
      EXPECT_EQ(one.scenario, case_of(kind.name, seed).scenario);
    }
}

TEST(TruthCase, SmallFaultsHaveTwiceTheNights) {
  EXPECT_EQ(case_of("port").within, 2u);
  const Case small =
      make_case({.kind = find_case_kind("port"), .before = 5, .seed = 1, .takes = 0.03});
  EXPECT_EQ(small.within, 4u);
  EXPECT_EQ(small.nights, 9u);
  EXPECT_THAT(small.scenario, HasSubstr("begin: 108h, takes: 0.03"));
}

TEST(TruthCase, OnlyTheFaultyPartWithItsSideIsRight) {
  const Case one = case_of("port-sends");
  const TruePart& part = one.parts[0];
  const std::vector<SaidPart> right{
      {.finding_id = part.finding_id, .suspect = part.suspect, .opened = 8, .confirmed = 9}};
  Answer answer = answer_of(one, right);
  EXPECT_EQ(answer.first_word, 1u);
  EXPECT_EQ(answer.found, 2u);
  EXPECT_EQ(answer.wrong, 0u);
  EXPECT_EQ(answer.confirmed, part.suspect + "@9");
  const std::vector<SaidPart> other_side{
      {.finding_id = part.finding_id, .suspect = "another side", .opened = 8, .confirmed = 9}};
  answer = answer_of(one, other_side);
  EXPECT_EQ(answer.found, 0u);
  EXPECT_EQ(answer.wrong, 1u);
  const std::vector<SaidPart> early{
      {.finding_id = part.finding_id, .suspect = part.suspect, .opened = 2, .confirmed = 3}};
  EXPECT_EQ(answer_of(one, early).wrong, 1u) << "before the fault it is a false finding";
}

TEST(TruthCase, OfTwoFaultsBothMustBeFound) {
  const Case one = case_of("two");
  std::vector<SaidPart> said{{.finding_id = one.parts[0].finding_id,
                              .suspect = one.parts[0].suspect,
                              .opened = 8,
                              .confirmed = 8}};
  EXPECT_EQ(answer_of(one, said).found, 0u);
  said.push_back({.finding_id = one.parts[1].finding_id,
                  .suspect = one.parts[1].suspect,
                  .opened = 8,
                  .confirmed = 9});
  EXPECT_EQ(answer_of(one, said).found, 2u);
}

TEST(TruthCase, ASliceOfTheNightHasEachPairBothWaysOnEachRail) {
  const Case one =
      make_case({.kind = find_case_kind("none"), .nodes = 32, .rails = 2, .slices = 31});
  const auto figures = figures_of(one, 0, kernel_of_nights());
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_THAT(figures->figures, SizeIs(16 * 2 * 2));
  const auto again = figures_of(one, 0, kernel_of_nights());
  for (std::size_t i = 0; i < figures->figures.size(); ++i)
    EXPECT_EQ(figures->figures[i].value, again->figures[i].value);
}

TEST(TruthCase, FiguresOfGpuMemoryAreKeptApart) {
  const Case one =
      make_case({.kind = find_case_kind("gpu"), .nodes = 32, .rails = 2, .slices = 31});
  const auto figures = figures_of(one, 0, kernel_of_nights());
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_THAT(figures->figures, SizeIs(2 * 16 * 2 * 2));
  EXPECT_EQ(std::ranges::count(figures->figures, true, &parts::Figure::gpu), 16 * 2 * 2);
}

TEST(TruthCase, TheJudgeNamesASlowPortAndNobodyOfAHealthySite) {
  const auto judged = [](std::string_view kind) {
    const Case one = make_case({.kind = find_case_kind(kind), .nodes = 32, .rails = 4, .seed = 3});
    const auto said = judge_case(one, kernel_of_nights());
    EXPECT_TRUE(said) << said.error().message;
    return answer_of(one, *said);
  };
  const Answer slow = judged("port");
  EXPECT_EQ(slow.found, 2u) << slow.confirmed;
  EXPECT_EQ(slow.wrong, 0u) << slow.confirmed;
  EXPECT_EQ(judged("none").confirmed, "");
}

}  // namespace
}  // namespace railgauge::truth
