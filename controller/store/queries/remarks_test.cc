// Preflights, findings, notes, and what is handed on with a run, a finding or a node.
#include "controller/store/queries/remarks.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::store {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

class Remarks : public StoreTest {
 protected:
  void SetUp() override {
    plan_run(*store_, "r1", 2);
    append_passed(*store_, {});
  }
  static FindingRow finding(const std::string& id) {
    return {.finding_id = id,
            .kind = "regression",
            .severity = "major",
            .run_id = "r1",
            .node_id = "id-1",
            .suspect = "n1/rxe0:1",
            .summary = "latency rose",
            .evidence = R"({"changes": [1]})",
            .opened_at = 1e9,
            .series = {{.series = 1, .before = 1500, .after = 1800}}};
  }
  // Every part of a bundle by its name.
  std::map<std::string, SqlTable> bundle(const std::string& subject) {
    std::map<std::string, SqlTable> tables;
    for (std::size_t part = 0;; ++part) {
      auto row = store_->read(read_bundle_part, subject, part);
      EXPECT_TRUE(row) << row.error().message;
      if (!row) return tables;
      kind_ = row->kind;
      tables[row->name] = std::move(row->table);
      if (row->last) return tables;
    }
  }
  static std::vector<std::string> column(const SqlTable& table, const std::string& name) {
    const auto at = std::ranges::find(table.columns, name) - table.columns.begin();
    std::vector<std::string> texts;
    for (const auto& row : table.rows) {
      const auto* text = std::get_if<std::string>(&row.at(static_cast<std::size_t>(at)));
      texts.push_back(text == nullptr ? "" : *text);
    }
    return texts;
  }
  std::string kind_;
};

TEST_F(Remarks, AJudgedRunCountsTheFindingsThatItShowedLast) {
  EXPECT_EQ(store_->run_summary("r1")->run.judged_at, 0);
  ASSERT_TRUE(store_->write(write_finding, finding("one")));
  ASSERT_TRUE(store_->write(write_finding, finding("two")));
  ASSERT_TRUE(store_->write(write_finding_step, "two", {.at = 2e9, .action = "confirm"}));
  ASSERT_TRUE(store_->write(write_judged, "r1", 2e9));
  RunRow run = store_->run_summary("r1")->run;
  EXPECT_EQ(run.judged_at, 2e9);
  EXPECT_EQ(run.findings_new, 1u);
  EXPECT_EQ(run.findings_confirmed, 1u);
  ASSERT_TRUE(store_->write(write_finding_step, "two", {.at = 2e9, .action = "resolve"}));
  ASSERT_TRUE(store_->write(write_judged, "r1", 3e9));
  run = store_->run_summary("r1")->run;
  EXPECT_EQ(run.judged_at, 2e9) << "the first time stays";
  EXPECT_EQ(run.findings_confirmed, 1u) << "what it confirmed it has confirmed";
}

TEST_F(Remarks, APreflightIsAsBadAsItsWorstCheckAndMissingDataIsNoPass) {
  PreflightRow preflight{.node_id = "id-1",
                         .run_id = "r1",
                         .at = 1e9,
                         .checks = {{.check_id = "acs_on_path", .state = "waived"},
                                    {.check_id = "peermem", .state = "unknown", .why = "no right"},
                                    {.check_id = "mtu", .state = "warn"}}};
  ASSERT_TRUE(store_->write(write_preflight, preflight));
  auto read = store_->read(read_preflight, "id-1", "r1");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->state, "unknown");
  ASSERT_EQ(read->checks.size(), 3u);
  EXPECT_EQ(read->checks[1].why, "no right");
  preflight.checks.resize(1);
  ASSERT_TRUE(store_->write(write_preflight, preflight));  // of the same time: replaced
  read = store_->read(read_preflight, "id-1", "");
  EXPECT_EQ(read->state, "waived");
  EXPECT_EQ(read->checks.size(), 1u);
  preflight.at = 2e9;
  preflight.checks.clear();
  ASSERT_TRUE(store_->write(write_preflight, preflight));
  EXPECT_EQ(store_->read(read_preflight, "id-1", "")->state, "unknown") << "nothing was checked";
  preflight.checks = {{.check_id = "mtu", .state = "good"}};
  EXPECT_EQ(store_->write(write_preflight, preflight).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store_->write(write_preflight, {.node_id = "id-9"}).error().code, Code::kNotFound);
  EXPECT_EQ(store_->read(read_preflight, "id-2", "").error().code, Code::kNotFound);
}

