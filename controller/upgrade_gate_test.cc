// Upgrades from the command line to the exit code: the whole controller, scripted agents over real
// gRPC, and the CLI's program. Points are synthetic: what a node "measures" is what its script
// says.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>

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
            Script script = Script::kPass, bool has_nic = true) {
    agents_.erase(name);
    auto options = bench_.agent(name, script);
    options.incarnation = name + kernel + std::to_string(++boots_);
    options.stack = {{"linux_kernel", kernel}, {"railgauge", "1.0"}};
    options.median = median;
    options.has_nic = has_nic;
    agents_[name] = std::make_unique<ScriptedAgent>(options);
    ASSERT_TRUE(welcome(*agents_[name]));
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
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2 --on-inconclusive extend"), 3)
      << "it is measured again, not for ever: " << said_;
  EXPECT_THAT(said_, HasSubstr("measuring once more"));
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

TEST_F(UpgradeGate, EarlierRunsAreABeforeSideAndThatIsSaid) {
  ASSERT_EQ(cli("run upgrade n1,n2,n3,n4"), 0) << said_;
  boot("n1", "6.5.0", 2'000);
  boot("n2", "6.5.0", 2'000);
  EXPECT_EQ(cli("upgrades gate --nodes n1,n2"), 1) << said_;
  EXPECT_THAT(said_, AllOf(HasSubstr("earlier runs"), HasSubstr("not prepared")));
}

}  // namespace
}  // namespace railgauge
