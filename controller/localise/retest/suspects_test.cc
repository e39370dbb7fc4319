// Follow-ups and their answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/localise/retest/suspects_followup.h"
#include "controller/localise/testing/localise_testing.h"

namespace railgauge::localise {
namespace {

using testing::HasSubstr;

// 16 nodes in leaves of 4 of which node 5 sends little; what was found.
class FollowUps : public testing::Test {
 protected:
  void SetUp() override {
    for_all(data_, [](int from, int, float& value) { value *= from == 5 ? 0.8F : 1; });
    auto found = find_suspects(data_);
    ASSERT_TRUE(found) << found.error().message;
    found_ = *found;
    ASSERT_EQ(found_.suspects.size(), 1u);
    asked_ = follow_ups(data_, found_);
  }

  // Answers from a world in which `figure` says what a task gives.
  template <class Figure>
  Retest judged(Figure figure) {
    std::vector<FollowUpResult> results;
    for (const FollowUp& each : asked_) results.push_back({each, figure(each)});
    const auto retests = judge_follow_ups(data_, found_, results);
    EXPECT_EQ(retests.size(), 1u);
    return retests.empty() ? Retest{} : retests[0];
  }

  PairData data_ = healthy(16, 4);
  Localisation found_;
  std::vector<FollowUp> asked_;
};

TEST_F(FollowUps, AskTwoGoodPartnersInTheLeafAndOneElsewhereFromBothMemories) {
  const auto count = [this](Purpose purpose, const char* memory) {
    return std::ranges::count_if(asked_, [&](const FollowUp& each) {
      return each.purpose == purpose && each.memory == memory;
    });
  };
  EXPECT_EQ(count(Purpose::kSameLeaf, "host"), 2);
  EXPECT_EQ(count(Purpose::kSameLeaf, "gpu"), 2);
  EXPECT_EQ(count(Purpose::kElsewhere, "host"), 1);
  EXPECT_EQ(count(Purpose::kElsewhere, "gpu"), 1);
  EXPECT_EQ(count(Purpose::kOtherGpu, "gpu"), 1);
  for (const FollowUp& each : asked_) {
    EXPECT_EQ(each.from, 5) << "only what it sends is doubted";
    EXPECT_NE(each.to, 5);
    EXPECT_EQ(each.to / 4 == 1, each.purpose != Purpose::kElsewhere);
  }
}

TEST_F(FollowUps, SlowWithTwoPartnersFromHostMemoryIsTheNic) {
  const Retest retest = judged([](const FollowUp&) { return 800.0; });
  EXPECT_EQ(retest.answer, Answer::kConfirmed);
  EXPECT_EQ(retest.element.memory, "");
  EXPECT_THAT(retest.sentence, HasSubstr("NIC, cable, port or slot"));
}

TEST_F(FollowUps, SlowFromGpuMemoryAloneIsThePathOfThatGpu) {
  const Retest retest = judged([](const FollowUp& each) {
    return each.memory == "gpu" && each.purpose != Purpose::kOtherGpu ? 800.0 : 1000.0;
  });
  EXPECT_EQ(retest.answer, Answer::kConfirmed);
  EXPECT_EQ(retest.element.memory, "gpu");
  EXPECT_THAT(retest.sentence, HasSubstr("this GPU's path"));
}

TEST_F(FollowUps, FineWithAllPartnersClearsIt) {
  EXPECT_EQ(judged([](const FollowUp&) { return 1000.0; }).answer, Answer::kCleared);
}

TEST_F(FollowUps, SlowWithOnePartnerAloneAccusesNobody) {
  const std::int32_t partner = asked_.front().to;
  const Retest retest =
      judged([&](const FollowUp& each) { return each.to == partner ? 800.0 : 1000.0; });
  EXPECT_EQ(retest.answer, Answer::kInconclusive);
  EXPECT_THAT(retest.sentence, HasSubstr("alone"));
}

TEST_F(FollowUps, MissingFiguresNeverClear) {
  EXPECT_EQ(judged([](const FollowUp&) { return std::optional<double>(); }).answer,
            Answer::kInconclusive);
}

TEST(FollowUpsOfAPair, MeasureItAgainAndItsEndsWithOthers) {
  PairData data = healthy(16, 4);
  for_all(data, [](int from, int to, float& value) { value *= from == 2 && to == 9 ? 0.6F : 1; });
  const auto found = find_suspects(data);
  ASSERT_TRUE(found) << found.error().message;
  std::vector<FollowUpResult> results;
  for (const FollowUp& each : follow_ups(data, *found))
    results.push_back({each, each.purpose == Purpose::kAgain ? 600.0 : 1000.0});
  ASSERT_GE(results.size(), 6u);
  const auto path = judge_follow_ups(data, *found, results);
  ASSERT_EQ(path.size(), 1u);
  EXPECT_EQ(path[0].answer, Answer::kConfirmed);
  for (FollowUpResult& each : results) each.value = 600;
  const auto ends = judge_follow_ups(data, *found, results);
  EXPECT_EQ(ends[0].answer, Answer::kInconclusive);
  EXPECT_THAT(ends[0].sentence, HasSubstr("its ends are slow with others too"));
}

}  // namespace
}  // namespace railgauge::localise
