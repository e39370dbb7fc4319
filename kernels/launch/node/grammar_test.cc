// Command lines as Open MPI 4.1.4 and MPICH 4.0.2 made them for four nodes, with
//   mpirun --mca plm_rsh_agent SHIM --mca plm_rsh_no_tree_spawn 1 --mca oob_tcp_if_include ...
//   mpiexec -launcher rsh -launcher-exec SHIM -iface ...
// captured word by word; only the names of host and shim were replaced.
#include "kernels/launch/node/grammar.h"

#include <gmock/gmock.h>

namespace railgauge::launch {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr const char* kShim = "/usr/libexec/railgauge/launch-shim";

Words orted() {
  return {"192.0.2.1",
          " orted",
          "--daemonize",
          "-mca",
          "ess",
          "\"env\"",
          "-mca",
          "ess_base_jobid",
          "\"2036596736\"",
          "-mca",
          "ess_base_vpid",
          "1",
          "-mca",
          "ess_base_num_procs",
          "\"4\"",
          "-mca",
          "orte_node_regex",
          "\"head,[3:192].0.2.1,[3:192].0.2.3,[3:192].0.2.4@0(4)\"",
          "-mca",
          "orte_hnp_uri",
          "\"2036596736.0;tcp://192.0.2.2:44811\"",
          "--mca",
          "plm_rsh_agent",
          "\"/usr/libexec/railgauge/launch-shim\"",
          "--mca",
          "plm_rsh_no_tree_spawn",
          "\"1\"",
          "--mca",
          "oob_tcp_if_include",
          "\"192.0.2.0/24\"",
          "-mca",
          "plm",
          "\"rsh\"",
          "-mca",
          "pmix",
          "\"^s1,s2,cray,isolated\""};
}

Words hydra() {
  return {"192.0.2.3",       "\"/usr/bin/hydra_pmi_proxy\"",
          "--control-port",  "192.0.2.2:34763",
          "--rmk",           "user",
          "--launcher",      "rsh",
          "--launcher-exec", "/usr/libexec/railgauge/launch-shim",
          "--demux",         "poll",
          "--iface",         "eth0",
          "--pgid",          "0",
          "--retries",       "10",
          "--usize",         "-2",
          "--pmi-port",      "0",
          "--gpus-per-proc", "-2",
          "--proxy-id",      "2"};
}

// From PRRTE's documentation, without a real PRRTE: this tests our understanding of it only.
Words prted() {
  return {"192.0.2.1",
          "prted",
          "--daemonize",
          "--allow-run-as-root",
          "--prtemca",
          "ess",
          "\"env\"",
          "--prtemca",
          "ess_base_nspace",
          "\"prterun-head-4711@0\"",
          "--prtemca",
          "ess_base_vpid",
          "1",
          "--prtemca",
          "ess_base_num_procs",
          "\"4\"",
          "--prtemca",
          "prte_hnp_uri",
          "\"prterun-head-4711@0.0;tcp://192.0.2.2:44811:24\"",
          "--prtemca",
          "plm_ssh_agent",
          "\"/usr/libexec/railgauge/launch-shim\"",
          "--prtemca",
          "plm_ssh_no_tree_spawn",
          "\"1\"",
          "--prtemca",
          "plm_ssh_num_concurrent",
          "\"1000000\"",
          "--prtemca",
          "prte_if_include",
          "\"192.0.2.0/24\"",
          "--prtemca",
          "plm",
          "\"ssh\""};
}

Lease lease(Daemon daemon) {
  return {.task = "run7/task3",
          .daemon = daemon,
          .nodes = {"192.0.2.1", "192.0.2.3", "192.0.2.4"},
          .launchers = {"192.0.2.2"},
          .network = daemon == Daemon::kHydraProxy ? "eth0" : "192.0.2.0/24",
          .expires_monotonic_ns = 1000};
}

std::string refusal(const Words& words) {
  const auto command = read_daemon_command(words, kShim);
  if (command) return "";
  EXPECT_EQ(command.error().code, Code::kPermissionDenied);
  EXPECT_THAT(command.error().message, ::testing::Not(HasSubstr("\n")));
  return command.error().message;
}

Words with(Words words, std::size_t at, const std::string& word) {
  words.at(at) = word;
  return words;
}

TEST(LaunchGrammar, ReadsWhatOpenMpiAsksFor) {
  const auto command = read_daemon_command(orted(), kShim);
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_EQ(command->daemon, Daemon::kOrted);
  EXPECT_EQ(command->node, "192.0.2.1");
  EXPECT_THAT(command->calls_back, ::testing::ElementsAre("192.0.2.2:44811"));
  EXPECT_THAT(command->arguments, ::testing::IsSupersetOf(Words{"ess_base_vpid", "1", "env"}));
  EXPECT_THAT(command->arguments, ::testing::Not(::testing::Contains("--daemonize")));
  EXPECT_THAT(command->arguments, ::testing::Each(::testing::Not(HasSubstr("\""))));
  EXPECT_TRUE(check_lease(*command, lease(Daemon::kOrted), 999));
}

TEST(LaunchGrammar, ReadsWhatHydraAsksFor) {
  const auto command = read_daemon_command(hydra(), kShim);
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_EQ(command->daemon, Daemon::kHydraProxy);
  EXPECT_EQ(command->node, "192.0.2.3");
  EXPECT_THAT(command->calls_back, ::testing::ElementsAre("192.0.2.2:34763"));
  EXPECT_EQ(command->arguments.size(), 24U);
  EXPECT_TRUE(check_lease(*command, lease(Daemon::kHydraProxy), 0));
}

// The form for a user whose shell is sh.
TEST(LaunchGrammar, LeavesOutTheProfileOfAShellAndNothingElse) {
  const Words profile{"(", "test", "!", "-r", "./.profile", "||", ".", "./.profile;"};
  Words wrapped = orted();
  wrapped.insert(wrapped.begin() + 1, profile.begin(), profile.end());
  EXPECT_NE(refusal(wrapped), "");  // it does not close
  wrapped.emplace_back(")");
  const auto command = read_daemon_command(wrapped, kShim);
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_EQ(command->arguments, read_daemon_command(orted(), kShim)->arguments);
  for (std::size_t at = 1; at <= profile.size(); ++at)
    EXPECT_NE(refusal(with(wrapped, at, "id;")), "") << at;
  EXPECT_NE(refusal(with(wrapped, 9, "sh")), "");
}

TEST(LaunchGrammar, ReadsWhatPrrteWouldAskFor) {
  const auto command = read_daemon_command(prted(), kShim);
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_EQ(command->daemon, Daemon::kPrted);
  EXPECT_THAT(command->calls_back, ::testing::ElementsAre("192.0.2.2:44811"));
  EXPECT_EQ(command->arguments.size(), 31U);  // without --daemonize
  EXPECT_TRUE(check_lease(*command, lease(Daemon::kPrted), 0));
  EXPECT_FALSE(check_lease(*command, lease(Daemon::kOrted), 0));
}

TEST(LaunchGrammar, LeavesOutTheVariablesOfAnInstallationAndNothingElse) {
  const std::string good =
      "PRTE_PREFIX=/opt/o;export "
      "PRTE_PREFIX;LD_LIBRARY_PATH=/opt/o/lib:/opt/p/lib:$LD_LIBRARY_PATH;"
      "export LD_LIBRARY_PATH;DYLD_LIBRARY_PATH=/opt/o/lib:$DYLD_LIBRARY_PATH;export "
      "DYLD_LIBRARY_PATH;/opt/o/bin/prted";
  const auto command = read_daemon_command(with(prted(), 1, good), kShim);
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_EQ(command->arguments, read_daemon_command(prted(), kShim)->arguments);
  for (const char* bad :
       {"LD_PRELOAD=/x;prted", "PRTE_PREFIX=/x y;prted", "PRTE_PREFIX=$(id);prted", "id;prted",
        "export LD_PRELOAD;prted", "PRTE_PREFIX=/x;sh", "PRTE_PREFIX=$PRTE_PREFIX;prted",
        "LD_LIBRARY_PATH=/x:$HOME;prted", ";prted", "prted;"})
    EXPECT_NE(refusal(with(prted(), 1, bad)), "") << bad;
}

// MPICH 3.2's Hydra, which is MVAPICH2's too, has fewer options; those after 4.0 have one more.
TEST(LaunchGrammar, ReadsWhatOlderAndNewerHydrasAskFor) {
  Words older = hydra();
  for (const char* option : {"--pmi-port", "--gpus-per-proc"}) {
    const auto at = std::ranges::find(older, option);
    older.erase(at, at + 2);
  }
  EXPECT_EQ(refusal(older), "");
  Words newer = hydra();
  newer.insert(newer.end() - 2, {"--gpu-subdevs-per-proc", "-2"});
  EXPECT_EQ(refusal(newer), "");
  newer.back() = "sh";
  EXPECT_NE(refusal(newer), "");
}

TEST(LaunchGrammar, ReadsEveryAddressThatTheDaemonMayCall) {
  const Words words = with(
      orted(), 20, "\"2036596736.0;tcp://192.0.2.2,203.0.113.9:44811;tcp6://[fd00::2]:33673\"");
  const auto command = read_daemon_command(words, kShim);
  ASSERT_TRUE(command) << command.error().message;
  EXPECT_THAT(command->calls_back,
              ::testing::ElementsAre("192.0.2.2:44811", "203.0.113.9:44811", "[fd00::2]:33673"));
  const auto sized = read_daemon_command(
      with(orted(), 20, "\"1.0;tcp://192.0.2.2,203.0.113.9:44811:24,16;tcp6://[fd00::2]:3:64\""),
      kShim);
  ASSERT_TRUE(sized) << sized.error().message;
  EXPECT_THAT(sized->calls_back,
              ::testing::ElementsAre("192.0.2.2:44811", "203.0.113.9:44811", "[fd00::2]:3"));
  for (const char* bad : {"1.0;tcp://a:1:x", "1.0;tcp://a:1:24:1", "1.0;tcp://a", "1.0;tcp://a:-1",
                          "1.0;tcp://:1", "1.0;tcp6://[a:1"})
    EXPECT_NE(refusal(with(orted(), 20, bad)), "") << bad;
  const Status checked = check_lease(*command, lease(Daemon::kOrted), 0);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("203.0.113.9:44811"));
}

