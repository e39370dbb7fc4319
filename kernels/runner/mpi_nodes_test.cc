// MPI tasks between nodes: a runner for each, all on this host at addresses of its loopback, with
// the real launchers of a real MPI (RAILGAUGE_TEST_MPI), or scripts in their place where something
// goes wrong. This test is agents and controller: it starts the runners and carries their steps.
#include <signal.h>

#include <filesystem>
#include <functional>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kernels/core/clock.h"
#include "kernels/core/outcome.h"
#include "kernels/runner/testing_nodes.h"

namespace railgauge {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_nodes::Folder;
using testing_nodes::Nodes;
using testing_nodes::Order;
using testing_nodes::Rank;
using testing_nodes::run;
using testing_nodes::story;
using testing_nodes::Words;
using testing_process::Ended;
using testing_process::Process;
using testing_process::program;

const std::string kMpi = RAILGAUGE_TEST_MPI;
const std::string kLauncherVariable =
    kMpi == "mpich" ? "RAILGAUGE_LAUNCHER_MPICH=" : "RAILGAUGE_LAUNCHER_OPENMPI=";

bool wait_until(const std::function<bool()>& met) {
  const double deadline_ns = monotonic_now_ns() + testing_process::kPatienceSeconds * 1e9;
  while (!met()) {
    if (monotonic_now_ns() > deadline_ns) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TEST(MpiNodes, MeasureByTheLaunchersOwnDaemonsWithoutSsh) {
  const Folder folder;
  const auto ranks = run(folder, {.mpi = kMpi,
                                  .kernel = "mpi.all_reduce",
                                  .nodes = 4,
                                  .parameters = {{"sizes", "8,4000"}, {"iterations", "5"}}});
  for (const Rank& rank : ranks) {
    EXPECT_EQ(rank.final().outcome(), "passed") << story(ranks);
    EXPECT_EQ(rank.ended.exit_code, kExitPassed);
  }
  EXPECT_EQ(ranks[0].verified_points(), 10U);
  EXPECT_EQ(ranks[1].verified_points(), 0U);
  EXPECT_EQ(ranks[0].fact("launch"), "agent");
  EXPECT_EQ(ranks[0].fact("mpi"), kMpi);
  EXPECT_EQ(ranks[0].fact("mpi_network"), "127.0.0.0/8");
  if (kMpi == "mpich")
    EXPECT_THAT(ranks[0].fact("mpi_transports"), HasSubstr("/memory"));
  else
    EXPECT_THAT(ranks[0].fact("mpi_btl"), HasSubstr("tcp")) << story(ranks);
  EXPECT_FALSE(folder.ssh_was_called());
  EXPECT_EQ(folder.processes(), 0U);
  for (const auto& left : std::filesystem::recursive_directory_iterator(folder.path / "tmp"))
    EXPECT_THAT(left.path().filename().string(), Not(HasSubstr("railgauge")));
}

// Between nodes; Debian's Open MPI has one-sided calls there with a layer that is named.
TEST(MpiNodes, MeasureOneSidedCalls) {
  const Folder folder;
  std::map<std::string, std::string> parameters{{"sizes", "8"}, {"iterations", "5"}};
  if (kMpi == "openmpi") parameters["transports"] = "tcp,self";
  for (const char* kernel : {"mpi.put_lat", "mpi.get_bw"}) {
    const auto ranks = run(folder, {.mpi = kMpi, .kernel = kernel, .parameters = parameters});
    EXPECT_EQ(ranks[0].final().outcome(), "passed") << kernel << story(ranks);
    EXPECT_EQ(ranks[0].verified_points(), 1U);
  }
  EXPECT_EQ(folder.processes(), 0U);
}

// A remote shell as ssh is one: options, the host, words that are joined for the shell of that
// host. Nothing of the caller's environment gets there.
std::string remote_shell(const Folder& folder) {
  return fmt::format(
      "touch {0}/ssh_called\nwhile case \"$1\" in -*) ;; *) false ;; esac; do shift; done\n"
      "host=$1\nshift\n"
      "exec env -i HOME=/ TMPDIR={0}/tmp/$host PATH={0}/bin:/usr/local/bin:/usr/bin:/bin sh -c "
      "\"$*\"",
      folder.path.string());
}

TEST(MpiNodes, MeasureThroughSshWhereThatIsAskedFor) {
  const Folder folder;
  static_cast<void>(folder.script("ssh", remote_shell(folder)));
  const auto ranks =
      run(folder, {.mpi = kMpi,
                   .kernel = "mpi.all_reduce",
                   .nodes = 4,
                   .parameters = {{"sizes", "4000"}, {"iterations", "5"}, {"launch", "ssh"}}});
  for (const Rank& rank : ranks) EXPECT_EQ(rank.final().outcome(), "passed") << story(ranks);
  EXPECT_EQ(ranks[0].verified_points(), 5U);
  EXPECT_EQ(ranks[0].fact("launch"), "ssh");
  EXPECT_NE(ranks[0].fact(kMpi == "mpich" ? "mpi_transports" : "mpi_btl"), "") << story(ranks);
  EXPECT_TRUE(folder.ssh_was_called());
  EXPECT_EQ(folder.processes(), 0U);
}

// A stand-in for Slurm: it notes what it was told and starts the ranks by this MPI's launcher.
TEST(MpiNodes, MeasureThroughSlurmWhereThatIsAskedFor) {
  const Folder folder;
  const std::string launcher =
      kMpi == "mpich" ? "mpiexec.hydra" : "mpirun.openmpi --allow-run-as-root --oversubscribe";
  static_cast<void>(folder.script(
      "srun", fmt::format("echo \"$*\" >{0}/srun\ncat \"$SLURM_HOSTFILE\" >{0}/hosts\n"
                          "while case \"$1\" in -*) ;; *) false ;; esac; do shift; done\n"
                          "exec {1} -n 2 \"$@\"",
                          folder.path.string(), launcher)));
  const auto ranks =
      run(folder,
          {.mpi = kMpi, .parameters = {{"sizes", "8"}, {"iterations", "5"}, {"launch", "slurm"}}});
  for (const Rank& rank : ranks) EXPECT_EQ(rank.final().outcome(), "passed") << story(ranks);
  EXPECT_EQ(ranks[0].verified_points(), 1U);
  EXPECT_EQ(ranks[0].fact("launch"), "slurm");
  EXPECT_NE(ranks[0].fact(kMpi == "mpich" ? "mpi_transports" : "mpi_btl"), "") << story(ranks);
  EXPECT_THAT(folder.read("srun"), HasSubstr("--ntasks=2 --distribution=arbitrary"));
  const std::string hosts = folder.read("hosts");  // both ranks' node, which is this host
  EXPECT_EQ(std::ranges::count(hosts, '\n'), 2) << hosts;
  EXPECT_EQ(hosts.find('.'), hosts.npos) << hosts;
  EXPECT_EQ(folder.processes(), 0U);
}

// A stand-in for MVAPICH2's launcher, as its documentation has it: hosts, variables, the program.
TEST(MpiNodes, MeasureByMpirunRshWhereItIsTheInstallations) {
  if (kMpi != "mpich") GTEST_SKIP() << "MVAPICH2 shares MPICH's interface";
  const Folder folder;
  const std::string hydra = folder.script("mpiexec.hydra", "exec /usr/bin/mpiexec.hydra \"$@\"");
  const std::string own = folder.script(
      "mpirun_rsh",
      fmt::format("[ \"$1\" != -v ] || {{ echo 'Version: mvapich2-2.3.7'; exit; }}\n"
                  "echo \"$*\" >{0}/words\nshift 5\n"
                  "while case \"$1\" in *=*) ;; *) false ;; esac; do export \"$1\"; shift; done\n"
                  "exec {1} -n 2 \"$@\"",
                  folder.path.string(), hydra));
  Order order{
      .mpi = kMpi,
      .parameters = {
          {"sizes", "8"}, {"iterations", "5"}, {"launch", "ssh"}, {"mpi_installation", "mv"}}};
  const Words lists{fmt::format("RAILGAUGE_MPI_INSTALLATIONS=mv=mpich:{}", folder.path.string())};
  order.environments = {lists, lists};
  const auto ranks = run(folder, order);
  EXPECT_EQ(ranks[0].final().outcome(), "passed") << story(ranks);
  EXPECT_EQ(ranks[0].fact("mpi_launcher"), "mvapich2-2.3.7");
  EXPECT_NE(ranks[0].fact("mpi_transports"), "") << story(ranks);
  EXPECT_THAT(folder.read("words"), ::testing::StartsWith("-ssh -np 2 127.0.0.2 127.0.0.3 "));
  // It cannot ask our agents.
  const Words named{kLauncherVariable + own};
  const auto agents = run(folder, {.mpi = kMpi, .environments = {named, named}});
  EXPECT_EQ(agents[0].final().outcome(), "waived") << story(agents);
  EXPECT_THAT(agents[0].final().reason(), HasSubstr("say launch=ssh"));
}

// MPI_Finalize has no deadline, and has been seen not to come back.
TEST(MpiNodes, KeepTheirFiguresWhenMpiDoesNotComeToItsEnd) {
#ifndef RAILGAUGE_FAILPOINTS
  GTEST_SKIP() << "this build has no failpoints";
#endif
  const Folder folder;
  const Words hangs{"RAILGAUGE_FAILPOINT=hang:mpi_finalize"};
  const auto ranks = run(folder, {.mpi = kMpi,
                                  .parameters = {{"sizes", "8"}, {"iterations", "5"}},
                                  .environments = {hangs, hangs}});
  for (const Rank& rank : ranks) EXPECT_EQ(rank.final().outcome(), "passed") << story(ranks);
  EXPECT_EQ(ranks[0].verified_points(), 1U);
  EXPECT_THAT(ranks[0].warnings(), HasSubstr("MPI_Finalize did not come back within"));
  EXPECT_EQ(folder.processes(), 0U);
}

TEST(MpiNodes, LeaveNoProcessOnAnyNodeWhenCancelled) {
  const Folder folder;
  // Ranks that would go on for ten minutes.
  Nodes nodes(folder,
              {.mpi = kMpi,
               .kernel = "mpi.barrier",
               .nodes = 4,
               .parameters = {
                   {"time_cap", "10min"}, {"min_samples", "1000000"}, {"max_samples", "2000000"}}});
  // Launcher and keeper, and on each node a daemon, its keeper and a rank.
  const bool up = wait_until([&] { return folder.processes() >= 4 + 4 * 3; });
  nodes.cancel();
  nodes.wait();
  for (const Rank& rank : nodes.ranks)
    EXPECT_EQ(rank.final().outcome(), "cancelled") << story(nodes.ranks);
  EXPECT_TRUE(up);
  EXPECT_EQ(folder.processes(), 0U);
}

TEST(MpiNodes, TellOfARankThatIsKilled) {
#ifndef RAILGAUGE_FAILPOINTS
  GTEST_SKIP() << "this build has no failpoints";
#endif
  const Folder folder;
  const Words fails{"RAILGAUGE_FAILPOINT=mpi_follower"};
  const auto ranks = run(folder, {.mpi = kMpi,
                                  .parameters = {{"sizes", "8"}, {"iterations", "5"}},
                                  .environments = {fails, fails}});
  EXPECT_EQ(ranks[0].final().outcome(), "crashed") << story(ranks);
  EXPECT_THAT(ranks[0].final().reason(), HasSubstr("its last lines: "));
  EXPECT_EQ(folder.processes(), 0U);
}

TEST(MpiNodes, SayWhenTheyHaveDifferentMpis) {
  const Folder folder;
  const std::string launcher = folder.script("launcher", "echo 'mpirun (Open MPI) 9.9.9'");
  const auto ranks =
      run(folder, {.mpi = kMpi, .environments = {{}, {kLauncherVariable + launcher}}});
  for (const Rank& rank : ranks) {
    EXPECT_EQ(rank.final().outcome(), "waived") << story(ranks);
    EXPECT_THAT(rank.final().reason(), HasSubstr("Open MPI 9.9.9"));
    EXPECT_THAT(rank.final().reason(), HasSubstr(kMpi == "mpich" ? "Hydra " : "Open MPI 4"));
  }
}

TEST(MpiNodes, AreWaivedWithoutTheMpiAndOffTheNetwork) {
  const Folder folder;
  Order order{.mpi = kMpi, .parameters = {{"mpi_installation", "hpcx"}}};
  const Words lists{
      fmt::format("RAILGAUGE_MPI_INSTALLATIONS=hpcx={}:/nowhere,b=mpich:/opt/b", kMpi)};
  order.environments = {lists, lists};
  // Each says so before the others wait for it; an agent tells that as a refusal.
  const auto absent = run(folder, order);
  EXPECT_EQ(absent[1].final().outcome(), "waived");
  EXPECT_THAT(absent[1].final().reason(), HasSubstr("/nowhere/bin"));
  const auto off = run(folder, {.mpi = kMpi, .parameters = {{"data_network", "203.0.113.0/24"}}});
  EXPECT_EQ(off[0].final().outcome(), "waived");
  EXPECT_THAT(off[0].final().reason(), HasSubstr("this node is not on it"));
}

// What each real launcher would ask for rank 1's node, as a shell has it.
std::string daemon_words(const std::string& node, const std::string& calls,
                         const std::string& network = "127.0.0.0/8") {
  const std::string shim = program("railgauge-launch-shim");
  if (kMpi == "mpich")
    return fmt::format(
        "{} /usr/bin/hydra_pmi_proxy --control-port {}:34763 --rmk user --launcher "
        "rsh --launcher-exec {} --demux poll --iface {} --pgid 0 --retries 10 "
        "--usize -2 --pmi-port 0 --gpus-per-proc -2 --proxy-id 1",
        node, calls, shim, network == "127.0.0.0/8" ? "lo" : network);
  return fmt::format(
      "{} orted -mca ess env -mca ess_base_jobid 1 -mca ess_base_vpid 1 -mca "
      "ess_base_num_procs 2 -mca orte_node_regex 'a@0(2)' -mca orte_hnp_uri "
      "'1.0;tcp://{}:44811' -mca plm_rsh_agent {} -mca plm_rsh_no_tree_spawn 1 -mca "
      "oob_tcp_if_include {} -mca plm rsh",
      node, calls, shim, network);
}

// A launcher that does what `body` says with "$shim"; beside it a daemon.
Words scripted(const Folder& folder, const std::string& body, const std::string& daemon) {
  const std::string launcher = folder.script(
      "launcher", fmt::format("case \"$1\" in --version) echo 'x (Open MPI) 4.1.4'; exit;; esac\n"
                              "shim={}\nexec 2>&1\n{}\n",
                              program("railgauge-launch-shim"), body));
  static_cast<void>(folder.script(kMpi == "mpich" ? "hydra_pmi_proxy" : "orted", daemon));
  return {kLauncherVariable + launcher};
}

TEST(MpiNodes, CarryTheDaemonsWordsAndItsEnd) {
  const Folder folder;
  const std::string good = daemon_words("127.0.0.3", "127.0.0.1");
  const Words own =
      scripted(folder,
               fmt::format("\"$shim\" {0} >{1}/first; echo \"first $?\" >>{1}/first\n"
                           "\"$shim\" {0} >{1}/second; echo \"second $?\" >>{1}/second\nexit 5",
                           good, folder.path.string()),
               fmt::format("env >{0}/environment\necho to out; echo to err >&2\n"
                           "[ -e {0}/again ] && kill -USR1 $$\ntouch {0}/again\nexit 9",
                           folder.path.string()));
  const auto ranks = run(folder, {.mpi = kMpi, .environments = {own, own}});
  EXPECT_EQ(ranks[0].final().outcome(), "crashed") << story(ranks);
  EXPECT_THAT(ranks[0].final().reason(), HasSubstr("exited with 5"));
  EXPECT_EQ(ranks[1].final().outcome(), "crashed");
  EXPECT_EQ(folder.read("first"), "to out\nfirst 9\n") << story(ranks);
  EXPECT_EQ(folder.read("second"), fmt::format("to out\nsecond {}\n", 128 + SIGUSR1));
  EXPECT_THAT(ranks[0].ended.err, HasSubstr("to err"));
  // A clean environment.
  EXPECT_THAT(folder.read("environment"), HasSubstr("TMPDIR="));
  EXPECT_THAT(folder.read("environment"), Not(AnyOf(HasSubstr("UCX_"), HasSubstr("RAILGAUGE_"))));
  EXPECT_EQ(folder.processes(), 0U);
}

// A step of the rendezvous holds 64 KiB, and a reason goes with one; so do a daemon's words. Not
// more than a pipe holds, which this test reads at the end.
TEST(MpiNodes, EndClearlyWhenALauncherAndADaemonSayMuchWithoutALinesEnd) {
  const Folder folder;
  const std::string much = "head -c 65500 /dev/zero | tr '\\0' x";
  const Words own =
      scripted(folder,
               fmt::format("\"$shim\" {} >{}/said 2>&1\n{}\nexit 5",
                           daemon_words("127.0.0.3", "127.0.0.1"), folder.path.string(), much),
               fmt::format("{0} & {0} >&2; wait", much));
  const auto ranks = run(folder, {.mpi = kMpi, .environments = {own, own}});
  for (const Rank& rank : ranks) {
    EXPECT_EQ(rank.final().outcome(), "crashed") << story(ranks).substr(0, 2000);
    EXPECT_THAT(rank.final().reason(), HasSubstr("its last lines: xxx"));
    EXPECT_LT(rank.final().reason().size(), 2000U);
  }
  EXPECT_EQ(folder.read("said").size(), 131000U);
  EXPECT_EQ(folder.processes(), 0U);
}

// Launchers pass SIGUSR1 on by themselves; to the shim it means nothing.
TEST(MpiNodes, EndADaemonWithItsShimAndWithNothingLess) {
  const Folder folder;
  const std::string path = folder.path.string();
  const Words own = scripted(
      folder,
      fmt::format("\"$shim\" {0} & pid=$!\n[ \"$pid\" -gt 1 ] || exit 1\n"
                  "while [ ! -e {1}/up ]; do sleep 0.02; done\n"
                  "kill -USR1 $pid; sleep 0.5\n[ -d /proc/$(cat {1}/up) ] && echo on >{1}/after\n"
                  "kill -TERM $pid; wait $pid; echo \"code $?\" >{1}/code\n"
                  "[ -d /proc/$(cat {1}/up) ] || echo gone >>{1}/code\nexit 7",
                  daemon_words("127.0.0.3", "127.0.0.1"), path),
      fmt::format("echo $$ >{0}/part; mv {0}/part {0}/up; exec sleep 600", path));
  const auto ranks = run(folder, {.mpi = kMpi, .environments = {own, own}});
  EXPECT_THAT(ranks[0].final().reason(), HasSubstr("exited with 7")) << story(ranks);
  EXPECT_EQ(folder.read("after"), "on\n");
  EXPECT_EQ(folder.read("code"), fmt::format("code {}\ngone\n", 128 + SIGTERM));
  EXPECT_EQ(folder.processes(), 0U);
}

TEST(MpiNodes, HearACancelAndTheDeadlineWhileALauncherDoesNotTellItsVersion) {
  const Folder folder;
  const std::string launcher = folder.script(
      "launcher",
      fmt::format("echo thinking about it\ntouch {}/asked\nexec sleep 600", folder.path.string()));
  const Words own{kLauncherVariable + launcher};
  const auto late = run(folder, {.mpi = kMpi, .deadline_seconds = 3, .environments = {own, own}});
  for (const Rank& rank : late) {
    EXPECT_EQ(rank.final().outcome(), "timed_out") << story(late);
    EXPECT_THAT(rank.final().reason(), HasSubstr("thinking about it"));
  }
  std::filesystem::remove(folder.path / "asked");
  Nodes nodes(folder, {.mpi = kMpi, .environments = {own, own}});
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(folder.path / "asked"); }));
  const double begin_ns = monotonic_now_ns();
  nodes.cancel();
  nodes.wait();
  EXPECT_LT((monotonic_now_ns() - begin_ns) / 1e9, 15);
  for (const Rank& rank : nodes.ranks)
    EXPECT_EQ(rank.final().outcome(), "cancelled") << story(nodes.ranks);
  EXPECT_EQ(folder.processes(), 0U);
}

