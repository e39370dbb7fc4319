// The supervisor with real processes: agent/testing/scripted_runner.cc plays the runner.
#include "agent/tasks/supervisor.h"

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/core/base/clock.h"

namespace railgauge::agent {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

constexpr double kPatienceNs = 20e9;

struct Seen : TaskListener {
  std::vector<api::TaskRef> prepared_tasks;
  std::vector<GroupStep> steps;
  std::vector<Record> records;
  std::vector<Record> finals;
  std::vector<bool> were_prepared;

  void prepared(const api::TaskRef& task) override { prepared_tasks.push_back(task); }
  void step(const api::TaskRef&, GroupStep step) override { steps.push_back(std::move(step)); }
  void record(Record record) override { records.push_back(std::move(record)); }
  void ended(const api::TaskRef&, Record final, bool was_prepared) override {
    finals.push_back(std::move(final));
    were_prepared.push_back(was_prepared);
  }
};

class SupervisorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::signal(SIGPIPE, SIG_IGN); }
  static Supervisor::Options options() {
    return {.task = {.runner = SCRIPTED_RUNNER,
                     .confinement = {.keeper = KEEPER},
                     .cancel_grace_seconds = 0.1,
                     .term_grace_seconds = 0.2,
                     .kill_grace_seconds = 5,
                     .drain_seconds = 0.3},
            .max_tasks = 2};
  }
  Seen seen_;
  Status journal_;  // the result of OnSpawned
  std::vector<pid_t> pids_;
  Supervisor supervisor_{options(), seen_, [this](const api::TaskRef&, pid_t pid) {
                           pids_.push_back(pid);
                           return journal_;
                         }};

  static api::PrepareTask task(const std::string& script, double deadline_seconds = 20) {
    api::PrepareTask prepare;
    prepare.mutable_task()->set_run_id("r1");
    prepare.mutable_task()->set_task_id(script);
    prepare.mutable_task()->set_attempt(1);
    prepare.set_kernel("test.scripted");
    (*prepare.mutable_parameters())["script"] = script;
    prepare.set_size(1);
    prepare.set_endpoint("rxe0:1");
    prepare.set_deadline_seconds(deadline_seconds);
    return prepare;
  }
  // Polls until `met`; false when patience ends first.
  bool until(const std::function<bool()>& met) {
    const double end_ns = monotonic_now_ns() + kPatienceNs;
    while (!met() && monotonic_now_ns() < end_ns) {
      std::vector<pollfd> set;
      supervisor_.add_to(set);
      const double wait_ns = std::min(supervisor_.wake_ns() - monotonic_now_ns(), 1e9);
      ::poll(set.data(), set.size(), static_cast<int>(std::max(0.0, wait_ns) / 1e6) + 1);
      supervisor_.service();
    }
    return met();
  }
  // The pid that the runner reported of a process that it left behind.
  pid_t left_behind() const {
    for (const Record& record : seen_.records)
      if (record.point().metric() == "pid")
        return static_cast<pid_t>(record.point().message_bytes());
    ADD_FAILURE() << "the runner reported none";
    return -1;
  }
  // Prepares, says go, and waits for the end.
  Final run(const std::string& script, double deadline_seconds = 20) {
    const api::PrepareTask prepare = task(script, deadline_seconds);
    EXPECT_TRUE(supervisor_.prepare(prepare));
    EXPECT_TRUE(until([&] { return !seen_.prepared_tasks.empty() || !seen_.finals.empty(); }));
    supervisor_.go(prepare.task());
    EXPECT_TRUE(until([&] { return !seen_.finals.empty(); }));
    return seen_.finals.empty() ? Final{} : seen_.finals.back().final();
  }
};

TEST_F(SupervisorTest, RelaysAWholeTaskWithGaplessSequenceNumbers) {
  const Final final = run("");
  EXPECT_EQ(final.outcome(), "passed");
  EXPECT_EQ(final.reason(), "");
  EXPECT_GT(final.phases().stop_ns(), 0);
  EXPECT_EQ(final.phases().measure_ns(), 1000);
  EXPECT_GT(final.max_resident_bytes(), 0);
  ASSERT_THAT(seen_.records, SizeIs(4));
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(seen_.records[i].key().sequence(), i);
  EXPECT_EQ(seen_.finals[0].key().sequence(), 4u);
  EXPECT_EQ(seen_.records[0].started().endpoint(), "rxe0:1");
  EXPECT_THAT(seen_.were_prepared, ElementsAre(true));
  EXPECT_EQ(supervisor_.size(), 0u);
}

