// Upgrades from the command line to the exit code: the whole controller, scripted agents over real
// gRPC, and the CLI's program. Points are synthetic: what a node "measures" is what its script
// says.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;

class UpgradeGate : public testing::Test {
 protected:
  void SetUp() override {
    bench_.write("upgrade.yaml",
                 "version: 1\nmetadata: {name: upgrade}\nstages:\n  - kernel: fake.lat\n    "
                 "placement: {pairs: ring}\n    repetitions: 5\n");
    bench_.start();
    for (const char* name : {"n1", "n2", "n3", "n4"}) boot(name, "6.1.0");
  }
  // The node is back with that kernel, whose figures are such.
  void boot(const std::string& name, const std::string& kernel, double median = 1'500,
            Script script = Script::kPass, bool has_nic = true,
            const std::string& railgauge = "1.0") {
    agents_.erase(name);
    auto options = bench_.agent(name, script);
    options.incarnation = name + kernel + std::to_string(++boots_);
    options.stack = {{"linux_kernel", kernel}, {"railgauge", railgauge}};
    if (learnt_.contains(name))
      options.stack["gpu_driver"] = "580.95";
    else
      options.stack["gpu_driver"] = "unknown";
    if (ids_.contains(name)) options.node_id = ids_[name];
    options.median = median;
    options.has_nic = has_nic;
    // A node of another id is refused for as long as the one before it may come back.
    bool is_in = false;
    for (int tries = 0; !is_in && tries < 100; ++tries) {
      if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      agents_[name] = std::make_unique<ScriptedAgent>(options);
      is_in = welcome(*agents_[name]);
    }
    ASSERT_TRUE(is_in);
  }
  // It can read its GPU driver's version from now on.
  void learn(const std::string& name) {
    learnt_.insert(name);
    boot(name, "6.1.0");
  }
  // The exit code; what was printed is in said_.
  int cli(const std::string& words) {
    const char* build = std::getenv("RAILGAUGE_BUILD_DIR");
    const std::string line =
        fmt::format("{}/bin/railgauge --controller {} {} 2>&1",
                    build == nullptr ? "build/dev" : build, bench_.target(), words);
    said_.clear();
    FILE* pipe = ::popen(line.c_str(), "r");
    std::array<char, 4096> chunk{};
    for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
      said_.append(chunk.data(), n);
    return WEXITSTATUS(::pclose(pipe));
  }
  void prepare() { ASSERT_EQ(cli("upgrades prepare --nodes n1,n2"), 0) << said_; }

  ServerBench bench_;
  std::map<std::string, std::unique_ptr<ScriptedAgent>> agents_;
  std::set<std::string> learnt_;
  std::map<std::string, std::string> ids_;  // where they are others than bench_.agent() gives
  std::string said_;
  int boots_ = 0;
};

TEST_F(UpgradeGate, PrepareSaysWhatWillBeSeenAndTakesLikeNodesAsControls) {
  prepare();
  EXPECT_THAT(said_, AllOf(HasSubstr("measures 2 nodes and 2 controls"), HasSubstr("n3 n4"),
                           HasSubstr("smallest loss"), HasSubstr("will be called")));
  EXPECT_EQ(cli("upgrades"), 0);
  EXPECT_THAT(said_, HasSubstr("prepared"));
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
  EXPECT_THAT(said_, AllOf(HasSubstr("regressed: lost_function"), HasSubstr("now gone")));
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
  ASSERT_EQ(cli("run upgrade n1,n2,n3,n4"), 0) << said_;
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("earlier runs"), HasSubstr("not prepared")));
}

// A seventh of the pairs a night is too few of each in few nights: so here half of them, twice.
TEST_F(UpgradeGate, NightsThatMeasuredMorePairsAndMetricsAreABeforeSide) {
  bench_.write("night.yaml",
               "version: 1\nmetadata: {name: night}\nstages:\n  - kernel: fake.lat\n    "
               "placement: {pairs: all}\n  - kernel: fake.group\n    placement: {group: all}\n");
  for (int night = 0; night < 2; ++night) ASSERT_EQ(cli("run night n1,n2,n3,n4"), 0) << said_;
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 0) << said_;
  EXPECT_THAT(said_,
              AllOf(HasSubstr("pass"), HasSubstr("earlier runs"), HasSubstr("not prepared")));
}