TEST_F(Remarks, AFindingGoesThroughItsStatesAndEveryStepIsKept) {
  ASSERT_TRUE(store_->write(write_finding, finding("f1")));
  EXPECT_EQ(store_->write(write_finding, finding("f1")).error().code, Code::kAlreadyExists);
  ASSERT_TRUE(store_->write(write_finding_step, "f1", {.at = 2e9, .who = "ada", .action = "ack"}));
  EXPECT_EQ(store_->write(write_finding_step, "f1", {.action = "confirm"}).error().code,
            Code::kFailedPrecondition);
  EXPECT_EQ(store_->write(write_finding_step, "f1", {.action = "forget"}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(store_->write(write_finding_step, "f9", {.action = "ack"}).error().code,
            Code::kNotFound);
  ASSERT_TRUE(
      store_->write(write_finding_step, "f1", {.at = 3e9, .action = "comment", .text = "cable?"}));
  ASSERT_TRUE(store_->write(write_finding_step, "f1", {.at = 4e9, .action = "resolve"}));
  ASSERT_TRUE(store_->write(write_finding_step, "f1", {.at = 5e9, .action = "reopen"}));
  const auto read = store_->read(read_finding, "f1");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->state, FindingState::kReopened);
  EXPECT_EQ(read->changed_at, 5e9);
  EXPECT_EQ(read->run_id, "r1");
  EXPECT_EQ(read->node_id, "id-1");
  ASSERT_EQ(read->series.size(), 1u);
  EXPECT_EQ(read->series[0].after, 1800);
  std::vector<std::string> actions;
  for (const FindingStepRow& step : read->steps) actions.push_back(step.action);
  EXPECT_THAT(actions, ElementsAre("opened", "ack", "comment", "resolve", "reopen"));
  EXPECT_EQ(store_->read(read_findings, FindingState::kReopened, 10)->size(), 1u);
  EXPECT_EQ(store_->read(read_findings, FindingState::kFixed, 10)->size(), 0u);
}

// Lists of nodes are read again after each commit that may be about nodes.
TEST_F(Remarks, FindingsAreNoChangeOfTheNodes) {
  const std::uint64_t before = store_->node_changes();
  ASSERT_TRUE(store_->write(write_finding, finding("f1")));
  ASSERT_TRUE(store_->write(write_finding_step, "f1", {.at = 2e9, .action = "ack"}));
  ASSERT_TRUE(store_->write(write_preflight, {.node_id = "id-1"}));
  EXPECT_EQ(store_->node_changes(), before);
  ASSERT_TRUE(store_->put_node(node_row(3)));
  ASSERT_TRUE(store_->flush());
  EXPECT_GT(store_->node_changes(), before);
}

class Triage : public Remarks {
 protected:
  void SetUp() override {
    Remarks::SetUp();
    ASSERT_TRUE(store_->write(write_finding, finding("f1")));
  }
  Status step(const std::string& action, const std::string& text = "",
              const std::string& who = "ada", const std::string& id = "f1") {
    return store_->write(write_finding_step, id,
                         {.at = at_ += 1, .who = who, .action = action, .text = text});
  }
  FindingRow read(const std::string& id = "f1") {
    const auto row = store_->read(read_finding, id);
    EXPECT_TRUE(row) << row.error().message;
    return row.value_or(FindingRow());
  }
  double at_ = 2e9;
};

TEST_F(Triage, APersonInvestigatesRollsBackAndNamesACause) {
  ASSERT_TRUE(step("investigate"));
  EXPECT_EQ(read().state, FindingState::kInvestigating);
  EXPECT_EQ(step("confirm", "", "judge").error().code, Code::kFailedPrecondition);
  ASSERT_TRUE(step("downstream", "switch firmware"));
  EXPECT_EQ(read().state, FindingState::kDownstream);
  EXPECT_EQ(read().caused_by, "switch firmware");
  EXPECT_FALSE(opens_when_seen(read()));
  ASSERT_TRUE(step("roll_back"));
  EXPECT_EQ(read().state, FindingState::kRolledBack);
  EXPECT_EQ(read().caused_by, "") << "it is no effect any more";
  EXPECT_TRUE(opens_when_seen(read()));
  EXPECT_EQ(step("ack").error().code, Code::kFailedPrecondition) << "it is over";
  ASSERT_TRUE(step("reopen"));
  EXPECT_EQ(read().state, FindingState::kReopened);
}

TEST_F(Triage, AnEffectOpensOnceItsCauseHasEnded) {
  ASSERT_TRUE(store_->write(write_finding, finding("cause")));
  ASSERT_TRUE(step("downstream", "cause"));
  EXPECT_FALSE(read().is_cause_over);
  ASSERT_TRUE(step("resolve", "", "ada", "cause"));
  EXPECT_TRUE(read().is_cause_over);
  EXPECT_TRUE(opens_when_seen(read()));
  EXPECT_EQ(store_->read(read_findings, FindingState::kDownstream, 10)->front().caused_by, "cause");
}

TEST_F(Triage, NothingIsItsOwnCauseOverOthersNeither) {
  ASSERT_TRUE(store_->write(write_finding, finding("f2")));
  EXPECT_THAT(step("downstream", "f1").error().message, HasSubstr("its own cause"));
  ASSERT_TRUE(step("downstream", "f2"));
  EXPECT_EQ(step("downstream", "f1", "ada", "f2").error().code, Code::kInvalidArgument);
  EXPECT_EQ(read("f2").state, FindingState::kNew);
  ASSERT_TRUE(step("reset"));
  EXPECT_TRUE(step("downstream", "f1", "ada", "f2")) << "f1 is no effect any more";
}

TEST_F(Triage, AResetUndoesWhatAPersonDidAndNothingElse) {
  EXPECT_EQ(step("reset").error().code, Code::kFailedPrecondition) << "nobody did anything";
  ASSERT_TRUE(step("dismiss"));
  ASSERT_TRUE(step("reset"));
  EXPECT_EQ(read().state, FindingState::kNew);
  ASSERT_TRUE(step("confirm", "run r1", "judge"));
  for (const char* action : {"ack", "investigate", "accept", "resolve", "roll_back", "dismiss"}) {
    ASSERT_TRUE(step(action)) << action;
    ASSERT_TRUE(step("reset", "too early")) << action;
    EXPECT_EQ(read().state, FindingState::kConfirmed) << action;
  }
  EXPECT_EQ(read().steps.back().text, "too early");
  ASSERT_TRUE(step("resolve", "as before again", "judge"));
  EXPECT_THAT(step("reset").error().message, HasSubstr("a run made it fixed, no person"));
}

TEST_F(Triage, AResetTakesTheAcceptedLevelBack) {
  ASSERT_TRUE(step("accept"));
  EXPECT_EQ(store_->read(read_baselines, "accepted")->size(), 1U);
  ASSERT_TRUE(step("reset"));
  EXPECT_EQ(store_->read(read_baselines, "accepted")->size(), 0U);
}

TEST_F(Triage, ATagIsThereUntilItIsTakenAway) {
  for (const char* tag : {"rack7", "cable", "rack7"}) ASSERT_TRUE(step("tag", tag));
  EXPECT_THAT(read().tags, ElementsAre("cable", "rack7"));
  ASSERT_TRUE(step("untag", "cable"));
  EXPECT_THAT(read().tags, ElementsAre("rack7"));
  ASSERT_TRUE(step("tag", "cable"));
  EXPECT_THAT(store_->read(read_findings, {}, 10)->front().tags, ElementsAre("cable", "rack7"));
  EXPECT_FALSE(read().is_measured_again);
  ASSERT_TRUE(step("rerun", "r1"));
  EXPECT_TRUE(read().is_measured_again);
}

TEST_F(Remarks, AFindingThatRefersToNothingLeavesNothingBehind) {
  FindingRow wrong = finding("f1");
  wrong.series.push_back({.series = 99});
  EXPECT_EQ(store_->write(write_finding, wrong).error().code, Code::kNotFound);
  wrong = finding("f1");
  wrong.run_id = "r9";
  EXPECT_EQ(store_->write(write_finding, wrong).error().code, Code::kNotFound);
  wrong = finding("f1");
  wrong.evidence = "{";
  EXPECT_EQ(store_->write(write_finding, wrong).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store_->read(read_findings, {}, 10)->size(), 0u);
  EXPECT_TRUE(store_->write(write_finding, finding("f1")));
}

TEST_F(Remarks, NotesStayWithTheirSubject) {
  ASSERT_TRUE(store_->write(
      write_operator_note,
      {.at = 1e9, .who = "ada", .subject_kind = "node", .subject = "n1", .text = "new cable"}));
  ASSERT_TRUE(
      store_->write(write_operator_note, {.subject_kind = "fabric", .text = "switch upgrade"}));
  EXPECT_EQ(store_->read(read_operator_notes, "node", "n1")->at(0).text, "new cable");
  EXPECT_EQ(store_->read(read_operator_notes, "node", "n2")->size(), 0u);
  EXPECT_EQ(store_->write(write_operator_note, {.subject_kind = "rack", .text = "x"}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(store_->write(write_operator_note, {.subject_kind = "run"}).error().code,
            Code::kInvalidArgument);
}

TEST_F(Remarks, ABundleOfARunHasItsTablesAndNoOthers) {
  ASSERT_TRUE(store_->create_run(run_row("r2"), pair_tasks(1)));
  ASSERT_TRUE(store_->write(write_finding, finding("f1")));
  const auto tables = bundle("r1");
  EXPECT_EQ(kind_, "run");
  EXPECT_THAT(column(tables.at("runs"), "run_id"), ElementsAre("r1"));
  EXPECT_THAT(column(tables.at("suites"), "suite_text"), ElementsAre("version: 1\n"));
  EXPECT_THAT(column(tables.at("tasks"), "task_id"), ElementsAre("t0001", "t0002"));
  EXPECT_THAT(column(tables.at("ranks"), "node"), ElementsAre("n1", "n2"));
  EXPECT_THAT(column(tables.at("ranks"), "facts").at(0), HasSubstr("host, RC"));
  EXPECT_THAT(column(tables.at("nodes"), "name"), ElementsAre("n1", "n2"));
  EXPECT_THAT(column(tables.at("endpoints"), "device"), ElementsAre("rxe0", "rxe0"));
  EXPECT_THAT(column(tables.at("stacks"), "versions").at(0), HasSubstr("6.1.0"));
  EXPECT_THAT(column(tables.at("finding_steps"), "action"), ElementsAre("opened"));
  EXPECT_THAT(column(tables.at("known_names"), "name"), Contains("n2"));
}

// The names that --redact needs beside the tables: who cancelled a run is named in its reason.
TEST_F(Remarks, ABundleKnowsThePeopleOfOtherRunsAndThoseWhoCancelled) {
  RunRow other = run_row("r2");
  other.requested_by = "ada";
  ASSERT_TRUE(store_->create_run(other, pair_tasks(1)));
  RunUpdate cancelled{
      .run_id = "r2", .state = RunState::kEnded, .outcome = "cancelled", .ended_at = 2e9};
  cancelled.reason = "cancelled by Grace Hopper";
  cancelled.cancelled_by = "Grace Hopper";
  ASSERT_TRUE(store_->update_run(cancelled));
  ASSERT_TRUE(store_->write(write_operator_note,
                            {.who = "joan", .subject_kind = "node", .subject = "n2", .text = "x"}));
  ASSERT_TRUE(store_->flush());
  const auto tables = bundle("r1");
  EXPECT_THAT(column(tables.at("known_names"), "person"),
              IsSupersetOf({"ada", "Grace Hopper", "joan"}));
}

TEST_F(Remarks, ABundleTellsWhatAStackChangedAndOutliersByTheirNames) {
  NodeRow upgraded = node_row(1);
  upgraded.facts = {{"linux_kernel", "6.5.0"}, {"nccl", "2.27"}};
  ASSERT_TRUE(store_->put_node(upgraded));
  ASSERT_TRUE(store_->flush());
  PairMatrixRow matrix{.run_id = "r1", .kernel = "k", .metric = "m", .meaning = "x", .unit = "ns"};
  matrix.endpoints = {"n1/rxe0:1", "n2/rxe0:1"};
  matrix.values = {std::nanf(""), 1, 2, std::nanf("")};
  matrix.outliers = {{.from = 1, .to = 0, .value = 2, .expected = 1}};
  ASSERT_TRUE(store_->put_pair_matrix(matrix));
  const auto tables = bundle("r1");
  const SqlTable& changes = tables.at("stack_changes");
  EXPECT_THAT(column(changes, "key"), ElementsAre("linux_kernel", "nccl"));
  EXPECT_THAT(column(changes, "before"), ElementsAre("6.1.0", ""));
  EXPECT_THAT(column(changes, "after"), ElementsAre("6.5.0", "2.27"));
  EXPECT_THAT(column(tables.at("pair_outliers"), "from_endpoint"), ElementsAre("n2/rxe0:1"));
  EXPECT_THAT(column(tables.at("pair_outliers"), "to_endpoint"), ElementsAre("n1/rxe0:1"));
}

TEST_F(Remarks, ABundleOfANodeOrAFindingHasItsNodesTasksAlone) {
  std::vector<TaskRow> tasks = pair_tasks(1);
  tasks[0].ranks = {{.node_id = "id-2", .node = "n2", .endpoint = "rxe0:1"}};
  ASSERT_TRUE(store_->create_run(run_row("r2"), tasks));
  ASSERT_TRUE(store_->write(write_finding, finding("f1")));
  ASSERT_TRUE(store_->write(write_finding, finding("f2")));
  const auto of_node = bundle("n1");
  EXPECT_EQ(kind_, "node");
  EXPECT_THAT(column(of_node.at("tasks"), "run_id"), ElementsAre("r1", "r1"));
  EXPECT_THAT(column(of_node.at("findings"), "finding_id"), ElementsAre("f1", "f2"));
  const auto of_finding = bundle("f2");
  EXPECT_EQ(kind_, "finding");
  EXPECT_THAT(column(of_finding.at("findings"), "finding_id"), ElementsAre("f2"));
  EXPECT_THAT(column(of_finding.at("nodes"), "name"), ElementsAre("n1"));
  EXPECT_EQ(store_->read(read_bundle_part, "nowhere", 0).error().code, Code::kNotFound);
  EXPECT_EQ(store_->read(read_bundle_part, "r1", 99).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace railgauge::store