TEST_F(SupervisorTest, AddsWhatThePlacementKnowsToWhatTheRunnerStarted) {
  api::PrepareTask prepare = task("");
  (*prepare.mutable_facts())["loopback"] = "true";
  (*prepare.mutable_facts())["gpu_nic_distance"] = "PIX";
  prepare.set_gpu("gpu3");
  ASSERT_TRUE(supervisor_.prepare(prepare));
  ASSERT_TRUE(until([&] { return !seen_.records.empty(); }));
  const Started& started = seen_.records[0].started();
  EXPECT_EQ(started.endpoint(), "rxe0:1+gpu3");
  EXPECT_THAT(started.facts(),
              testing::UnorderedElementsAre(testing::Pair("loopback", "true"),
                                            testing::Pair("gpu_nic_distance", "PIX")));
  supervisor_.go(prepare.task());
  EXPECT_TRUE(until([&] { return !seen_.finals.empty(); }));
}

TEST_F(SupervisorTest, RelaysStepsUpAndDown) {
  const api::PrepareTask prepare = task("rendezvous");
  ASSERT_TRUE(supervisor_.prepare(prepare));
  ASSERT_TRUE(until([&] { return !seen_.prepared_tasks.empty(); }));
  supervisor_.go(prepare.task());
  ASSERT_TRUE(until([&] { return !seen_.steps.empty(); }));
  EXPECT_EQ(seen_.steps[0].payloads(0), "hello");
  supervisor_.step(prepare.task(), seen_.steps[0]);
  ASSERT_TRUE(until([&] { return !seen_.finals.empty(); }));
  EXPECT_EQ(seen_.finals[0].final().outcome(), "passed");
}

TEST_F(SupervisorTest, SaysAgainOnlyWhatIsNotAnswered) {
  const api::PrepareTask prepare = task("rendezvous");
  ASSERT_TRUE(supervisor_.prepare(prepare));
  supervisor_.say_again();
  EXPECT_THAT(seen_.prepared_tasks, SizeIs(0));
  ASSERT_TRUE(until([&] { return !seen_.prepared_tasks.empty(); }));
  supervisor_.say_again();
  EXPECT_THAT(seen_.prepared_tasks, SizeIs(2));
  supervisor_.go(prepare.task());
  ASSERT_TRUE(until([&] { return !seen_.steps.empty(); }));
  supervisor_.say_again();
  EXPECT_THAT(seen_.prepared_tasks, SizeIs(2));
  ASSERT_THAT(seen_.steps, SizeIs(2));
  EXPECT_EQ(seen_.steps[1].payloads(0), "hello");
  supervisor_.step(prepare.task(), seen_.steps[0]);
  supervisor_.say_again();
  EXPECT_THAT(seen_.steps, SizeIs(2));
}

TEST_F(SupervisorTest, AnAnswerThatComesTwiceReachesTheRunnerOnce) {
  const api::PrepareTask prepare = task("two_steps");
  ASSERT_TRUE(supervisor_.prepare(prepare));
  ASSERT_TRUE(until([&] { return !seen_.prepared_tasks.empty(); }));
  supervisor_.go(prepare.task());
  ASSERT_TRUE(until([&] { return seen_.steps.size() == 1; }));
  supervisor_.step(prepare.task(), seen_.steps[0]);
  supervisor_.step(prepare.task(), seen_.steps[0]);
  ASSERT_TRUE(until([&] { return seen_.steps.size() == 2; }));
  supervisor_.step(prepare.task(), seen_.steps[0]);
  supervisor_.step(prepare.task(), seen_.steps[1]);
  ASSERT_TRUE(until([&] { return !seen_.finals.empty(); }));
  EXPECT_EQ(seen_.finals[0].final().outcome(), "passed");
}

