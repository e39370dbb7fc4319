#include "kernels/core/group/step_answers.h"

#include <gmock/gmock.h>

namespace railgauge {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

GroupStep said(std::string payload, std::uint32_t loudness = 0) {
  GroupStep step;
  step.add_payloads(std::move(payload));
  step.set_loudness(loudness);
  return step;
}

TEST(StepAnswers, AFullOneHasAllAndABriefOneRankZeroAndTheLoud) {
  const StepAnswers answers = answers_of(7, {said("a"), said("b"), said("c", 1), said("d")});
  EXPECT_THAT(*payloads_of(answers.full, 7, 4), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(*payloads_of(answers.brief, 7, 4), ElementsAre("a", "", "c", ""));
}

TEST(StepAnswers, WhoSaidNothingIsThereWithAnEmptyPayload) {
  const StepAnswers answers = answers_of(0, {GroupStep(), said("b")});
  EXPECT_THAT(*payloads_of(answers.full, 0, 2), ElementsAre("", "b"));
  EXPECT_THAT(*payloads_of(answers.brief, 0, 2), ElementsAre("", ""));
}

// All wait in vain for what one of the last ranks knows the cause of.
TEST(StepAnswers, OfManyThatAreLoudTheLoudestAreHeard) {
  std::vector<GroupStep> all(1, said("lead"));
  for (int rank = 1; rank < 100; ++rank) all.push_back(said("in vain", 1));
  all[90] = said("the cause", 2);
  const StepAnswers answers = answers_of(0, std::move(all));
  EXPECT_EQ(static_cast<std::size_t>(answers.brief.payloads_size()), 1 + kMostHeardAloud);
  const auto heard = payloads_of(answers.brief, 0, 100);
  ASSERT_TRUE(heard);
  EXPECT_EQ((*heard)[90], "the cause");
  EXPECT_EQ((*heard)[7], "in vain");
  EXPECT_EQ((*heard)[8], "");
}

TEST(StepAnswers, OfAnotherStepOrGroupAreAnError) {
  const StepAnswers answers = answers_of(3, {said("a"), said("b", 1)});
  EXPECT_THAT(payloads_of(answers.full, 4, 2).error().message, HasSubstr("step 3 came for step 4"));
  EXPECT_THAT(payloads_of(answers.full, 3, 3).error().message, HasSubstr("2 payloads for 3 ranks"));
  EXPECT_THAT(payloads_of(answers.brief, 3, 1).error().message,
              HasSubstr("a payload of rank 1 of 1"));
  GroupStep odd = answers.brief;
  odd.add_ranks(1);
  EXPECT_THAT(payloads_of(odd, 3, 2).error().message, HasSubstr("2 payloads of 3 ranks"));
}

}  // namespace
}  // namespace railgauge
