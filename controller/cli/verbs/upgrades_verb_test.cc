// The gate's way through waiting, extending and giving up, against a judge with fixed answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class Gate : public Commands {
 protected:
  // The sample verdict, inconclusive; so many more runs would settle it.
  api::Upgrade inconclusive(std::uint32_t more_runs) {
    api::Upgrade upgrade = judge_.verdicts[0];
    upgrade.set_verdict("inconclusive");
    upgrade.clear_kind();
    for (api::JudgedMetric& metric : *upgrade.mutable_metrics()) {
      metric.set_verdict("inconclusive");
      metric.set_more_runs(more_runs);
    }
    return upgrade;
  }
  int gate(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"upgrades", "gate", "--nodes", "n1,n2"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

TEST_F(Gate, IsExtendedWhileMoreRunsMaySettleIt) {
  judge_.verdicts = {inconclusive(5), inconclusive(2), judge_.verdicts[0]};
  EXPECT_EQ(gate(), kExitFailed) << err_;
  EXPECT_EQ(judge_.gates(), 3);
  EXPECT_EQ(judge_.last_gate().continue_upgrade_id(), "ur-20261120-120000-1");
  EXPECT_THAT(err_, HasSubstr("measuring once more"));
}

// By the command that `upgrades show` names.
TEST_F(Gate, GoesOnWithAnUpgradeThatWasJudged) {
  EXPECT_EQ(run({"upgrades", "extend", "u7"}), kExitFailed) << err_;
  EXPECT_EQ(judge_.last_gate().continue_upgrade_id(), "u7");
  EXPECT_EQ(judge_.last_gate().node_set(), "");
}

TEST_F(Gate, IsNotExtendedWhereMoreRunsTellNothing) {
  judge_.verdicts = {inconclusive(0)};
  EXPECT_EQ(gate(), kExitInconclusive);
  EXPECT_EQ(judge_.gates(), 1);
  EXPECT_THAT(err_, Not(HasSubstr("once more")));
}

TEST_F(Gate, WhatWasNotMeasuredIsMeasuredOnceMoreAndNoOftener) {
  api::Upgrade holed = inconclusive(0);
  holed.mutable_metrics(0)->add_missing("n1/mlx5_0:1 with n2/mlx5_0:1");
  judge_.verdicts = {holed};
  EXPECT_EQ(gate(), kExitInconclusive);
  EXPECT_EQ(judge_.gates(), 2);
}

TEST_F(Gate, AnExtensionThatCannotStartLeavesTheVerdict) {
  judge_.verdicts = {inconclusive(5)};
  judge_.gate_failures = {Status(), fail(Code::kFailedPrecondition, "node n1 runs a job")};
  EXPECT_EQ(gate(), kExitInconclusive);
  EXPECT_THAT(err_, HasSubstr("not measured once more: node n1 runs a job"));
  EXPECT_THAT(out_, HasSubstr("inconclusive"));
}

TEST_F(Gate, WaitsForABusyControllerAndForTheNodes) {
  judge_.gate_failures = {fail(Code::kResourceExhausted, "the controller is busy")};
  judge_.gate_waits = {"node n1 is not attached"};
  EXPECT_EQ(gate({"--wait-nodes", "1h"}), kExitFailed) << err_;
  EXPECT_THAT(err_, HasSubstr("waiting: node n1 is not attached"));
  EXPECT_EQ(judge_.gates(), 3);
}

TEST_F(Gate, WaitsForItsTurnAsLongAsAllOfItMayTakeThoughNotForNodes) {
  judge_.waits_for_turn = true;
  judge_.gate_waits = {"the before side's run r1 has not ended"};
  EXPECT_EQ(gate(), kExitFailed) << err_;
  EXPECT_THAT(err_, HasSubstr("waiting: the before side's run r1 has not ended"));
  judge_.gate_waits = {"the before side's run r1 has not ended"};
  EXPECT_EQ(gate({"--time-limit", "1s"}), kExitInvalid);
  judge_.waits_for_turn = false;
  judge_.gate_waits = {"node n1 is not attached", "node n1 is not attached"};
  EXPECT_EQ(gate({"--wait-nodes", "1s"}), kExitInvalid) << "its own limit ends the wait for nodes";
}

TEST_F(Gate, AControllerThatWentAwayBeforeTheVerdictIsAskedAgain) {
  judge_.judge_losses = 1;
  EXPECT_EQ(gate(), kExitFailed) << err_;
  reconnect_seconds_ = 0;
  judge_.judge_losses = 1;
  EXPECT_EQ(gate(), kExitInvalid);
}

TEST_F(Gate, ShowEndsWithTheCodeOfTheVerdictWhereItIsAskedFor) {
  EXPECT_EQ(run({"upgrades", "show"}), kExitPassed);
  EXPECT_EQ(run({"upgrades", "show", "--exit-code"}), kExitFailed) << err_;
  judge_.verdicts = {inconclusive(0)};
  EXPECT_EQ(run({"upgrades", "show", "--exit-code"}), kExitInconclusive);
  judge_.verdicts[0].set_verdict("pass");
  EXPECT_EQ(run({"upgrades", "show", "--exit-code"}), kExitPassed);
  judge_.verdicts[0].set_verdict("invalid");
  EXPECT_EQ(run({"upgrades", "show", "--exit-code"}), kExitInvalid);
}

TEST_F(Gate, ShowWaitsForTheVerdictAndSaysThatThereIsNone) {
  EXPECT_EQ(run({"upgrades", "show", "u7"}), kExitPassed) << "nobody asked for the code";
  EXPECT_EQ(run({"upgrades", "show", "u7", "--exit-code"}), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("is prepared: it has no verdict yet"));
  EXPECT_EQ(run({"upgrades", "show", "u7", "--exit-code", "--wait", "1s"}), kExitInvalid);
  judge_.looks_until_judged = 1;
  EXPECT_EQ(run({"upgrades", "show", "u7", "--exit-code", "--wait", "1h"}), kExitFailed) << err_;
  EXPECT_THAT(err_, HasSubstr("waiting: upgrade ur-20261120-120000-1 is prepared"));
}

TEST_F(Gate, AProposalIsTheFirstRowOfTheUpgrades) {
  api::Upgrade& proposal = judge_.proposals.emplace_back();
  proposal.set_state("proposed");
  proposal.add_nodes("n7");
  EXPECT_EQ(run({"upgrades"}), kExitPassed) << err_;
  EXPECT_LT(out_.find("proposed"), out_.find("ur-20261120-120000-1"));
  EXPECT_EQ(run({"upgrades"}, Format::kJson), kExitPassed) << err_;
  EXPECT_GT(out_.rfind("proposed"), out_.rfind("ur-20261120-120000-1"));
}

TEST_F(Gate, DoesNotWaitUnlessItIsTold) {
  judge_.gate_waits = {"no before side"};
  EXPECT_EQ(gate(), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("no before side"));
}

TEST_F(Gate, MeasuresNoMoreWhenItsTimeIsOver) {
  judge_.verdicts = {inconclusive(5)};
  EXPECT_EQ(gate({"--time-limit", "0"}), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("the time is over; the controller cancels run r-20261120-120000-1"));
  EXPECT_EQ(judge_.gates(), 1);
}

// An empty word of a script must not let any stack pass.
TEST_F(Gate, AnExpectationThatIsNoneIsWrongUse) {
  for (const char* wrong : {"", "driver", "=580", "driver=", "driver=580,cuda"})
    EXPECT_EQ(gate({"--expect=" + std::string(wrong)}), kExitUsage) << wrong;
  EXPECT_EQ(judge_.gates(), 0);
  EXPECT_EQ(gate({"--expect", "driver=580.95,cuda=13.0"}), kExitFailed) << err_;
  EXPECT_EQ(judge_.last_gate().expect().at("driver"), "580.95");
  EXPECT_EQ(judge_.last_gate().expect().at("cuda"), "13.0");
}

TEST_F(Gate, TheShareThatAPassNeedsIsHandedOn) {
  EXPECT_EQ(gate({"--min-coverage", "95%", "--time-limit", "1h"}), kExitFailed);
  EXPECT_DOUBLE_EQ(judge_.last_gate().min_coverage(), 0.95);
  EXPECT_NEAR(judge_.last_gate().time_limit_seconds(), 3600, 60);
  EXPECT_FALSE(judge_.last_judged().has_min_coverage()) << "the stored terms decide";
  EXPECT_EQ(gate(), kExitFailed);
  EXPECT_FALSE(judge_.last_gate().has_min_coverage());
  EXPECT_FALSE(judge_.last_gate().has_time_limit_seconds());
  for (const char* wrong : {"0", "1.5", "200%", "much", "-1"})
    EXPECT_EQ(gate({"--min-coverage=" + std::string(wrong)}), kExitUsage) << wrong;
}

}  // namespace
}  // namespace railgauge::cli