TEST(LaunchGrammar, RefusesAnyOtherProgram) {
  for (const char* program : {"/bin/sh", "sh", " sh -c id", "orted;id", "\"orted\" id", "prterun",
                              "/tmp/orted/../sh", "", "hydra_pmi_proxy2", "$(orted)"})
    EXPECT_NE(refusal(with(orted(), 1, program)), "") << program;
  EXPECT_NE(refusal({"192.0.2.1", "uptime"}), "");
  EXPECT_NE(refusal({"192.0.2.1"}), "");
  EXPECT_NE(refusal({}), "");
  EXPECT_NE(refusal(Words(1000, "x")), "");
}

TEST(LaunchGrammar, RefusesEachWordThatIsNotTheLaunchersOwn) {
  // Replaces every word in turn by text that a shell or a daemon could misread.
  for (const Words& good : {orted(), prted(), hydra()})
    for (std::size_t at = 0; at < good.size(); ++at)
      for (const std::string bad : {"; reboot", "`id`", "$(id)", "a b", "\"a\" \"b\"", "'x", "x\ny",
                                    "", "--debug-daemons", "|sh"})
        EXPECT_NE(refusal(with(good, at, bad)), "") << "word " << at << ": " << bad;
}

TEST(LaunchGrammar, QuotesTheOptionOfARefusedValue) {
  const std::string why = refusal({"192.0.2.1", "orted", "-mca", "ess\xf6", "$(id)"});
  EXPECT_THAT(why, HasSubstr("the value of \"ess?\" \"$(id)\""));
}