// Nobody gates: the controller sees to it, as its policy has it.
class UpgradePolicy : public UpgradeGate {
 protected:
  void SetUp() override {
    bench_.config_.upgrade_policy = policy_;
    bench_.config_.upgrade_window = window_;
    UpgradeGate::SetUp();
  }
  static double in_a_while() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
               .count() +
           kStableSeconds + 60;
  }
  std::string policy_ = "propose";
  std::string window_;
};

TEST_F(UpgradePolicy, ProposesOnceWhatChangedTogetherAndStayedSo) {
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  bench_.server_->see_to_upgrades(in_a_while() - kStableSeconds);
  const std::string events = "sql \"SELECT text FROM event WHERE kind='upgrade_proposed'\" -o csv";
  ASSERT_EQ(cli(events), 0) << said_;
  EXPECT_THAT(said_, testing::Not(HasSubstr("gate"))) << "it may still go on";
  for (int look = 0; look < 2; ++look) bench_.server_->see_to_upgrades(in_a_while());
  ASSERT_EQ(cli(events), 0) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("linux_kernel -> 6.5.0"),
                           HasSubstr("railgauge upgrades gate --nodes n1,n2 says")));
  EXPECT_EQ(said_.find("gate"), said_.rfind("gate")) << "once";
}

class UpgradeRunPolicy : public UpgradePolicy {
 protected:
  UpgradeRunPolicy() { policy_ = "run"; }
};

TEST_F(UpgradeRunPolicy, GatesWhatWasPreparedAndKeepsTheFinding) {
  prepare();
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  bench_.server_->see_to_upgrades(in_a_while());
  ASSERT_EQ(cli("runs -o csv --limit 1"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("policy"));
  ASSERT_EQ(cli("upgrades show -o json"), 0) << said_;
  const std::string key = "\"after_runs\": [";
  const std::size_t at = said_.find('"', said_.find(key) + key.size());
  const std::string run = said_.substr(at + 1, said_.find('"', at + 1) - at - 1);
  ASSERT_EQ(cli("runs wait " + run), 0) << said_;
  bench_.server_->see_to_upgrades(in_a_while());
  EXPECT_EQ(cli("upgrades"), 0);
  EXPECT_THAT(said_, HasSubstr("regressed"));
  EXPECT_EQ(cli("findings"), 0);
  EXPECT_THAT(said_, HasSubstr("-performance"));
  bench_.server_->see_to_upgrades(in_a_while());
  EXPECT_EQ(cli("upgrades -o csv"), 0);
  EXPECT_EQ(std::ranges::count(said_, '\n'), 2) << "it is handled: " << said_;
}

// A window that begins in four hours and lasts two.
class UpgradeWindow : public UpgradeRunPolicy {
 protected:
  UpgradeWindow() {
    const auto hour = static_cast<std::int64_t>(in_a_while() / 3600) % 24;
    window_ = fmt::format("{:02}:00-{:02}:00", (hour + 4) % 24, (hour + 6) % 24);
  }
};

TEST_F(UpgradeWindow, OutsideOfItIsProposedAndInsideItIsMeasured) {
  prepare();
  boot("n1", "6.5.0");
  boot("n2", "6.5.0");
  bench_.server_->see_to_upgrades(in_a_while());
  ASSERT_EQ(cli("runs -o csv --limit 1"), 0) << said_;
  EXPECT_THAT(said_, testing::Not(HasSubstr("policy")));
  ASSERT_EQ(cli("sql \"SELECT text FROM event WHERE kind='upgrade_proposed'\" -o csv"), 0);
  EXPECT_THAT(said_, HasSubstr("railgauge upgrades gate --nodes n1,n2"));
  bench_.server_->see_to_upgrades(in_a_while() + 5 * 3600);
  ASSERT_EQ(cli("runs -o csv --limit 1"), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("policy"));
}

}  // namespace
}  // namespace railgauge
