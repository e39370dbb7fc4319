// `run` and what follows a run: progress, waiting, interrupts, cancelling.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(Commands, RunEndsWithItsOutcomesExitCode) {
  for (const auto& [outcome, code] :
       {std::pair{"passed", 0}, std::pair{"failed", 1}, std::pair{"crashed", 4},
        std::pair{"timed_out", 4}, std::pair{"waived", 5}, std::pair{"cancelled", 130}}) {
    control_.outcome = outcome;
    EXPECT_EQ(run({"run", "quick"}), code) << outcome;
    EXPECT_THAT(out_, HasSubstr(std::string(kSampleRun) + " " + outcome));
  }
}

TEST_F(Commands, ARunThatConfirmedAFindingEndsWith1AndShowsItApartFromItsOutcome) {
  control_.confirmed = 1;
  api::Finding& finding = *judge_.findings_of_run.add_findings();
  finding.set_finding_id("part-n1-rail-0");
  finding.set_state("confirmed");
  finding.set_summary("n1 rail 0: 10.0 % worse than its peers");
  EXPECT_EQ(run({"run", "quick"}), kExitFailed);
  EXPECT_THAT(out_, HasSubstr("part-n1-rail-0"));
  EXPECT_THAT(out_, HasSubstr("n1 rail 0: 10.0 % worse than its peers"));
  EXPECT_THAT(out_, HasSubstr(std::string(kSampleRun) + " passed"));
  EXPECT_EQ(run({"runs", "wait", kSampleRun}), kExitFailed);
  control_.outcome = "crashed";
  EXPECT_EQ(run({"runs", "wait", kSampleRun}), kExitFailed) << "1 comes before 4";
  control_.outcome = "passed";
  control_.confirmed = 0;
  EXPECT_EQ(run({"runs", "wait", kSampleRun}), 0) << "listed and not confirmed by this run";
}

TEST_F(Commands, RunWaitsUntilItsFiguresAreJudged) {
  judge_.answers_before_judged = 2;
  EXPECT_EQ(run({"run", "quick"}), 0);
  EXPECT_EQ(judge_.answers_before_judged, 0);
  EXPECT_THAT(err_, Not(HasSubstr("not judged yet")));
}

TEST_F(Commands, RunTellsThePlanAndItsProgressOnStandardError) {
  EXPECT_EQ(run({"run", "quick", "--nodes", "n[1-2]", "--verbose"}), 0);
  EXPECT_THAT(err_, StartsWith("railgauge: suite quick: 2 tasks in 2 rounds on 2 nodes (n[1-2]), "
                               "about 1.5 GB, about 13 s\n"));
  EXPECT_THAT(err_, HasSubstr("1/2 n1 to n2: verbs.write_lat passed\n"));
  EXPECT_EQ(control_.last_request().node_set(), "n[1-2]");
  EXPECT_EQ(control_.last_request().suite().name(), "quick");
  EXPECT_EQ(control_.last_request().trigger(), "cli");
}

