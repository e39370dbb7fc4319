// The runner as an agent's child: a real process, driven over its two pipes.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/runner/testing/process.h"

namespace railgauge {
namespace {

using testing_process::Ended;
using testing_process::Process;
using testing_process::program;

ToRunner request(const std::string& kernel, const std::map<std::string, std::string>& parameters) {
  ToRunner message;
  TaskRequest& task = *message.mutable_request();
  task.mutable_key()->set_run_id("run");
  task.mutable_key()->set_task_id("task");
  task.mutable_key()->set_attempt(2);
  task.set_kernel(kernel);
  task.mutable_parameters()->insert(parameters.begin(), parameters.end());
  task.set_size(kernel == "test.local" ? 1 : 2);
  task.set_deadline_seconds(testing_process::kPatienceSeconds);
  task.set_spawned_monotonic_ns(monotonic_now_ns());
  return message;
}

ToRunner go() {
  ToRunner message;
  message.mutable_go();
  return message;
}

// A runner as its agent sees it.
class AgentTask : public testing::Test {
 protected:
  std::vector<Record> records_to_end() {
    std::vector<Record> out;
    while (const auto message = runner_.hear()) {
      if (message->has_step()) answer(message->step());
      if (message->has_record()) out.push_back(message->record());
    }
    return out;
  }
  // Answers as the controller does, with the payload that the test's kernels expect of the other
  // rank.
  void answer(const GroupStep& step) {
    ToRunner message;
    message.mutable_step()->set_step(step.step());
    message.mutable_step()->add_payloads(step.payloads(0));
    message.mutable_step()->add_payloads(step.payloads(0).empty() ? "" : "from 1");
    runner_.tell(message);
  }
  void prepare(const ToRunner& task) {
    runner_.tell(task);
    const auto prepared = runner_.hear();
    ASSERT_TRUE(prepared && prepared->has_prepared());
  }
  void prepare_and_hang(ToRunner task) {
    (*task.mutable_request()->mutable_parameters())["act"] = "connect_hang";
    prepare(task);
    runner_.tell(go());
    const auto hanging = runner_.hear();
    ASSERT_TRUE(hanging && hanging->record().note().text() == "hanging");
  }
  Process runner_{{program("railgauge-runner-testing")}, true};
};

TEST_F(AgentTask, PreparesWaitsForGoMeasuresAndEndsWithAFinalRecord) {
  prepare(request("test.latency", {{"sizes", "8,64"}}));
  runner_.tell(go());
  const std::vector<Record> records = records_to_end();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_TRUE(records[0].has_started());
  EXPECT_TRUE(records[1].has_point());
  EXPECT_TRUE(records[2].has_point());
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].key().sequence(), i);
    EXPECT_EQ(records[i].key().run_id(), "run");
    EXPECT_EQ(records[i].key().attempt(), 2u);
  }
  EXPECT_EQ(records[0].started().parameters().at("sizes"), "8,64");
  EXPECT_EQ(records[0].started().facts().at("memory"), "host");
  EXPECT_EQ(records[0].started().facts().count("clock_source"), 1u);
  EXPECT_EQ(records[1].point().samples_size(), 0) << "nobody asked for raw samples";
  const Final& final = records[3].final();
  EXPECT_EQ(final.outcome(), kPassed) << final.reason();
  const Phases& phases = final.phases();
  EXPECT_TRUE(phases.has_start_ns() && phases.has_open_ns() && phases.has_wait_ns() &&
              phases.has_exchange_ns() && phases.has_measure_ns());
  const Ended ended = runner_.wait();
  EXPECT_EQ(ended.exit_code, kExitPassed);
  EXPECT_EQ(ended.out, "");
}

TEST_F(AgentTask, TellsWhichParametersTheSiteProfileGave) {
  ToRunner task = request("test.latency", {{"sizes", "8"}});
  task.mutable_request()->add_site_defaults("sizes");
  prepare(task);
  runner_.tell(go());
  const std::vector<Record> records = records_to_end();
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records[0].started().facts().at("site_defaults"), "sizes=8");
}

TEST_F(AgentTask, KeepsWhatLibrariesPrintAwayFromStdout) {
  prepare(request("test.latency", {{"act", "prepare_print"}}));
  runner_.tell(go());
  records_to_end();
  const Ended ended = runner_.wait();
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, "a library prints here\n");
}

TEST_F(AgentTask, AFailedPrepareIsAFinalRecordWithoutPrepared) {
  runner_.tell(request("test.latency", {{"act", "prepare_waive"}}));
  const std::vector<Record> records = records_to_end();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].final().outcome(), kWaived);
  EXPECT_EQ(records[1].final().reason(), "device none0: not found");
  EXPECT_EQ(runner_.wait().exit_code, kExitWaived);
}

