// Runs over a real store, night after night. Points are synthetic.
#include "controller/findings/run_judge.h"

#include <atomic>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/findings/finding_service.h"
#include "controller/plan/suite/suite.h"
#include "controller/store/nodes/node_words.h"
#include "controller/store/testing/store_testing.h"
#include "controller/verdict/testing/simulate.h"

namespace railgauge {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class RunJudgement : public store::StoreTest {
 protected:
  // One night: a task of two launches for the pair n1, n2; judged.
  void night(double median, const std::string& trigger = "schedule",
             const std::string& who = "root", double twice = 0) {
    const std::string run_id = fmt::format("night{:03}", ++nights_);
    for (int node = 1; node <= 2; ++node) ASSERT_TRUE(store_->put_node(store::node_row(node)));
    store::RunRow run = store::run_row(run_id);
    run.created_at = 1.7e9 + 86'400 * nights_;
    run.trigger = trigger;
    run.requested_by = who;
    std::vector<store::TaskRow> tasks = store::pair_tasks(2);
    if (control_ > 0) {
      ASSERT_TRUE(store_->put_node(store::node_row(3)));
      ASSERT_TRUE(store_->put_node(store::node_row(4)));
      tasks.push_back(tasks.front());
      tasks.back().task_id = "c0001";
      for (int rank = 0; rank < 2; ++rank) {
        tasks.back().ranks[rank].node_id = fmt::format("id-{}", rank + 3);
        tasks.back().ranks[rank].node = fmt::format("n{}", rank + 3);
      }
    }
    if (twice > 0) {  // as much as the others
      tasks.push_back(tasks.back());
      tasks.back().task_id = "a0001";
    }
    ASSERT_TRUE(store_->create_run(run, tasks));
    for (const store::TaskRow& task : tasks) {
      store::At at{.run_id = run_id, .task_id = task.task_id};
      const bool is_control = task.task_id == "c0001";
      const double level = (is_control ? control_ : median) * (task.task_id == "a0001" ? twice : 1);
      Record point = store::point_record(at, 1, level * (1 + 0.003 * chance_.normal()));
      point.set_unix_time_seconds(1.7e9 + 86'400 * nights_ + clock_ahead_);
      point.mutable_point()->set_synthetic(true);
      ASSERT_TRUE(store::append(
          *store_, task.ranks[0].node_id,
          {store::started_record(at), std::move(point), store::final_record(at, 2, "passed")}));
      at.rank = 1;
      ASSERT_TRUE(store::append(*store_, task.ranks[1].node_id,
                                {store::started_record(at), store::final_record(at, 1, "passed")}));
    }
    ASSERT_TRUE(store_->update_run(
        {.run_id = run_id, .state = store::RunState::kEnded, .outcome = "passed"}));
    ASSERT_TRUE(store_->flush());
    const auto judged = judge_run(*store_, run_id, 2e9 + nights_);
    ASSERT_TRUE(judged) << judged.error().message;
    fresh_ = *judged;
  }
  std::string state() {
    const auto findings = store_->read(store::read_findings, {}, 10);
    if (!findings || findings->empty()) return "";
    return std::string(text_of(findings->front().state));
  }
  analysis::Chance chance_{9};
  // A step by `share` that is found and confirmed; the level since.
  double confirmed_step(double from, double share) {
    const double level = from * (1 + share);
    for (int i = 0; i < 14 && state() != "confirmed"; ++i) night(level);
    EXPECT_EQ(state(), "confirmed");
    return level;
  }
  // Pauses n1 during the next nights, and no longer.
  void pause_n1_for(int nights) {
    const auto at = [&](double night) { return 1.7e9 + 86'400 * (nights_ + night); };
    ASSERT_TRUE(store_->write(
        store::write_pauses, std::vector<std::string>{"n1"},
        store::PauseRow{
            .since = at(0.5), .until = at(nights + 0.5), .who = "ann", .reason = "DIMM"}));
    ASSERT_TRUE(store_->write(store::write_pauses_over, at(nights + 0.5)));
  }
  void settle(const std::string& action) {
    ASSERT_TRUE(store_->write(store::write_finding_step,
                              store_->read(store::read_findings, {}, 10)->front().finding_id,
                              {.at = 2e9, .who = "ada", .action = action}));
  }
  double control_ = 0;      // of the pair n3, n4; 0: it is not measured
  double clock_ahead_ = 0;  // of the nodes, seconds
  int nights_ = 0;
  std::vector<store::SeriesRow> fresh_;  // what the last night wants confirmed
};

// A run of a million series takes a minute.
TEST_F(RunJudgement, AControllerThatStopsReadsNoMoreSeries) {
  night(1500);
  std::atomic<bool> ends = true;
  const auto cut = judge_run(*store_, "night001", 2e9, {}, &ends);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Code::kCancelled);
  ends = false;
  EXPECT_TRUE(judge_run(*store_, "night001", 2e9, {}, &ends));
}

TEST_F(RunJudgement, NightsOfAPausedNodeOpenNoFinding) {
  for (int i = 0; i < 20; ++i) night(1500);
  pause_n1_for(10);
  for (int i = 0; i < 10; ++i) night(1650);
  EXPECT_EQ(state(), "");
  for (int i = 0; i < 5; ++i) night(1500);
  EXPECT_EQ(state(), "") << "nor are they the past of later nights";
}

TEST_F(RunJudgement, NightsOfAPausedNodeEndNoFinding) {
  for (int i = 0; i < 20; ++i) night(1500);
  confirmed_step(1500, 0.1);
  pause_n1_for(8);
  for (int i = 0; i < 8; ++i) night(1500);
  EXPECT_EQ(state(), "confirmed");
  for (int i = 0; i < 6; ++i) night(1500);
  EXPECT_EQ(state(), "fixed");
}

TEST_F(RunJudgement, AStepIsNewThenConfirmedThenFixed) {
  for (int i = 0; i < 20; ++i) night(1500);
  EXPECT_THAT(*store_->read(store::read_findings, {}, 10), IsEmpty());
  int until_new = 0;
  while (state().empty() && until_new < 6) {
    night(1650);
    ++until_new;
  }
  EXPECT_LE(until_new, 4);
  EXPECT_EQ(state(), "new") << "one run is not enough to wake anybody";
  ASSERT_THAT(fresh_, SizeIs(1));
  const auto again = confirming_run(fresh_, {"n1", "n2", "n3"});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_THAT(again->nodes, testing::ElementsAre("n1", "n2", "n3"));
  const auto suite = plan::read_suite(again->suite_text, "confirm", {});
  ASSERT_TRUE(suite.suite) << again->suite_text << plan::error_of(suite.problems).message;
  EXPECT_EQ(suite.suite->stages.at(0).repetitions, 3U);
  EXPECT_EQ(suite.suite->stages.at(0).parameters.at("sizes"), "8");
  night(1650);
  EXPECT_EQ(state(), "confirmed");
  EXPECT_THAT(fresh_, IsEmpty());
  const auto found = store_->read(store::read_findings, {}, 10);
  ASSERT_THAT(*found, SizeIs(1));
  EXPECT_NEAR(*found->front().worse, 0.1, 0.01);
  EXPECT_THAT(store_->read(store::read_finding, found->front().finding_id)->series, SizeIs(1));
  FindingService desk(*store_);
  const auto told = desk.get(found->front().finding_id, 2e9);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->good_at(), "2023-12-04T22:13:20.000Z") << "night 20";
  EXPECT_EQ(told->since(), "2023-12-05T22:13:20.000Z");
  EXPECT_GE(told->before_levels_size(), 20);
  EXPECT_THAT(told->causes(), IsEmpty());
  EXPECT_THAT(told->excluded(0), testing::HasSubstr("no part of the stack of n1, n2 changed"));
  EXPECT_THAT(told->next(), testing::Not(IsEmpty()));
  for (int i = 0; i < 5; ++i) night(1500);
  EXPECT_EQ(state(), "fixed");
}

// One that shows nothing is no second night that does, though the two before it still count.
TEST_F(RunJudgement, AConfirmingRunThatIsFineConfirmsNothing) {
  for (int i = 0; i < 20; ++i) night(1500);
  for (int i = 0; state().empty() && i < 6; ++i) night(1650);
  ASSERT_EQ(state(), "new");
  night(1500, "schedule", std::string(kRunJudgeWho));
  EXPECT_EQ(state(), "new");
  night(1650, "schedule", std::string(kRunJudgeWho));
  EXPECT_EQ(state(), "confirmed");
}

// A loss that is everywhere in it is that run's, and says nothing of the pair.
TEST_F(RunJudgement, AConfirmingRunInWhichAllIsSlowConfirmsNothing) {
  control_ = 1500;
  for (int i = 0; i < 20; ++i) night(1500);
  for (int i = 0; state().empty() && i < 6; ++i) night(1650);
  ASSERT_EQ(state(), "new");
  control_ = 1650;
  night(1650, "schedule", std::string(kRunJudgeWho));
  EXPECT_EQ(state(), "new");
  control_ = 1500;
  night(1650, "schedule", std::string(kRunJudgeWho));
  EXPECT_EQ(state(), "confirmed");
}

TEST_F(RunJudgement, WhatWasAcceptedOpensAgainWithTheNextStepOfTheSameSize) {
  for (int i = 0; i < 20; ++i) night(1500);
  double level = confirmed_step(1500, 0.04);
  settle("accept");
  for (int i = 0; i < 5; ++i) night(level);
  EXPECT_EQ(state(), "accepted") << "the same step";
  level *= 1.04;
  for (int i = 0; i < 14 && state() == "accepted"; ++i) night(level);
  EXPECT_EQ(state(), "reopened");
}

TEST_F(RunJudgement, AConfirmedLossThatGrowsSaysSo) {
  for (int i = 0; i < 20; ++i) night(1500);
  const double level = confirmed_step(1500, 0.04);
  const std::string id = store_->read(store::read_findings, {}, 10)->front().finding_id;
  EXPECT_NEAR(*store_->read(store::read_finding, id)->worse, 0.04, 0.01);
  for (int i = 0; i < 6; ++i) night(level * 1.3);
  const auto grown = store_->read(store::read_finding, id);
  EXPECT_EQ(grown->state, store::FindingState::kConfirmed);
  EXPECT_NEAR(*grown->worse, 1.04 * 1.3 - 1, 0.02) << "against what it was at first";
  EXPECT_EQ(grown->steps.back().action, "worse");
  EXPECT_THAT(grown->steps.back().text, testing::HasSubstr("worse than confirmed"));
}

TEST_F(RunJudgement, WhatWasRolledBackOpensWhenItIsSeenAgain) {
  for (int i = 0; i < 20; ++i) night(1500);
  const double level = confirmed_step(1500, 0.1);
  settle("roll_back");
  ASSERT_EQ(state(), "rolled_back");
  night(level);
  EXPECT_EQ(state(), "reopened");
}

TEST_F(RunJudgement, WhatSomebodyInvestigatesStaysSoUntilItGrowsOrEnds) {
  for (int i = 0; i < 20; ++i) night(1500);
  const double level = confirmed_step(1500, 0.04);
  settle("investigate");
  for (int i = 0; i < 3; ++i) night(level);
  EXPECT_EQ(state(), "investigating");
  for (int i = 0; i < 14 && state() == "investigating"; ++i) night(level * 1.3);
  EXPECT_EQ(state(), "reopened");
}

// By its clock those nights are the newest for years.
TEST_F(RunJudgement, ANodeWhoseClockWasAheadDecidesNothingLater) {
  for (int i = 0; i < 20; ++i) night(1500);
  clock_ahead_ = 3.5e8;
  confirmed_step(1500, 0.1);
  clock_ahead_ = 0;
  for (int i = 0; i < 5; ++i) night(1500);
  EXPECT_EQ(state(), "fixed");
}

TEST_F(RunJudgement, ARunThatIsJudgedAfterALaterOneSaysNothing) {
  for (int i = 0; i < 20; ++i) night(1500);
  confirmed_step(1500, 0.1);
  const int slow = nights_;
  for (int i = 0; i < 5; ++i) night(1500);
  ASSERT_EQ(state(), "fixed");
  ASSERT_TRUE(judge_run(*store_, fmt::format("night{:03}", slow), 2e9));
  EXPECT_EQ(state(), "fixed");
}

// Whatever was found is over some time; nobody has to close what went away.
TEST_F(RunJudgement, AGrownSpreadAndASlowModeEndWhenTheyAreGone) {
  night(1500);
  const auto points = store_->read(store::read_side_points, {"night001"}, {});
  ASSERT_TRUE(points);
  const std::int64_t series = points->front().series;
  for (const char* kind : {"variance", "mode_mix"}) {
    const bool spread = std::string(kind) == "variance";
    ASSERT_TRUE(store_->write(
        store::write_finding,
        {.finding_id = kind,
         .kind = kind,
         .severity = "warning",
         .series = {{.series = series, .before = spread ? 5 : 1500, .after = 1700}}}));
  }
  ASSERT_TRUE(store_->flush());
  for (int i = 0; i < 6; ++i) night(1500);
  EXPECT_EQ(store_->read(store::read_finding, "mode_mix")->state, store::FindingState::kNew);
  for (int i = 0; i < 6; ++i) night(1500);
  EXPECT_EQ(store_->read(store::read_finding, "mode_mix")->state, store::FindingState::kFixed);
  EXPECT_EQ(store_->read(store::read_finding, "variance")->state, store::FindingState::kFixed);
}

// Nights measure a slice of the pairs: what was not measured tonight is not mended by what was.
TEST_F(RunJudgement, AFindingIsNotOverWhileASeriesThatTonightDidNotMeasureIsAsBad) {
  control_ = 1500;
  night(1500);
  const auto points = store_->read(store::read_side_points, {"night001"}, {});
  ASSERT_TRUE(points);
  std::set<std::int64_t> ids;
  for (const store::SidePointRow& point : *points) ids.insert(point.series);
  ASSERT_THAT(ids, SizeIs(2));
  store::FindingRow finding{.finding_id = "both", .kind = "step", .severity = "warning"};
  for (const std::int64_t id : ids)
    finding.series.push_back({.series = id, .before = 1500, .after = 1650});
  ASSERT_TRUE(store_->write(store::write_finding, finding));
  ASSERT_TRUE(store_->flush());
  control_ = 1650;
  night(1500);
  control_ = 0;
  for (int i = 0; i < 4; ++i) night(1500);
  EXPECT_EQ(store_->read(store::read_finding, "both")->state, store::FindingState::kNew);
  control_ = 1500;
  for (int i = 0; i < 3; ++i) night(1500);
  EXPECT_EQ(store_->read(store::read_finding, "both")->state, store::FindingState::kFixed);
}

TEST_F(RunJudgement, WhatWasMeasuredTwiceTellsTheRateOfFalseAlarms) {
  FindingService desk(*store_);
  for (int i = 0; i < 20; ++i) night(1500);
  EXPECT_FALSE(desk.list({}, 2e9)->has_measured_twice());
  night(1500, "schedule", "root", 1.0);
  night(1500, "schedule", "root", 1.2);
  ASSERT_TRUE(judge_run(*store_, fmt::format("night{:03}", nights_), 2e9)) << "kept once";
  ASSERT_TRUE(store_->flush());
  const auto list = desk.list({}, 2e9);
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->measured_twice(), 2U);
  EXPECT_EQ(list->measured_twice_apart(), 1U);
}

TEST_F(RunJudgement, UpgradesAreNotJudgedAsNights) {
  for (int i = 0; i < 20; ++i) night(1500);
  for (int i = 0; i < 5; ++i) night(1650, "upgrade");
  EXPECT_THAT(*store_->read(store::read_findings, {}, 10), IsEmpty());
}

TEST_F(RunJudgement, AFewNightsSayNothing) {
  for (int i = 0; i < 5; ++i) night(i % 2 == 0 ? 1500 : 1800);
  EXPECT_THAT(*store_->read(store::read_findings, {}, 10), IsEmpty());
  EXPECT_EQ(judge_run(*store_, "r9", 2e9).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace railgauge
