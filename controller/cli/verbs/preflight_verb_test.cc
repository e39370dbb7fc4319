// `railgauge preflight` against the fake controller: exit codes, and what each flag shows.
#include <gmock/gmock.h>

#include "controller/cli/testing/commands_testing.h"
#include "controller/cli/testing/samples.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(Commands, PreflightEndsWithOneWhenACheckFailed) {
  EXPECT_EQ(run({"preflight"}), kExitFailed) << err_;
  EXPECT_THAT(out_, HasSubstr("setpci -s 0000:17:00.0"));
}

TEST_F(Commands, PreflightSendsTheNodesAndWhatIsRequired) {
  run({"preflight", "n1", "n2", "--require", "acs,mtu", "--probe"});
  EXPECT_EQ(control_.last_preflight().node_set(), "n1,n2");
  EXPECT_EQ(control_.last_preflight().require_size(), 2);
  EXPECT_TRUE(control_.last_preflight().probe());
}

TEST_F(Commands, PreflightsUnknownCountsWhereItIsAskedFor) {
  control_.preflight.mutable_checks(0)->set_state("pass");
  EXPECT_EQ(run({"preflight"}), kExitPassed);
  EXPECT_EQ(run({"preflight", "--require", "all"}), kExitInconclusive);
  EXPECT_EQ(run({"preflight", "--require", "mtu"}), kExitInconclusive);
  EXPECT_EQ(run({"preflight", "--require", "acs"}), kExitPassed);
}

TEST_F(Commands, PreflightOfANodeThatDidNotAnswerIsInvalid) {
  control_.preflight.mutable_checks(0)->set_state("pass");
  auto& silent = *control_.preflight.add_nodes();
  silent.set_node("n9");
  silent.set_state("error");
  silent.set_error("it is not attached");
  EXPECT_EQ(run({"preflight"}), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("n9: it is not attached"));
}

TEST_F(Commands, PreflightRefusesACheckThatIsNone) {
  EXPECT_EQ(run({"preflight", "--explain", "acz"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("did you mean \"acs\""));
  EXPECT_EQ(run({"preflight", "--explain", "elephant"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("there is no check \"elephant\"; there are acs"));
  // Each node answers to an id that it does not know.
  auto& unknown = *control_.preflight.add_checks();
  unknown.set_node("n1");
  unknown.set_id("acss");
  unknown.set_state("unknown");
  EXPECT_EQ(run({"preflight", "--require", "acss"}), kExitUsage);
  EXPECT_THAT(err_, testing::EndsWith("there is no check \"acss\"; did you mean \"acs\"?\n"));
}

TEST_F(Commands, PreflightLocalTakesNoNode) {
  EXPECT_EQ(run({"preflight", "n1", "--local"}), kExitUsage);
}

TEST_F(Commands, PreflightShowsWhatPassedOnlyWhenAsked) {
  run({"preflight"});
  EXPECT_THAT(out_, Not(HasSubstr("550.54.15")));
  run({"preflight", "--passed"});
  EXPECT_THAT(out_, HasSubstr("550.54.15"));
}

TEST_F(Commands, PreflightSummaryHasALineAPair) {
  run({"preflight", "--summary"});
  EXPECT_THAT(out_, HasSubstr("GPUDirect: yes, by dma-buf"));
  EXPECT_THAT(out_, HasSubstr("GPUDirect: no, because nvidia-peermem is not loaded, do: modprobe"));
}

}  // namespace
}  // namespace railgauge::cli
