// Several ranks of one task on one host, as a person starts them: `--ranks N`.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "kernels/core/base/outcome.h"
#include "kernels/runner/testing/process.h"

namespace railgauge {
namespace {

using testing_process::Ended;
using testing_process::Process;
using testing_process::program;
using Words = std::vector<std::string>;

Ended run(Words words) {
  words.insert(words.begin(), program("railgauge-runner-testing"));
  return Process(words).wait();
}

RunnerReport report_of(Words words, int exit_code) {
  words.insert(words.end(), {"--format", "json"});
  const Ended ended = run(words);
  EXPECT_EQ(ended.exit_code, exit_code) << ended.err;
  RunnerReport report;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(ended.out, &report).ok()) << ended.out;
  return report;
}

TEST(LocalRanks, MeetWithoutAnotherTerminalAndRankZeroReports) {
  const RunnerReport report = report_of({"test.latency", "--ranks", "2"}, kExitPassed);
  EXPECT_EQ(report.outcome(), kPassed);
  EXPECT_EQ(report.started().size(), 2U);
  EXPECT_EQ(report.points_size(), 2);
}

TEST(LocalRanks, ARankThatCannotRunWaivesAllWithItsReason) {
  const RunnerReport report =
      report_of({"test.latency", "--ranks", "2", "-d", "none,prepare_waive"}, kExitWaived);
  EXPECT_EQ(report.outcome(), kWaived);
  EXPECT_EQ(report.reason(), "rank 1: device none0: not found");
}

TEST(LocalRanks, WrongBytesOfAnyRankFail) {
  const RunnerReport report =
      report_of({"test.latency", "--ranks", "2", "-d", "none,measure_corrupt"}, kExitFailed);
  EXPECT_EQ(report.reason(), "rank 1: byte 17 is 0x00; 0x2a was written");
}

TEST(LocalRanks, ACrashOfAnotherRankNamesItAndTheSignal) {
  const RunnerReport report =
      report_of({"test.latency", "--ranks", "2", "-d", "none,measure_kill"}, kExitInvalid);
  EXPECT_EQ(report.outcome(), kCrashed);
  EXPECT_EQ(report.reason(), "rank 1: gone; its process was ended by signal 9 (SIGKILL)");
}

TEST(LocalRanks, ARankThatHangsIsNamedAtTheDeadline) {
  const RunnerReport report =
      report_of({"test.latency", "--ranks", "2", "-d", "none,measure_hang", "--deadline", "1s"},
                kExitInvalid);
  EXPECT_EQ(report.outcome(), kTimedOut);
  EXPECT_EQ(report.reason(), "rank 1: did not come to this step in time");
}

TEST(LocalRanks, WrongUseIsOneLine) {
  const std::pair<Words, const char*> kWrong[] = {
      // NOLINT(modernize-avoid-c-arrays)
      {{"test.latency", "--ranks", "3"}, "test.latency takes 2 ranks at most"},
      {{"test.latency", "--ranks", "2", "--listen"}, "exclude each other"},
      {{"test.latency", "--ranks", "2", "-d", "a,b,c"}, "3 endpoints for 2 ranks"},
      {{"test.latency", "--ranks", "0"}, "--ranks"},
  };
  for (const auto& [words, said] : kWrong) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.exit_code, kExitUsage) << said;
    EXPECT_NE(ended.err.find(said), std::string::npos) << ended.err;
    EXPECT_EQ(ended.err.find('\n'), ended.err.size() - 1) << ended.err;
  }
}

}  // namespace
}  // namespace railgauge