TEST_F(AgentTask, RecordsBeforeACrashAreDeliveredAndTheSignalIsVisible) {
  prepare(request("test.latency", {{"sizes", "8"}, {"act", "measure_kill"}}));
  runner_.tell(go());
  const std::vector<Record> records = records_to_end();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(records[1].has_point());
  EXPECT_EQ(runner_.wait().signal, SIGKILL);
}

TEST_F(AgentTask, AThrowingKernelIsACrashWithItsWords) {
  runner_.tell(request("test.local", {{"act", "prepare_throw"}}));
  const Record last = records_to_end().back();
  EXPECT_EQ(last.final().outcome(), kCrashed);
  EXPECT_EQ(last.final().reason(), "prepare: threw a library's exception");
}

TEST_F(AgentTask, ACancelEndsAHangingKernelWithItsReason) {
  prepare_and_hang(request("test.latency", {}));
  ToRunner cancel;
  cancel.mutable_cancel()->set_reason("another rank refused");
  runner_.tell(cancel);
  const Record last = records_to_end().back();
  EXPECT_EQ(last.final().outcome(), kCancelledOutcome);
  EXPECT_EQ(last.final().reason(), "another rank refused");
  EXPECT_EQ(runner_.wait().exit_code, kExitInterrupted);
}

TEST_F(AgentTask, ACancelInsteadOfGoEndsTheWait) {
  prepare(request("test.latency", {}));
  ToRunner cancel;
  cancel.mutable_cancel();
  runner_.tell(cancel);
  EXPECT_EQ(records_to_end().back().final().outcome(), kCancelledOutcome);
}

TEST_F(AgentTask, EndsWhenTheAgentIsGoneEvenIfTheKernelHangs) {
  prepare_and_hang(request("test.latency", {}));
  runner_.close_request_pipe();
  EXPECT_EQ(runner_.wait().exit_code, kExitInvalid);
}

TEST_F(AgentTask, SigtermWritesTheFinalRecordAndExits143) {
  prepare_and_hang(request("test.latency", {}));
  runner_.signal(SIGTERM);
  const Record last = records_to_end().back();
  EXPECT_EQ(last.final().outcome(), kCancelledOutcome);
  EXPECT_EQ(last.final().reason(), "terminated (SIGTERM)");
  EXPECT_EQ(runner_.wait().exit_code, kExitTerminated);
}

TEST_F(AgentTask, AKernelThatHangsPastTheDeadlineIsTimedOutByTheRunnerItself) {
  ToRunner task = request("test.latency", {});
  task.mutable_request()->set_deadline_seconds(0.2);
  prepare_and_hang(task);
  const Record last = records_to_end().back();
  EXPECT_EQ(last.final().outcome(), kTimedOut);
  EXPECT_EQ(runner_.wait().exit_code, kExitInvalid);
}

TEST_F(AgentTask, AnUnknownKernelIsWaivedAndAWrongParameterNamesItself) {
  runner_.tell(request("test.nothing", {}));
  const Record last = records_to_end().back();
  EXPECT_EQ(last.final().outcome(), kWaived);
  Process second({program("railgauge-runner-testing")}, true);
  second.tell(request("test.latency", {{"dpth", "1"}}));
  const auto answer = second.hear();
  ASSERT_TRUE(answer && answer->record().has_final());
  EXPECT_EQ(answer->record().final().outcome(), kCrashed);
  EXPECT_NE(answer->record().final().reason().find("\"dpth\""), std::string::npos);
}

TEST_F(AgentTask, RanksThatTheKernelDoesNotTakeAreRefused) {
  ToRunner task = request("test.latency", {});
  task.mutable_request()->set_size(3);
  runner_.tell(task);
  const Record last = records_to_end().back();
  EXPECT_EQ(last.final().reason(), "test.latency: rank 0 of 3 ranks; the kernel takes 2 to 2");
}

TEST(AgentTaskStart, SaysSoWhenTheDescriptorsAreNotOpen) {
  Process runner(
      {program("railgauge-runner-testing"), "--task", "--request-fd", "77", "--record-fd", "78"});
  const Ended ended = runner.wait();
  EXPECT_EQ(ended.exit_code, kExitUsage);
  EXPECT_THAT(ended.err,
              testing::MatchesRegex("20[-0-9]*T[0-9:.]*Z error descriptor 77 is not open\n"));
}

TEST(AgentTaskStart, ItsLogHasTheAgentsFormatAndTheTask) {
  Process runner(
      {program("railgauge-runner-testing"), "--task", "--request-fd", "77", "--record-fd", "78"},
      false,
      {"RAILGAUGE_LOG_FORMAT=json", "RAILGAUGE_LOG_SUBJECT=run r1 task t2 attempt 1 rank 3"});
  EXPECT_THAT(
      runner.wait().err,
      testing::HasSubstr(
          R"("level":"error","program":"runner","run":"r1","task":"t2","attempt":"1","rank":"3",)"
          R"("message":"run r1 task t2 attempt 1 rank 3: descriptor 77 is not open"})"));
}

}  // namespace
}  // namespace railgauge
