#include "controller/cli/live/run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

api::RunEvent event_of(const std::string& task_id, const std::string& text, std::uint32_t failed,
                       std::uint32_t ended = 4) {
  api::RunEvent event;
  event.mutable_run()->set_tasks_total(10);
  event.mutable_run()->set_tasks_ended(ended);
  event.mutable_run()->set_state("running");
  if (failed > 0) (*event.mutable_run()->mutable_outcomes())["failed"] = failed;
  event.set_task_id(task_id);
  event.set_text(text);
  event.mutable_progress()->set_round(2);
  event.mutable_progress()->set_rounds_total(3);
  return event;
}

constexpr RunTimes kTimes{.elapsed = 75, .left = 3'725};

TEST(RunView, TheProgressLineHasBarCountsAndTimeLeft) {
  RunView view;
  view.take(event_of("t1", "t1 verbs.write_bw n1: passed", 0));
  EXPECT_THAT(view.lines(kTimes, {.columns = 100}, false),
              ElementsAre("[########------------] 4/10  round 2/3  1:02:05 left  01:15  t1 "
                          "verbs.write_bw n1: passed"));
}

TEST(RunView, FailuresAreCountedByKindAndBoundByTheScreen) {
  RunView view;
  std::uint32_t failed = 0;
  for (const char* cause : {"no device", "wrong bytes", "away", "hung", "port down", "too hot"}) {
    ++failed;
    view.take(event_of("t" + std::to_string(failed),
                       "t" + std::to_string(failed) + " verbs.write_bw n1: failed: " + cause,
                       failed));
  }
  view.take(event_of("t7", "t7 verbs.write_bw n2: failed: hung", 7));
  view.take(event_of("t8", "t8 verbs.write_bw n3: passed", 7));
  auto lines = view.lines(kTimes, {.columns = 80}, false);
  ASSERT_THAT(lines, SizeIs(7));
  EXPECT_EQ(lines[1], "  2 x verbs.write_bw n[1-2]: failed: hung") << "the most frequent first";
  EXPECT_EQ(lines[6], "  more kinds of failures: 1");
  EXPECT_THAT(view.lines(kTimes, {.columns = 80, .rows = 5}, false), SizeIs(4));
  lines = view.lines(kTimes, {.columns = 20}, true);
  for (const std::string& line : lines) EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_THAT(lines[1], HasSubstr("\x1b["));
}

TEST(RunView, ALostWatchBeginsAgainWithItsCounts) {
  RunView view;
  view.take(event_of("", "running", 5));
  const auto lines = view.lines(kTimes, {.columns = 100}, false);
  ASSERT_THAT(lines, SizeIs(1)) << "of five failures nothing but the number is known";
  EXPECT_THAT(lines[0], HasSubstr("  5 failed  "));
  view.take(event_of("t9", "t9 verbs.write_bw n1: crashed: signal 11", 6));
  EXPECT_THAT(view.lines(kTimes, {.columns = 100}, false), SizeIs(2));
}

TEST(RunView, AStageBeginsWithTheFirstTaskOfAKernel) {
  RunView view;
  view.take(event_of("", "started", 0));
  EXPECT_TRUE(view.is_milestone());
  EXPECT_EQ(view.report(kTimes), "4/10, round 2/3, 1:02:05 left: started\n");
  view.take(event_of("t1", "t1 verbs.write_bw n1: passed", 0));
  EXPECT_TRUE(view.is_milestone());
  view.take(event_of("t2", "t2 verbs.write_bw n2: failed: away", 1));
  EXPECT_FALSE(view.is_milestone());
  view.take(event_of("t3", "t3 nccl.all_reduce n2: passed", 1));
  EXPECT_TRUE(view.is_milestone());
  EXPECT_EQ(view.report(kTimes),
            "4/10, round 2/3, 1 failed, 1:02:05 left: t3 nccl.all_reduce n2: passed\n"
            "  1 x verbs.write_bw n2: failed: away\n");
  EXPECT_THAT(view.report(kTimes), testing::Not(HasSubstr("1 x"))) << "once";
}

}  // namespace
}  // namespace railgauge::cli
