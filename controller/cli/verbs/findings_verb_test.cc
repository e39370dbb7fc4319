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

}  // namespace
}  // namespace railgauge::cli