TEST(LaunchGrammar, RefusesNumbersThatTheLauncherNeverSays) {
  const auto value = [](Words words, const char* option, const std::string& text) {
    *(std::ranges::find(words, option) + 1) = text;
    return refusal(words);
  };
  EXPECT_EQ(value(hydra(), "--control-port", "192.0.2.2:65535"), "");
  for (const char* bad : {"192.0.2.2:-1", "192.0.2.2:0", "192.0.2.2:65536", "192.0.2.2:+1",
                          "192.0.2.2:", "192.0.2.2"})
    EXPECT_NE(value(hydra(), "--control-port", bad), "") << bad;
  for (const char* option : {"--pgid", "--retries", "--proxy-id"})
    EXPECT_NE(value(hydra(), option, "-1"), "") << option;
  for (const char* option : {"ess_base_jobid", "ess_base_vpid", "ess_base_num_procs"})
    EXPECT_NE(value(orted(), option, "-1"), "") << option;
  EXPECT_NE(value(orted(), "orte_hnp_uri", "1.0;tcp://192.0.2.2:65536"), "");
}

TEST(LaunchGrammar, RefusesMoreOptionsAndTheLackOfOne) {
  Words more = orted();
  more.insert(more.end(), {"-mca", "orte_launch_agent", "sh"});
  EXPECT_THAT(refusal(more), HasSubstr("orte_launch_agent"));
  Words twice = orted();
  twice.insert(twice.end(), {"-mca", "plm_rsh_no_tree_spawn", "1"});
  EXPECT_THAT(refusal(twice), HasSubstr("the second"));
  Words tree = orted();
  tree.erase(tree.begin() + 24, tree.begin() + 27);
  EXPECT_THAT(refusal(tree), HasSubstr("lacks plm_rsh_no_tree_spawn"));
  EXPECT_THAT(refusal(with(orted(), 26, "0")), HasSubstr("plm_rsh_no_tree_spawn"));
  EXPECT_THAT(refusal(with(orted(), 23, "/bin/sh")), HasSubstr("plm_rsh_agent"));
  Words cut = hydra();
  cut.pop_back();
  EXPECT_THAT(refusal(cut), HasSubstr("without a value"));
  cut.pop_back();
  EXPECT_THAT(refusal(cut), HasSubstr("lacks --proxy-id"));
  Words ssh = hydra();
  ssh.insert(ssh.begin(), "-x");
  EXPECT_THAT(refusal(ssh), HasSubstr("node"));
}

