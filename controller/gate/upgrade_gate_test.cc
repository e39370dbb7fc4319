// Upgrades from the command line to the exit code: the whole controller, scripted agents over real
// gRPC, and the CLI's program. Points are synthetic: what a node "measures" is what its script
// says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/upgrade_gate.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_agent::Script;
using testing_agent::UpgradeGate;

TEST_F(UpgradeGate, PrepareSaysWhatWillBeSeenAndTakesLikeNodesAsControls) {
  prepare();
  EXPECT_THAT(said_, AllOf(HasSubstr("measures 2 nodes and 2 controls"), HasSubstr("n[3-4]"),
                           HasSubstr("smallest loss"), HasSubstr("will be called")));
  EXPECT_EQ(cli("upgrades"), 0);
  EXPECT_THAT(said_, HasSubstr("prepared"));
  EXPECT_EQ(cli("upgrades show --exit-code"), 4) << said_;
}

TEST_F(UpgradeGate, AnUpgradeThatCostsNothingPasses) {
  prepare();
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --expect kernel=6.5"), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("pass"), HasSubstr("synthetic")));
  EXPECT_EQ(cli("findings --format json"), 0);
  EXPECT_THAT(said_, HasSubstr("\"findings\": []"));
}

TEST_F(UpgradeGate, ALossIsExitCode1AndOneFindingThatNamesWhatChanged) {
  prepare();
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("regressed: performance"), HasSubstr("+33.33 %"),
                           HasSubstr("linux_kernel 6.1.0 -> 6.5.0"), HasSubstr("explains it")));
  EXPECT_EQ(cli("upgrades show"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("linux_kernel 6.1.0 -> 6.5.0"));
  EXPECT_EQ(cli("upgrades show --exit-code"), 1) << said_;
  EXPECT_EQ(cli("findings"), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("-performance"), HasSubstr("new"), HasSubstr("regression")));
  const std::string id = said_.substr(said_.find("\nu") + 1,
                                      said_.find("-performance") + 12 - (said_.find("\nu") + 1));
  EXPECT_EQ(cli("findings ack " + id + " --for 1h --note looking"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("acknowledged"));
  EXPECT_EQ(cli("findings accept " + id), 0) << said_;
  EXPECT_EQ(cli("baselines"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("accepted"));
  EXPECT_EQ(cli("findings resolve " + id), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("fixed"));
  EXPECT_EQ(cli("findings show nothing-of-that-name"), 2);
}

TEST_F(UpgradeGate, NodesThatDisagreeAreInconclusiveWithWhatWouldSettleIt) {
  prepare();
  boot("n1", "6.5.0", 1'650);
  boot("n2", "6.5.0", 1'350);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --on-inconclusive fail"), 3) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("inconclusive"), HasSubstr("would settle it")));
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --on-inconclusive extend"), 3) << said_;
  EXPECT_THAT(said_, testing::Not(HasSubstr("measuring once more"))) << "runs would not settle it";
}

// Nobody measures again by himself under policy propose: the command is where a person looks.
TEST_F(UpgradeGate, AFindingNamesTheCommandThatConfirmsItAndThatCommandDoes) {
  lose_by_upgrade();
  ASSERT_EQ(cli("findings show " + upgrade_ + "-performance"), 0) << said_;
  const std::string command = "upgrades extend " + upgrade_;
  EXPECT_THAT(said_, HasSubstr("railgauge " + command + ": one more run"));
  EXPECT_EQ(cli(command), 1) << said_;
  ASSERT_EQ(cli("findings show " + upgrade_ + "-performance"), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("confirmed"), testing::Not(HasSubstr("upgrades extend"))));
  EXPECT_EQ(cli("upgrades extend nothing-of-that-name"), 2) << said_;
}

TEST_F(UpgradeGate, RailgaugesOwnVersionIsNoUpgradeAndMakesNoSetMixed) {
  prepare();
  boot("n1", "6.1.0", 1'500, Script::kPass, true, "1.1");
  boot("n2", "6.1.0", 1'500, Script::kPass, true, "1.1");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 4);
  EXPECT_THAT(said_, HasSubstr("nothing changed but Railgauge itself (railgauge 1.0 -> 1.1)"));
  boot("n1", "6.5.0", 1'500, Script::kPass, true, "1.2");
  boot("n2", "6.5.0");
  for (const char* name : {"n3", "n4"}) boot(name, "6.1.0", 1'500, Script::kPass, true, "1.2");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("Railgauge itself changed"),
                           testing::Not(HasSubstr("not used as controls"))));
}

TEST_F(UpgradeGate, AFactThatIsLearntAfterwardsDoesNotHideTheStackOfBefore) {
  prepare();
  for (const char* name : {"n1", "n2", "n3", "n4"}) learn(name);
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("linux_kernel 6.1.0 -> 6.5.0"));
}

TEST_F(UpgradeGate, ARunThatCannotStartLeavesTheVerdictOfBefore) {
  prepare();
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  ASSERT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --suite nothing-of-that-name"), 2) << said_;
  EXPECT_EQ(cli("upgrades"), 0);
  EXPECT_THAT(said_, HasSubstr("regressed"));
}

TEST_F(UpgradeGate, WhatWorkedAndIsWaivedNowIsLostFunction) {
  prepare();
  boot("n1", "6.5.0", 1'500, Script::kWaive);
  boot("n2", "6.5.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("regressed: lost_function"), HasSubstr("passed before, now waived")));
}

TEST_F(UpgradeGate, APortThatIsNotThereAnyMoreIsLostFunction) {
  prepare();
  boot("n1", "6.5.0", 1'500, Script::kPass, false);
  boot("n2", "6.5.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("regressed: lost_function"), HasSubstr("now gone"),
                           HasSubstr("rdma_device present -> gone"),
                           HasSubstr("see railgauge preflight n1")));
}

TEST_F(UpgradeGate, WhatIsNoStatementIsExitCode4) {
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 4);
  EXPECT_THAT(said_, HasSubstr("no before side"));
  prepare();
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 4);
  EXPECT_THAT(said_, HasSubstr("nothing changed"));
  boot("n1", "6.5.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 4);
  EXPECT_THAT(said_, HasSubstr("the set is mixed: n1 changed linux_kernel -> 6.5.0 and n2 changed "
                               "nothing"));
  boot("n2", "6.4.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 4);
  EXPECT_THAT(said_, HasSubstr("the set is mixed"));
  boot("n2", "6.5.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --expect linux_kernel=6.6"), 4);
  EXPECT_THAT(said_, HasSubstr("linux_kernel is 6.5.0, expected 6.6"));
  agents_.erase("n2");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 4);
  EXPECT_THAT(said_, HasSubstr("n2"));
  EXPECT_EQ(cli("upgrades gate --nodes n1,n9"), 2) << "a name that is not there is wrong use";
  EXPECT_EQ(cli("upgrades gate"), 2);
  EXPECT_EQ(cli("upgrades gate --nodes n1 --expect nonsense"), 2);
}

TEST_F(UpgradeGate, AReinstalledNodeHasNoBeforeSideAndThatIsSaid) {
  prepare();
  agents_.erase("n1");
  ids_["n1"] = "id-reinstalled";
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 4) << said_;
  EXPECT_THAT(said_, HasSubstr("node n1 has another id"));
}

TEST_F(UpgradeGate, EarlierRunsAreABeforeSideAndThatIsSaid) {
  ASSERT_EQ(cli("run upgrade --nodes n1,n2,n3,n4"), 0) << said_;
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("earlier runs"), HasSubstr("not prepared")));
  for (const double median : {1'900, 1'500}) {
    EXPECT_EQ(cli("findings --format json"), 0);
    EXPECT_THAT(said_, HasSubstr("-performance"));
    for (const char* name : {"n1", "n2"}) boot(name, "6.5.0", median);
    EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), median > 1'500 ? 1 : 0) << said_;
  }
  EXPECT_EQ(cli("findings --format json"), 0);
  EXPECT_THAT(said_, HasSubstr("\"findings\": []")) << "the same upgrade, gated again";
}