TEST_F(SupervisorTest, ARefusalEndsBeforePrepared) {
  const Final final = run("refuse");
  EXPECT_EQ(final.outcome(), "waived");
  EXPECT_EQ(final.reason(), "no such device: rxe7");
  EXPECT_THAT(seen_.were_prepared, ElementsAre(false));
  EXPECT_EQ(seen_.finals[0].key().sequence(), 0u);
}

TEST_F(SupervisorTest, ACrashNamesTheSignalAndTheLastRecord) {
  const Final final = run("crash");
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_EQ(final.exit_signal(), SIGSEGV);
  EXPECT_THAT(final.reason(), HasSubstr("SIGSEGV"));
  EXPECT_THAT(final.reason(), HasSubstr("point latency_ns at 32 bytes"));
  EXPECT_EQ(seen_.finals[0].key().sequence(), 4u);
}

TEST_F(SupervisorTest, AKilledRunnerCrashed) {
  ASSERT_TRUE(supervisor_.prepare(task("hang")));
  ::kill(pids_.at(0), SIGKILL);
  ASSERT_TRUE(until([&] { return !seen_.finals.empty(); }));
  const Final& final = seen_.finals[0].final();
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_EQ(final.exit_signal(), SIGKILL);
  EXPECT_THAT(final.reason(), HasSubstr("it wrote no record"));
}

TEST_F(SupervisorTest, ACrashAfterTheFinalRecordIsSeen) {
  const Final final = run("crash_after_final");
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_THAT(final.reason(), HasSubstr("SIGABRT (signal 6) after it reported passed"));
}

TEST_F(SupervisorTest, AnExitWithoutFinalRecordIsACrash) {
  const Final final = run("no_final");
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_THAT(final.reason(), StartsWith("exited with code 0 without a final record"));
}

TEST_F(SupervisorTest, AHungRunnerTimesOutAtItsDeadline) {
  const Final final = run("hang", 0.2);
  EXPECT_EQ(final.outcome(), "timed_out");
  EXPECT_EQ(final.exit_signal(), SIGTERM);
}

TEST_F(SupervisorTest, ARunnerThatIgnoresTermIsKilled) {
  const Final final = run("hang_ignoring_term", 0.2);
  EXPECT_EQ(final.outcome(), "timed_out");
  EXPECT_EQ(final.exit_signal(), SIGKILL);
  EXPECT_THAT(final.reason(), HasSubstr("ignored TERM"));
}

TEST_F(SupervisorTest, ARunnerThatHangsAfterItsFinalRecordTimesOut) {
  const Final final = run("hang_after_final", 0.5);
  EXPECT_EQ(final.outcome(), "timed_out");
  EXPECT_THAT(final.reason(), HasSubstr("had reported passed but did not exit"));
}

TEST_F(SupervisorTest, GarbageOnTheRecordPipeEndsTheRunner) {
  const Final final = run("garbage");
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_THAT(final.reason(), StartsWith("wrote garbage on its record pipe"));
  EXPECT_EQ(final.exit_signal(), SIGTERM);
}

TEST_F(SupervisorTest, TextOnTheRecordPipeIsGarbageToo) {
  EXPECT_THAT(run("text_garbage").reason(), StartsWith("wrote garbage on its record pipe"));
}

TEST_F(SupervisorTest, ARecordWithBytesThatAreNoTextIsGarbageAndIsNotKept) {
  const Final final = run("point_without_text");
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_THAT(final.reason(), StartsWith("wrote garbage on its record pipe"));
  EXPECT_THAT(seen_.records, SizeIs(4));  // those before it
}

TEST_F(SupervisorTest, MoreAfterTheFinalRecordIsGarbage) {
  const Final final = run("more_after_final");
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_THAT(final.reason(), HasSubstr("more after its final record"));
}

TEST_F(SupervisorTest, KeepsTheTailOfAFloodOnStderr) {
  const Final final = run("flood");
  EXPECT_EQ(final.outcome(), "crashed");
  EXPECT_LE(final.stderr_tail().size(), 8192u);
  EXPECT_THAT(final.stderr_tail(), HasSubstr("the last words"));
}

TEST_F(SupervisorTest, AGrandchildThatHoldsThePipesEndsWithTheTask) {
  EXPECT_EQ(run("grandchild").outcome(), "passed");
  EXPECT_FALSE(process_start_ticks(left_behind()));
}