// On both nodes something hangs that does not hear, beside a process in a session of its own.
TEST(MpiNodes, LeaveNoProcessOnAnyNodeAfterTheDeadline) {
  const Folder folder;
  const std::string path = folder.path.string();
  const Words own = scripted(
      folder,
      fmt::format("trap '' TERM\nsetsid sleep 600 &\necho waiting for nobody\n"
                  "\"$shim\" {} &\nwhile :; do sleep 600; done",
                  daemon_words("127.0.0.3", "127.0.0.1")),
      fmt::format("trap '' TERM\nsetsid sleep 600 &\ntouch {}/up\nwhile :; do sleep 600; done",
                  path));
  Nodes nodes(folder, {.mpi = kMpi, .deadline_seconds = 8, .environments = {own, own}});
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(folder.path / "up"); }));
  nodes.wait();
  for (const Rank& rank : nodes.ranks)
    EXPECT_EQ(rank.final().outcome(), "timed_out") << story(nodes.ranks);
  EXPECT_THAT(nodes.ranks[0].final().reason(), HasSubstr("waiting for nobody"));
  EXPECT_EQ(folder.processes(), 0U);
}

TEST(MpiNodes, RefuseAnyOtherCommandAForeignNodeAndAnExpiredLease) {
  const Folder folder;
  const std::string say = "; echo \"code $?\"\n";
  const std::string good = daemon_words("127.0.0.3", "127.0.0.1");
  const std::string body =
      "echo $RAILGAUGE_LAUNCH_SOCKET >" + (folder.path / "socket").string() + "\n" +
      "\"$shim\" 127.0.0.3 uptime" + say + "\"$shim\" 127.0.0.3 sh -c id" + say + "\"$shim\" " +
      good + " --debug-daemons" + say + "\"$shim\" " + daemon_words("127.0.0.77", "127.0.0.1") +
      say + "\"$shim\" " + daemon_words("127.0.0.3", "203.0.113.9") + say + "\"$shim\" " +
      daemon_words("127.0.0.3", "127.0.0.1", "other0") + say + "exit 6";
  const Words own = scripted(folder, body, "touch " + (folder.path / "ran").string());
  const auto ranks = run(folder, {.mpi = kMpi, .environments = {own, own}});
  EXPECT_EQ(ranks[0].final().outcome(), "crashed") << story(ranks);
  const std::string& said = ranks[0].ended.err;
  std::size_t refusals = 0;
  for (std::size_t at = said.find("code 255"); at != said.npos; at = said.find("code 255", at + 1))
    ++refusals;
  EXPECT_EQ(refusals, 6U) << said;
  // Logged, in the run's own record.
  const std::string warnings = ranks[0].warnings();
  for (const char* why : {"program \"uptime\"", "program \"sh\"", "\"--debug-daemons\"",
                          "node \"127.0.0.77\" is none of its nodes", "not its launcher's address",
                          "would use network \"other0\""})
    EXPECT_THAT(warnings, HasSubstr(why));
  EXPECT_FALSE(std::filesystem::exists(folder.path / "ran"));
  // The task is over, and the lease with it.
  std::string socket = folder.read("socket");
  socket.resize(socket.find('\n'));
  const Ended late = Process({"/bin/sh", "-c", program("railgauge-launch-shim") + " " + good},
                             false, {"RAILGAUGE_LAUNCH_SOCKET=" + socket})
                         .wait();
  EXPECT_EQ(late.exit_code, 255);
  EXPECT_THAT(late.err, HasSubstr("no task holds a lease here any more"));
}

}  // namespace
}  // namespace railgauge