TEST_F(UpgradeGate, APassOfTheNextUpgradeDoesNotEndWhatTheOneBeforeCost) {
  ASSERT_EQ(cli("run upgrade --nodes n1,n2,n3,n4"), 0) << said_;
  for (const char* name : {"n1", "n2"}) boot(name, "6.5.0", 2'000);
  ASSERT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  for (const char* name : {"n1", "n2"}) boot(name, "6.6.0", 2'000);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 0) << said_;
  EXPECT_EQ(cli("findings --format json"), 0);
  EXPECT_THAT(said_, HasSubstr("-performance"));
}

// The upgrade cost a third; one rollback gives all of it back, another does not.
TEST_F(UpgradeGate, ARollbackPassesOnlyWhereTheSameStackGivesWhatItGaveBefore) {
  ASSERT_EQ(cli("run upgrade --nodes n1,n2,n3,n4"), 0) << said_;
  for (const char* name : {"n1", "n2"}) boot(name, "6.5.0", 2'000);
  ASSERT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_, testing::Not(HasSubstr("against what the same stack gave before")));
  for (const char* name : {"n1", "n2"}) boot(name, "6.1.0", 1'500);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(testing::ContainsRegex("against what the same stack gave before\n *pass"),
                    testing::Not(HasSubstr("repeated look"))));
  EXPECT_EQ(cli("findings --format json"), 0);
  EXPECT_THAT(said_, HasSubstr("\"findings\": []")) << "what was undone costs nothing any more";
  for (const char* name : {"n1", "n2"}) boot(name, "6.1.0", 1'800);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << "better than what was left: " << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("regressed: performance"),
                    HasSubstr("against what the same stack gave until"), HasSubstr("20.00 % worse"),
                    HasSubstr("against the stack that the nodes left it is pass"),
                    HasSubstr("look at what is not software"), testing::Not(HasSubstr("undo "))));
  EXPECT_EQ(cli("upgrades show"), 0);
  EXPECT_THAT(said_, HasSubstr("regressed: performance")) << "as it was judged";
  EXPECT_EQ(cli("findings --format json"), 0);
  EXPECT_THAT(said_, HasSubstr("against what the same stack gave until"));
}