TEST(LaunchLease, RefusesAForeignNodeAnotherDaemonAndAnExpiredLease) {
  auto command = read_daemon_command(orted(), kShim);
  ASSERT_TRUE(command);
  const auto why = [&](const Lease& held, double now) {
    const Status checked = check_lease(*command, held, now);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(why(lease(Daemon::kOrted), 999), "");
  EXPECT_THAT(why(lease(Daemon::kOrted), 1000), HasSubstr("has expired"));
  EXPECT_THAT(why(lease(Daemon::kHydraProxy), 0), HasSubstr("not the daemon of its launcher"));
  Lease other = lease(Daemon::kOrted);
  other.nodes = {"192.0.2.3"};
  EXPECT_THAT(why(other, 0), HasSubstr("node \"192.0.2.1\" is none of its nodes"));
  other = lease(Daemon::kOrted);
  other.launchers = {"192.0.2.9"};
  EXPECT_THAT(why(other, 0), HasSubstr("not its launcher's address"));
  other = lease(Daemon::kOrted);
  other.network = "198.51.100.0/24";
  EXPECT_THAT(why(other, 0), HasSubstr("would use network \"192.0.2.0/24\""));
}

TEST(LaunchLease, BindsEachDaemonToTheTasksNetwork) {
  const auto of = [](const Words& words, Daemon daemon, const std::string& network) {
    const auto command = read_daemon_command(words, kShim);
    Lease held = lease(daemon);
    held.network = network;
    return command && check_lease(*command, held, 0);
  };
  EXPECT_TRUE(of(hydra(), Daemon::kHydraProxy, "eth0"));
  EXPECT_FALSE(of(hydra(), Daemon::kHydraProxy, "eth1"));
  EXPECT_FALSE(of(prted(), Daemon::kPrted, "198.51.100.0/24"));
  // Without it a daemon would take any network.
  const auto without = [](Words words, const std::string& name, int before, int after) {
    const auto at = std::ranges::find(words, name);
    words.erase(at - before, at + after);
    return refusal(words);
  };
  EXPECT_THAT(without(orted(), "oob_tcp_if_include", 1, 2), HasSubstr("lacks oob_tcp_if_include"));
  EXPECT_THAT(without(prted(), "prte_if_include", 1, 2), HasSubstr("lacks prte_if_include"));
  EXPECT_THAT(without(hydra(), "--iface", 0, 2), HasSubstr("lacks --iface"));
}

TEST(LaunchLease, ANetworkHasASlashInFrontOfItsPrefixLengthOnly) {
  const auto with = [](const std::string& network) {
    Words words = orted();
    *(std::ranges::find(words, "oob_tcp_if_include") + 1) = network;
    return refusal(words);
  };
  for (const char* network : {"192.0.2.0/24", "192.0.2.0/24,eth1", "fd00::/64", "bond0.12"})
    EXPECT_EQ(with(network), "") << network;
  for (const char* network : {"192.0.2..//4", "../../x", "a/b", "192.0.2.0/24/8", "192.0.2.0/",
                              "192.0.2.0/24,,eth1", "/24", "eth0,-x"})
    EXPECT_THAT(with(network), HasSubstr("has no place")) << network;
}

}  // namespace
}  // namespace railgauge::launch