TEST_F(Commands, BeyondSixteenNodesRunNeedsASetOrAll) {
  for (int i = 0; i < 15; ++i) control_.plan.add_nodes("m" + std::to_string(i));
  EXPECT_EQ(run({"run", "quick"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("would use all 17 nodes; name them (--nodes SET) or give --all"));
  EXPECT_EQ(control_.starts(), 0);
  EXPECT_EQ(run({"run", "quick", "--all"}), 0);
  EXPECT_EQ(run({"run", "quick", "--nodes", "m[0-16]"}), 0);
}

TEST_F(Commands, ABrokenSuiteIsToldWithFileLineAndKeyAndNothingRuns) {
  control_.plan_status = fail(Code::kInvalidArgument, "suite broken: 2 problems");
  EXPECT_EQ(run({"run", "broken"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("broken.yaml:3:13: stages[0].kernel: unknown kernel"));
  EXPECT_THAT(err_, HasSubstr("railgauge: suite broken: 2 problems, the first in line 3 of "
                              "broken.yaml; nothing ran\n"));
  EXPECT_EQ(control_.starts(), 0);
  EXPECT_EQ(run({"suites", "plan", "broken"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("broken.yaml:5:9: stages[0].parameters.depth: "));
}

TEST_F(Commands, RunWaitsForTheOutcomeAndNotOnlyForTheLastTask) {
  EXPECT_EQ(run({"run", "quick"}, Format::kNdjson), 0);
  EXPECT_EQ(std::ranges::count(out_, '\n'), 4);
  EXPECT_THAT(out_.substr(out_.rfind('\n', out_.size() - 2)), HasSubstr(R"("outcome":"passed")"));
}

TEST_F(Commands, WhatTheControllerLacksIsNotTakenForAnAbsentController) {
  control_.plan_status = fail(Code::kUnavailable, "no node is attached; start an agent");
  connected_ = true;
  EXPECT_EQ(run({"run", "quick"}), kExitInvalid);
  EXPECT_EQ(err_, "railgauge: no node is attached; start an agent\n");
}

TEST_F(Commands, ARunThatWaitsSaysForWhomAndAnEndedOneKeepsItsReasonForItsPage) {
  control_.runs.clear_runs();
  api::RunSummary& ended = *control_.runs.add_runs();
  ended.set_run_id("r-night");
  ended.set_ended_at("2026-11-20T00:40:00Z");
  ended.set_reason("node n2 lost");
  EXPECT_EQ(run({"runs"}), 0);
  EXPECT_THAT(out_, Not(HasSubstr("REASON")));
  api::RunSummary& waits = *control_.runs.add_runs();
  waits.set_run_id("r-two");
  waits.set_state("planned");
  waits.set_reason("waits for run r-other on node[003-004]");
  EXPECT_EQ(run({"runs"}), 0);
  EXPECT_THAT(out_, HasSubstr("REASON"));
  EXPECT_THAT(out_, HasSubstr("waits for run r-other on node[003-004]"));
  EXPECT_THAT(out_, Not(HasSubstr("node n2 lost")));
}

TEST_F(Commands, RunSurvivesAControllerThatGoesAwayForAWhile) {
  control_.broken_watches = 2;
  EXPECT_EQ(run({"run", "quick"}), 0);
  EXPECT_THAT(err_, HasSubstr("trying again for 10 s"));
}

TEST_F(Commands, RunEndsAsUnreachableWhenTheControllerStaysAway) {
  control_.broken_watches = 1000;
  reconnect_seconds_ = 0;
  EXPECT_EQ(run({"run", "quick"}, Format::kJson), kExitInvalid);
  EXPECT_THAT(err_,
              HasSubstr("the run may go on, see: railgauge --controller unix:/test runs show"));
  EXPECT_THAT(out_, HasSubstr("\"code\": \"unavailable\""));
}

TEST_F(Commands, WaitingEndsAfterTheGivenTimeAndTheRunGoesOn) {
  control_.endless = true;
  EXPECT_EQ(run({"runs", "wait", kSampleRun, "--wait", "200ms"}), kExitInvalid);
  EXPECT_THAT(err_,
              HasSubstr("it continues; cancel it with: railgauge --controller unix:/test runs "
                        "cancel " +
                        std::string(kSampleRun)));
  EXPECT_EQ(control_.cancels(), 0);
}

TEST_F(Commands, AnUnknownNameIsAnsweredWithTheClosestOne) {
  std::string wrong = kSampleRun;
  wrong.back() = wrong.back() == 'x' ? 'y' : 'x';
  EXPECT_EQ(run({"runs", "wait", wrong}), kExitUsage);
  EXPECT_THAT(
      err_, HasSubstr("there is no such run; did you mean \"" + std::string(kSampleRun) + "\"?\n"));
}

TEST_F(Commands, WaitingForAnUnknownRunIsWrongUse) {
  EXPECT_EQ(run({"runs", "wait", "r-none"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("there is no such run"));
}

TEST_F(Commands, TheFirstInterruptDetachesAfterTellingHowToCancel) {
  control_.endless = true;
  std::jthread user([&] {
    EXPECT_TRUE(control_.wait_until_watched(10));
    interrupts_.press();
  });
  EXPECT_EQ(run({"run", "quick"}), kExitInterrupted);
  EXPECT_THAT(err_, HasSubstr("cancel it with: railgauge --controller unix:/test runs cancel " +
                              std::string(kSampleRun)));
  EXPECT_THAT(err_, HasSubstr("detached from run"));
  EXPECT_EQ(control_.cancels(), 0);
}

TEST_F(Commands, TheSecondInterruptCancelsAndWaitsUntilTheRunHasEnded) {
  control_.endless = true;
  linger_seconds_ = 10;
  std::jthread user([&] {
    EXPECT_TRUE(control_.wait_until_watched(10));
    interrupts_.press();
    interrupts_.press();
  });
  EXPECT_EQ(run({"run", "quick"}), kExitInterrupted);
  EXPECT_EQ(control_.cancels(), 1);
  EXPECT_THAT(out_, HasSubstr(std::string(kSampleRun) + " cancelled"));
}

TEST_F(Commands, ACancelThatIsNotVerifiedIsNoSuccess) {
  control_.endless = true;
  control_.deaf_to_cancel = true;
  cancel_seconds_ = 0.2;
  EXPECT_EQ(run({"runs", "cancel", kSampleRun}), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("not verified within"));
}

TEST_F(Commands, AnInterruptBeforeTheStartRunsNothing) {
  interrupts_.press();
  EXPECT_EQ(run({"run", "quick"}), kExitInterrupted);
  EXPECT_EQ(control_.starts(), 0);
}

}  // namespace
}  // namespace railgauge::cli
