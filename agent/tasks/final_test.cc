#include "agent/tasks/final.h"

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

constexpr int exit_code(int code) { return code << 8; }

Ending ended_with(int wait_status) {
  Ending ending;
  ending.exit = Exit{.wait_status = wait_status, .cpu_seconds = 0.25, .max_resident_bytes = 4096};
  ending.stderr_tail = "boom";
  ending.deadline_seconds = 7;
  return ending;
}

Final reported(const std::string& outcome, const std::string& reason) {
  Final final;
  final.set_outcome(outcome);
  final.set_reason(reason);
  return final;
}

TEST(Final, ARunnersOwnAnswerIsKeptAndCompleted) {
  Ending ending = ended_with(0);
  ending.reported = reported("passed", "");
  ending.reported->mutable_phases()->set_start_ns(100);
  ending.reported->mutable_phases()->set_measure_ns(1000);
  ending.reported->mutable_phases()->set_stop_ns(20);
  ending.reported_before_stop = true;
  ending.lifetime_ns = 1250;
  const Final final = conclude(ending);
  EXPECT_EQ(final.outcome(), "passed");
  EXPECT_EQ(final.phases().stop_ns(), 150);
  EXPECT_EQ(final.cpu_seconds(), 0.25);
  EXPECT_EQ(final.max_resident_bytes(), 4096);
  EXPECT_FALSE(final.has_exit_signal());
  EXPECT_EQ(final.stderr_tail(), "");
}

TEST(Final, ARunnerThatTimedNothingGetsNoPhase) {
  Ending ending = ended_with(0);
  ending.reported = reported("passed", "");
  ending.lifetime_ns = 1250;
  EXPECT_FALSE(conclude(ending).phases().has_stop_ns());
}

TEST(Final, AFailureKeepsItsReasonAndGetsTheTailOfStderr) {
  Ending ending = ended_with(exit_code(1));
  ending.reported = reported("failed", "wrong bytes");
  const Final final = conclude(ending);
  EXPECT_EQ(final.outcome(), "failed");
  EXPECT_EQ(final.reason(), "wrong bytes");
  EXPECT_EQ(final.stderr_tail(), "boom");
}

TEST(Final, ACrashAfterThePassIsACrash) {
  Ending ending = ended_with(SIGSEGV);
  ending.reported = reported("passed", "");
  const Final final = conclude(ending);
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_EQ(final.reason(), "killed by SIGSEGV (signal 11) after it reported passed");
  EXPECT_EQ(final.exit_signal(), SIGSEGV);
}

TEST(Final, ABadExitCodeAfterThePassIsACrash) {
  Ending ending = ended_with(exit_code(23));
  ending.reported = reported("passed", "");
  EXPECT_EQ(conclude(ending).reason(), "exited with code 23 after it reported passed");
}

TEST(Final, NoAnswerIsACrashThatNamesTheLastRecord) {
  Ending ending = ended_with(SIGKILL);
  ending.last_record = "point latency_ns at 8 bytes";
  const Final final = conclude(ending);
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_EQ(final.reason(),
            "killed by SIGKILL (signal 9) without a final record; last record: point latency_ns at "
            "8 bytes");
  EXPECT_EQ(final.stderr_tail(), "boom");
}

TEST(Final, TheDeadlineWinsOverWhatARunnerSaysAfterIt) {
  Ending ending = ended_with(exit_code(4));
  ending.stop = Stop::kDeadline;
  ending.reported = reported("cancelled", "terminated");
  const Final final = conclude(ending);
  EXPECT_EQ(final.outcome(), "timed_out");
  EXPECT_EQ(final.reason(), "no end within the deadline of 7 s");
}

TEST(Final, ARunnerThatHangsAfterItsAnswerTimedOut) {
  Ending ending = ended_with(SIGKILL);
  ending.stop = Stop::kDeadline;
  ending.reported = reported("passed", "");
  ending.reported_before_stop = true;
  ending.ignored_term = true;
  const Final final = conclude(ending);
  EXPECT_EQ(final.outcome(), "timed_out");
  EXPECT_THAT(final.reason(), HasSubstr("it had reported passed but did not exit"));
  EXPECT_THAT(final.reason(), HasSubstr("ignored TERM"));
}

TEST(Final, ACancelledRunnerMayAnswerForItself) {
  Ending ending = ended_with(0);
  ending.stop = Stop::kCancel;
  ending.stop_outcome = "crashed";
  ending.stop_reason = "node b is lost";
  EXPECT_EQ(conclude(ending).outcome(), "crashed");
  EXPECT_EQ(conclude(ending).reason(), "node b is lost");
  ending.reported = reported("cancelled", "asked to");
  EXPECT_EQ(conclude(ending).outcome(), "cancelled");
}

TEST(Final, AFaultIsNeverBelieved) {
  Ending ending = ended_with(0);
  ending.stop = Stop::kFault;
  ending.stop_reason = "wrote garbage on its record pipe";
  ending.reported = reported("passed", "");
  EXPECT_EQ(conclude(ending).outcome(), "crashed");
  EXPECT_EQ(conclude(ending).reason(), "wrote garbage on its record pipe");
}

TEST(Final, BytesThatAreNoTextDoNotMakeARecordThatNobodyCanRead) {
  Ending ending = ended_with(exit_code(3));
  ending.stop = Stop::kFault;
  ending.stop_reason = "spool /a\xff: full";
  ending.stderr_tail = "\x80 cut, \xff";
  Final read;
  ASSERT_TRUE(read.ParseFromString(conclude(ending).SerializeAsString()));
  EXPECT_EQ(read.reason(), "spool /a?: full");
  EXPECT_EQ(read.stderr_tail(), "? cut, ?");
}

TEST(Final, AProcessThatCannotBeKilledIsTold) {
  Ending ending;
  ending.stop = Stop::kDeadline;
  ending.ignored_term = true;
  const Final final = conclude(ending);
  EXPECT_EQ(final.outcome(), "timed_out");
  EXPECT_THAT(final.reason(), HasSubstr("stuck in the Linux kernel"));
  EXPECT_FALSE(final.has_cpu_seconds());
}

TEST(Final, ACancelledRunnerThatReportedPassedAndCannotBeKilledDidNotPass) {
  Ending ending;
  ending.stop = Stop::kCancel;
  ending.reported.emplace().set_outcome(std::string(kPassed));
  const Final final = conclude(ending);
  EXPECT_EQ(final.outcome(), kCrashed);
  EXPECT_EQ(final.reason(),
            "it reported passed, but did not end; the process is stuck in the Linux kernel and "
            "could not be killed");
}

}  // namespace
}  // namespace railgauge::agent
