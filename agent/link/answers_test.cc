#include "agent/link/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::SizeIs;

api::AgentMessage end_of(const std::string& task_id) {
  api::AgentMessage message;
  message.mutable_ended()->mutable_task()->set_task_id(task_id);
  return message;
}

std::vector<std::string> names(const Answers& answers) {
  std::vector<std::string> names;
  for (const api::AgentMessage& message : answers.all())
    names.push_back(message.ended().task().task_id());
  return names;
}

TEST(Answers, AnEndStaysUntilItsFinalRecordIsAcknowledged) {
  Answers answers;
  answers.add(end_of("a"), 7);
  answers.add(end_of("b"), 9);
  answers.acknowledged(6);
  EXPECT_THAT(names(answers), ElementsAre("a", "b"));
  answers.acknowledged(7);
  EXPECT_THAT(names(answers), ElementsAre("b"));
}

TEST(Answers, WithoutARecordNoAcknowledgementEndsIt) {
  Answers answers;
  answers.add(end_of("a"), 0);
  answers.acknowledged(1000);
  EXPECT_THAT(names(answers), ElementsAre("a"));
}

TEST(Answers, TheOldestMakesRoom) {
  Answers answers;
  for (std::size_t i = 0; i <= Answers::kMaxAnswers; ++i) answers.add(end_of(std::to_string(i)), 0);
  ASSERT_THAT(answers.all(), SizeIs(Answers::kMaxAnswers));
  EXPECT_EQ(names(answers).front(), "1");
}

}  // namespace
}  // namespace railgauge::agent
