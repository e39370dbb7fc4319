// MPI tasks between nodes: a runner for each, all on this host at addresses of its loopback, with
// the real launchers of a real MPI (RAILGAUGE_TEST_MPI). The test acts as agents and controller: it
// starts the runners and carries their steps.
#include <signal.h>

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kernels/core/base/outcome.h"
#include "kernels/runner/testing/mpi_nodes.h"

namespace railgauge {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_nodes::expect_all_ended;
using testing_nodes::Folder;
using testing_nodes::kLauncherVariable;
using testing_nodes::kMpi;
using testing_nodes::Nodes;
using testing_nodes::Order;
using testing_nodes::Rank;
using testing_nodes::run;
using testing_nodes::story;
using testing_nodes::wait_until;
using testing_nodes::Words;

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
    EXPECT_THAT(ranks[0].fact("mpi_transports_configured"), HasSubstr("/memory"));
  else
    EXPECT_THAT(ranks[0].fact("mpi_btl_configured"), HasSubstr("tcp")) << story(ranks);
  EXPECT_FALSE(folder.ssh_was_called());
  EXPECT_EQ(folder.processes(), 0U);
  for (const auto& left : std::filesystem::recursive_directory_iterator(folder.path / "tmp"))
    EXPECT_THAT(left.path().filename().string(), Not(HasSubstr("railgauge")));
}

// Two nodes of two GPUs: each rank's messages are in the memory of its own one. The node's first
// runner starts the daemon for both ranks.
TEST(MpiNodes, PutARankOnEachGpuOfANode) {
  const Folder folder;
  const Words fakes{std::string("RAILGAUGE_LIBCUDA=") + RAILGAUGE_FAKE_LIBCUDA,
                    "RAILGAUGE_FAKE_CUDA=gpus=2"};
  std::map<std::string, std::string> parameters{
      {"sizes", "4000"}, {"iterations", "5"}, {"memory", "device"}, {"gpu_path", "staged"}};
  // The two nodes are this host, and Open MPI names shared memory by host and local rank.
  if (kMpi == "openmpi") parameters["transports"] = "tcp,self";
  const auto ranks = run(folder, {.mpi = kMpi,
                                  .kernel = "mpi.all_reduce",
                                  .nodes = 4,
                                  .ranks_a_node = 2,
                                  .parameters = parameters,
                                  .endpoints = {"gpu1", "gpu0", "gpu0", "gpu1"},
                                  .environments = {fakes, fakes, fakes, fakes}});
  for (const Rank& rank : ranks) EXPECT_EQ(rank.final().outcome(), "passed") << story(ranks);
  EXPECT_EQ(ranks[0].verified_points(), 5U);
  EXPECT_EQ(ranks[0].fact("memory"), "device");
  std::string places = ranks[0].fact("rank_places");
  // Where this host has an RDMA port, its name follows each GPU's.
  for (std::size_t at = places.find(' '); at != places.npos; at = places.find(' '))
    places.erase(at, places.find(',', at) - at);
  EXPECT_EQ(places, "gpu1,gpu0,gpu0,gpu1");
  EXPECT_EQ(folder.processes(), 0U);
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
  EXPECT_NE(ranks[0].fact(kMpi == "mpich" ? "mpi_transports_configured" : "mpi_btl_configured"), "")
      << story(ranks);
  EXPECT_TRUE(folder.ssh_was_called());
  EXPECT_EQ(folder.processes(), 0U);
}

// A stand-in for Slurm: it notes its arguments and starts the ranks by this MPI's launcher.
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
  EXPECT_NE(ranks[0].fact(kMpi == "mpich" ? "mpi_transports_configured" : "mpi_btl_configured"), "")
      << story(ranks);
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
  EXPECT_NE(ranks[0].fact("mpi_transports_configured"), "") << story(ranks);
  EXPECT_THAT(folder.read("words"), ::testing::StartsWith("-ssh -np 2 127.0.0.2 127.0.0.3 "));
  // It cannot ask our agents.
  const Words named{kLauncherVariable + own};
  const auto agents = run(folder, {.mpi = kMpi, .environments = {named, named}});
  EXPECT_EQ(agents[0].final().outcome(), "waived") << story(agents);
  EXPECT_THAT(agents[0].final().reason(), HasSubstr("say launch=ssh"));
}

// MPI_Finalize has no deadline, and sometimes does not return.
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
  EXPECT_TRUE(up);
  expect_all_ended(folder, nodes.ranks, "cancelled");
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
  // Each reports it before the others wait; an agent passes it on as a refusal.
  const auto absent = run(folder, order);
  EXPECT_EQ(absent[1].final().outcome(), "waived");
  EXPECT_THAT(absent[1].final().reason(), HasSubstr("/nowhere/bin"));
  const auto off = run(folder, {.mpi = kMpi, .parameters = {{"data_network", "203.0.113.0/24"}}});
  EXPECT_EQ(off[0].final().outcome(), "waived");
  EXPECT_THAT(off[0].final().reason(), HasSubstr("this node is not on it"));
}

}  // namespace
}  // namespace railgauge