TEST_F(SupervisorTest, SoDoesOneThatLeftTheGroup) {
  EXPECT_EQ(run("escaped_grandchild").outcome(), "passed");
  EXPECT_FALSE(process_start_ticks(left_behind()));
}

TEST_F(SupervisorTest, SoDoesADaemon) {
  EXPECT_EQ(run("daemon").outcome(), "passed");
  EXPECT_FALSE(process_start_ticks(left_behind()));
}

TEST_F(SupervisorTest, ADaemonOfARunnerThatHadToBeKilledEndsToo) {
  const Final final = run("daemon_and_hang", 0.5);
  EXPECT_EQ(final.outcome(), "timed_out");
  EXPECT_EQ(final.exit_signal(), SIGKILL);
  EXPECT_FALSE(process_start_ticks(left_behind()));
}

TEST_F(SupervisorTest, ASupervisorThatGoesTakesItsRunnersDaemonsAlong) {
  {
    Seen seen;
    Supervisor own(options(), seen, [](const api::TaskRef&, pid_t) { return Status(); });
    ASSERT_TRUE(own.prepare(task("daemon_and_hang")));
    for (int i = 0; i < 2000 && seen.records.size() < 2; ++i) {
      own.service();
      ::usleep(5000);
    }
    seen_.records = seen.records;
  }
  ASSERT_GT(left_behind(), 0);
  EXPECT_FALSE(process_start_ticks(left_behind()));
}

TEST_F(SupervisorTest, ACancelledRunnerAnswersForItself) {
  const api::PrepareTask prepare = task("");
  ASSERT_TRUE(supervisor_.prepare(prepare));
  ASSERT_TRUE(until([&] { return !seen_.prepared_tasks.empty(); }));
  supervisor_.cancel(prepare.task(), "cancelled", "asked by the operator");
  ASSERT_TRUE(until([&] { return !seen_.finals.empty(); }));
  EXPECT_EQ(seen_.finals[0].final().outcome(), "cancelled");
  EXPECT_EQ(seen_.finals[0].final().reason(), "asked by the operator");
}

TEST_F(SupervisorTest, ACancelThatIsNotHeardGetsTermAndTheControllersWords) {
  const api::PrepareTask prepare = task("cancel_unheard");
  ASSERT_TRUE(supervisor_.prepare(prepare));
  ASSERT_TRUE(until([&] { return !seen_.prepared_tasks.empty(); }));
  supervisor_.cancel(prepare.task(), "crashed", "node b is lost");
  ASSERT_TRUE(until([&] { return !seen_.finals.empty(); }));
  EXPECT_EQ(seen_.finals[0].final().outcome(), "crashed");
  EXPECT_EQ(seen_.finals[0].final().reason(), "node b is lost");
  EXPECT_EQ(seen_.finals[0].final().exit_signal(), SIGTERM);
}

TEST_F(SupervisorTest, RefusesBeyondItsBoundAndTheSameTaskTwice) {
  ASSERT_TRUE(supervisor_.prepare(task("hang")));
  const Status twice = supervisor_.prepare(task("hang"));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::kAlreadyExists);
  ASSERT_TRUE(supervisor_.prepare(task("hang_ignoring_term")));
  const Status third = supervisor_.prepare(task(""));
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kResourceExhausted);
  EXPECT_THAT(supervisor_.running(), SizeIs(2));
  supervisor_.abort_all("the test is over");
  ASSERT_TRUE(until([&] { return supervisor_.size() == 0; }));
}

TEST_F(SupervisorTest, ATaskWithoutADeadlineIsNotStarted) {
  const Status prepared = supervisor_.prepare(task("hang", 0));
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(pids_.empty());
}

TEST_F(SupervisorTest, ARunnerThatCannotBeWrittenDownDoesNotRun) {
  journal_ = fail(Code::kResourceExhausted, "disk is full");
  const Status prepared = supervisor_.prepare(task("hang"));
  ASSERT_FALSE(prepared);
  EXPECT_EQ(prepared.error().message, "disk is full");
  EXPECT_FALSE(process_start_ticks(pids_.at(0)).has_value());
}

}  // namespace
}  // namespace railgauge::agent
