// The text of findings and its verbs for answers of a judge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A slow part in that state.
api::Finding slow_part(const std::string& id, const std::string& state) {
  api::Finding finding;
  finding.set_finding_id(id);
  finding.set_kind("part");
  finding.set_state(state);
  finding.set_summary("n1 rail 3, sending: 10 % slower");
  return finding;
}

class FindingsVerb : public Commands {};

TEST_F(FindingsVerb, APartThatOneNightAloneShowsIsACandidateAndNoOpenFinding) {
  judge_.findings.clear_findings();
  *judge_.findings.add_findings() = slow_part("part-n1-rail-3", "new");
  EXPECT_EQ(run({"findings"}), kExitPassed) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("new, a candidate"), HasSubstr("it ends by itself unless")));
  EXPECT_EQ(run({"findings"}, Format::kJson), kExitPassed) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("\"state\": \"new\""), Not(HasSubstr("candidate"))));
  *judge_.findings.mutable_findings(0) = slow_part("part-n1-rail-3", "confirmed");
  EXPECT_EQ(run({"findings"}), kExitPassed) << err_;
  EXPECT_THAT(out_, Not(HasSubstr("candidate"))) << "a proof or a person ends it";
}

TEST_F(FindingsVerb, AnOwnerIsAssignedAndABeginIsMovedByFigures) {
  EXPECT_EQ(run({"findings", "assign", "f1", "--to", "ada"}), kExitPassed) << err_;
  EXPECT_EQ(judge_.last_step().action(), "assign");
  EXPECT_EQ(judge_.last_step().text(), "ada");
  EXPECT_EQ(run({"findings", "nudge", "f1", "--earlier", "2"}), kExitPassed) << err_;
  EXPECT_EQ(judge_.last_step().action(), "nudge");
  EXPECT_EQ(judge_.last_step().figures(), -2);
  // The second one of two who read the same begin is refused.
  EXPECT_EQ(judge_.last_step().since_seen(), "2026-11-19T02:10:00Z");
  EXPECT_EQ(run({"findings", "nudge", "f1", "--later", "1"}), kExitPassed) << err_;
  EXPECT_EQ(judge_.last_step().figures(), 1);
  EXPECT_EQ(run({"findings", "nudge", "f1"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--earlier N or --later N is needed"));
}

TEST_F(FindingsVerb, EachStateOfTriageIsOneStepWithItsText) {
  struct Use {
    std::vector<std::string> words;
    std::string action;
    std::string text;
  };
  const std::vector<Use> all{
      {{"findings", "investigate", "f1", "--note", "ada looks"}, "investigate", "ada looks"},
      {{"findings", "downstream", "f1", "--of", "part-n1"}, "downstream", "part-n1"},
      {{"findings", "resolve", "f1", "--rolled-back"}, "roll_back", ""},
      {{"findings", "reset", "f1"}, "reset", ""},
      {{"findings", "note", "f1", "--note", "cable ordered"}, "comment", "cable ordered"},
      {{"findings", "tag", "f1", "--add", "cable"}, "tag", "cable"},
      {{"findings", "tag", "f1", "--remove", "cable"}, "untag", "cable"}};
  for (const Use& use : all) {
    EXPECT_EQ(run(use.words), kExitPassed) << err_;
    EXPECT_EQ(judge_.last_step().action(), use.action);
    EXPECT_EQ(judge_.last_step().text(), use.text) << use.action;
  }
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"findings", "downstream", "f1"},
        {"findings", "note", "f1"},
        {"findings", "tag", "f1"},
        {"findings", "tag", "f1", "--add", "a", "--remove", "b"},
        {"findings", "resolve", "f1", "--false", "--rolled-back"}})
    EXPECT_EQ(run(wrong), kExitUsage) << out_;
}

TEST_F(FindingsVerb, ARerunIsBesideTheFindingWithItsState) {
  EXPECT_EQ(run({"findings", "rerun", "f1"}), kExitPassed) << err_;
  EXPECT_THAT(out_, AllOf(HasSubstr("measured again"), HasSubstr("rerun"), HasSubstr("running")));
  EXPECT_EQ(run({"findings", "rerun", "f1", "--control"}), kExitPassed) << err_;
  EXPECT_THAT(out_, HasSubstr("control"));
}

TEST_F(FindingsVerb, ThePageHasNoiseConfidenceRangeAndTags) {
  api::Finding& finding = *judge_.findings.mutable_findings(0);
  finding.set_noise("modal");
  finding.set_confidence_percent(99.8);
  finding.set_begin_from("2026-11-18T02:10:00Z");
  finding.set_begin_until("2026-11-20T02:10:00Z");
  finding.add_tags("cable");
  finding.add_tags("rack7");
  finding.set_caused_by("part-n1");
  EXPECT_EQ(run({"findings", "show", "f1"}), kExitPassed) << err_;
  EXPECT_THAT(
      out_, AllOf(HasSubstr("modal"), HasSubstr("99.8"), HasSubstr("cable rack7"),
                  HasSubstr("2026-11-18T02:10:00Z to 2026-11-20T02:10:00Z"), HasSubstr("part-n1")));
}

}  // namespace
}  // namespace railgauge::cli