TEST_F(UpgradeGate, APreparedStackThatComesBackIsHeldAgainstItselfAndAPassEndsTheFinding) {
  prepare();
  for (const char* name : {"n1", "n2"}) boot(name, "6.5.0", 2'000);
  ASSERT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  for (const char* name : {"n1", "n2"}) boot(name, "6.1.0", 1'800);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("stack of the before side again"),
                    HasSubstr("look at what is not software"), testing::Not(HasSubstr("undo"))));
  for (const char* name : {"n1", "n2"}) boot(name, "6.1.0", 1'500);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 0) << said_;
  EXPECT_EQ(cli("findings --format json"), 0);
  EXPECT_THAT(said_, HasSubstr("\"findings\": []"));
}

// A seventh of the pairs a night is too few of each in few nights: so here half of them, twice.
TEST_F(UpgradeGate, NightsThatMeasuredMorePairsAndMetricsAreABeforeSide) {
  bench_.write("night.yaml",
               "version: 1\nmetadata: {name: night}\nstages:\n  - kernel: fake.lat\n    "
               "placement: {pairs: all}\n  - kernel: fake.group\n    placement: {group: all}\n");
  for (int night = 0; night < 2; ++night)
    ASSERT_EQ(cli("run night --nodes n1,n2,n3,n4"), 0) << said_;
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("pass"), HasSubstr("earlier runs"), HasSubstr("not prepared")));
}

// Three that were upgraded earlier are as many as are asked for, and say nothing of a common cause.
TEST_F(UpgradeGate, ControlsOfAnUpgradeWithEarlierRunsAreThoseThatDidNotChange) {
  for (const char* name : {"n5", "n6", "n7"}) boot(name, "6.1.0");
  ASSERT_EQ(cli("run upgrade --nodes n1,n2,n3,n4,n5,n6,n7"), 0) << said_;
  for (const char* name : {"n1", "n2", "n3", "n4"}) boot(name, "6.5.0", 2'000);
  for (const char* name : {"n5", "n6", "n7"}) boot(name, "6.1.0", 2'000);
  EXPECT_NE(cli("upgrades gate --nodes n1 --on-inconclusive fail"), 1)
      << "all are as slow, so it is not the upgrade: " << said_;
  ASSERT_EQ(cli("upgrades show -o json"), 0) << said_;
  for (const char* name : {"n5", "n6", "n7"})
    EXPECT_THAT(said_, HasSubstr(fmt::format("\"{}\"", name)));
}

}  // namespace
}  // namespace railgauge
