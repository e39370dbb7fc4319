// The launchers' settings and the parsing of their output; all of it without an MPI.
#include "kernels/launch/words.h"

#include <unistd.h>

#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kernels/core/base/outcome.h"
#include "kernels/core/text/text.h"
#include "kernels/launch/ending.h"
#include "kernels/launch/launcher.h"
#include "kernels/launch/node/address.h"
#include "kernels/launch/node/launch_service.h"
#include "kernels/launch/node/mpi_process.h"
#include "kernels/launch/node/records.h"

namespace railgauge {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Words = std::vector<std::string>;

LaunchPlan plan(const std::string& mpi, LaunchMode mode) {
  LaunchPlan out;
  out.launcher.program = mpi == "openmpi" ? "/usr/bin/mpirun.openmpi" : "/usr/bin/mpiexec.hydra";
  out.launcher.mpi = mpi;
  out.mode = mode;
  out.addresses = {"192.0.2.1", "192.0.2.2", "192.0.2.2"};
  out.network = "192.0.2.0/24";
  out.interface = "eth0";
  out.shim = "/opt/railgauge/bin/railgauge-launch-shim";
  out.binding = "core";
  out.program = {"/opt/railgauge/bin/ranks", "mpi.lat"};
  out.hosts = {"a", "b.example.org", "b"};
  out.hosts_file = "/tmp/own/hosts";
  out.handed_on = {"UCX_TLS=tcp"};
  return out;
}

std::string line(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

TEST(MpiWords, GiveOpenMpiTheShimTheNetworkAndAddresses) {
  const std::string words = line(launch_words(plan("openmpi", LaunchMode::kAgent)));
  EXPECT_THAT(words, ::testing::StartsWith("mpirun "));
  EXPECT_THAT(words, HasSubstr("--host 192.0.2.1:1,192.0.2.2:2 -n 3"));
  EXPECT_THAT(words, HasSubstr("--mca plm_rsh_agent /opt/railgauge/bin/railgauge-launch-shim "
                               "--mca plm_rsh_no_tree_spawn 1"));
  EXPECT_THAT(words, HasSubstr("--mca oob_tcp_if_include 192.0.2.0/24"));
  EXPECT_THAT(words, HasSubstr("--bind-to core"));
  EXPECT_THAT(words, HasSubstr("-x UCX_TLS /opt/railgauge/bin/ranks mpi.lat"));
  EXPECT_THAT(launch_settings(plan("openmpi", LaunchMode::kAgent)),
              IsSupersetOf(Words{"OMPI_MCA_plm_rsh_pass_environ_mca_params=0",
                                 "OMPI_MCA_btl_tcp_if_include=192.0.2.0/24"}));
}

TEST(MpiWords, NameTheInstallationToOtherNodesShells) {
  LaunchPlan own = plan("openmpi", LaunchMode::kSsh);
  own.launcher.prefix = "/opt/hpcx/ompi";
  EXPECT_THAT(line(launch_words(own)), HasSubstr("--prefix /opt/hpcx/ompi "));
  own.mode = LaunchMode::kAgent;  // the target's agent knows its own
  EXPECT_THAT(line(launch_words(own)), Not(HasSubstr("--prefix")));
}

TEST(MpiWords, SpeakToOpenMpi5InItsOwnNames) {
  LaunchPlan five = plan("openmpi", LaunchMode::kAgent);
  five.launcher.daemon = "/opt/openmpi5/bin/prted";
  const std::string words = line(launch_words(five));
  EXPECT_THAT(words, HasSubstr("--prtemca plm_ssh_agent /opt/railgauge/bin/railgauge-launch-shim "
                               "--prtemca plm_ssh_no_tree_spawn 1"));
  EXPECT_THAT(words, HasSubstr("--prtemca prte_if_include 192.0.2.0/24"));
  EXPECT_THAT(words, Not(HasSubstr("plm_rsh")));
  for (const std::string& setting : launch_settings(five))
    EXPECT_THAT(setting, Not(HasSubstr("plm_")));
}

TEST(MpiWords, GiveHydraTheShimTheInterfaceAndAddresses) {
  EXPECT_EQ(line(launch_words(plan("mpich", LaunchMode::kAgent))),
            "mpiexec -launcher rsh -launcher-exec /opt/railgauge/bin/railgauge-launch-shim "
            "-genvlist UCX_TLS -iface eth0 -hosts 192.0.2.1:1,192.0.2.2:2 -n 3 -bind-to core "
            "/opt/railgauge/bin/ranks mpi.lat");
  LaunchPlan bare = plan("mpich", LaunchMode::kAgent);
  bare.handed_on.clear();
  EXPECT_THAT(launch_words(bare), Contains("-genvnone"));
  EXPECT_THAT(line(launch_words(plan("mpich", LaunchMode::kSsh))), Not(HasSubstr("-genv")));
}

TEST(MpiWords, NameNoShimWhereSshOrSlurmStarts) {
  for (const char* mpi : {"openmpi", "mpich"})
    EXPECT_THAT(line(launch_words(plan(mpi, LaunchMode::kSsh))), Not(HasSubstr("shim"))) << mpi;
  LaunchPlan mvapich = plan("mpich", LaunchMode::kSsh);
  mvapich.launcher.program = "/opt/mvapich2/bin/mpirun_rsh";
  EXPECT_EQ(
      line(launch_words(mvapich)),
      "mpirun_rsh -ssh -np 3 192.0.2.1 192.0.2.2 192.0.2.2 UCX_TLS=tcp /opt/railgauge/bin/ranks "
      "mpi.lat");
  EXPECT_EQ(line(launch_words(plan("openmpi", LaunchMode::kSlurm))),
            "srun --overlap --nodes=2 --ntasks=3 --distribution=arbitrary --mpi=pmix "
            "--cpu-bind=cores /opt/railgauge/bin/ranks mpi.lat");
  EXPECT_THAT(launch_settings(plan("openmpi", LaunchMode::kSlurm)),
              IsSupersetOf(Words{"SLURM_HOSTFILE=/tmp/own/hosts",
                                 "OMPI_MCA_btl_tcp_if_include=192.0.2.0/24"}));
  EXPECT_EQ(hosts_file_text(plan("mpich", LaunchMode::kSlurm)), "a\nb\nb\n");
}

TEST(MpiWords, CleanTheEnvironment) {
  const Words mine{
      "PATH=/bin",      "SSH_AUTH_SOCK=/x", "LD_PRELOAD=/evil.so",        "LD_LIBRARY_PATH=/b",
      "SLURM_JOB_ID=1", "UCX_TLS=tcp",      "RAILGAUGE_LAUNCH_SOCKET=/s", "RAILGAUGE_LIBCUDA=/f",
      "PMI_FD=3"};
  MpiLauncher found;
  EXPECT_THAT(clean_environment(mine, found), ElementsAre("PATH=/bin", "LD_LIBRARY_PATH=/b"));
  EXPECT_THAT(clean_environment({}, found), ElementsAre(HasSubstr("PATH=/usr/local/bin:")));
  found.mpi = "openmpi";
  found.prefix = "/opt/mpi";
  found.library_folders = "/opt/mpi/lib:/opt/ucx/lib";
  EXPECT_THAT(clean_environment(mine, found),
              ElementsAre("PATH=/opt/mpi/bin:/bin", "LD_LIBRARY_PATH=/opt/mpi/lib:/opt/ucx/lib:/b",
                          "OPAL_PREFIX=/opt/mpi"));
  EXPECT_THAT(with_installation({"A=1"}, found),
              ElementsAre("A=1", "PATH=/opt/mpi/bin", "LD_LIBRARY_PATH=/opt/mpi/lib:/opt/ucx/lib",
                          "OPAL_PREFIX=/opt/mpi"));
  EXPECT_THAT(handed_on_variables(mine), ElementsAre("UCX_TLS=tcp", "RAILGAUGE_LIBCUDA=/f"));
  EXPECT_THAT(handed_on_variables({"RAILGAUGE_DATA_ADDRESS=10.0.0.1", "RAILGAUGE_TLS_KEY=/k",
                                   "RAILGAUGE_LAUNCH_SOCKET=/s", "RAILGAUGE_STATE_DIR=/d",
                                   "FI_PROVIDER=tcp"}),
              ElementsAre("FI_PROVIDER=tcp"))
      << "an agent's own";
}

TEST(MpiWords, ReadTheLaunchersVersion) {
  EXPECT_EQ(launcher_version("mpirun (Open MPI) 4.1.4\n\nReport bugs to ...\n"), "Open MPI 4.1.4");
  EXPECT_EQ(launcher_version("mpirun.openmpi (OpenRTE) 4.1.4\n"), "Open MPI 4.1.4");
  EXPECT_EQ(launcher_version("HYDRA build details:\n    Version:        4.0.2\n    Release"),
            "Hydra 4.0.2");
  EXPECT_EQ(launcher_version("Version: mvapich2-2.3.7\nBuild by ...\n"), "mvapich2-2.3.7");
  EXPECT_EQ(launcher_version("srun 23.02\n"), "srun 23.02");
  EXPECT_EQ(launcher_version(""), "");
}

TEST(MpiAddress, IsTheOneOnTheDeclaredNetwork) {
  const std::vector<HostAddress> host{
      {"lo", "127.0.0.1", 8}, {"mgmt0", "10.0.2.15", 24}, {"ib0", "192.0.2.7", 24}};
  const auto on = [&](const char* declared, const char* own = "") {
    return data_address(declared, own, host, {"ib0"});
  };
  for (const char* declared : {"192.0.2.0/24", "ib0", ""}) {
    const auto found = on(declared);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->address, "192.0.2.7");
    EXPECT_EQ(found->network, "192.0.2.0/24");
    EXPECT_EQ(found->interface, "ib0");
  }
  const auto many = on("127.0.0.0/8", "127.0.0.5");
  ASSERT_TRUE(many);
  EXPECT_EQ(many->address, "127.0.0.5");
  EXPECT_THAT(many->own_addresses, ElementsAre("127.0.0.1", "127.0.0.5"));
  EXPECT_THAT(on("203.0.113.0/24").error().message, HasSubstr("ib0 192.0.2.7/24"));
  EXPECT_EQ(on("203.0.113.0/24").error().code, Code::kFailedPrecondition);
  EXPECT_FALSE(on("192.0.2.0/240"));
  EXPECT_FALSE(on("192.0.2.0/24", "10.0.2.15"));
  EXPECT_EQ(data_address("", "", host, {}).error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(in_network("192.0.2.255", "192.0.2.0/24"));
  EXPECT_FALSE(in_network("192.0.3.0", "192.0.2.0/24"));
}

TEST(MpiTransports, AreReadOfWhatRanksSay) {
  const auto ucx = transport_facts(
      "[1.5] [n1:77:0]  ucp_worker.c:1855 UCX  INFO  ep_cfg[1]: tag(posix/memory tcp/eth0);\n"
      "[1.6] [n1:77:0]  ucp_worker.c:1855 UCX  INFO  ep_cfg[2]: tag(rc_verbs/rxe0:1); \n");
  EXPECT_EQ(ucx.at("mpi_transports_configured"), "posix/memory,rc_verbs/rxe0:1,tcp/eth0");
  const auto btl =
      transport_facts("[n1:5] mca: bml: Using tcp btl for send to [[1,1],1] on node b\n");
  EXPECT_EQ(btl.at("mpi_btl_configured"), "tcp");
  const auto ofi = transport_facts(
      "[n1:5] mtl_ofi_component.c:366: mtl:ofi:prov: verbs;ofi_rxm\n[n1:5] x: mtl:ofi:prov: none\n"
      "[n1:6] mtl_ofi_component.c:366: mtl:ofi:prov: verbs;ofi_rxm\n");
  EXPECT_EQ(ofi.at("mpi_provider_configured"), "verbs;ofi_rxm");
  EXPECT_TRUE(transport_facts("nothing of the kind\n").empty());
}

// Lines of several ranks run into each other.
TEST(MpiTransports, ALineWithoutANameGivesNoFact) {
  EXPECT_TRUE(transport_facts("[n1:5] mca: bml: Using  tcp btl for send\n").empty());
  EXPECT_TRUE(transport_facts("[n1:5] mca: bml: Using \n").empty());
  const auto btl = transport_facts(
      "[n1:5] mca: bml: Using  tcp btl for send\n[n1:6] mca: bml: Using self btl for send\n");
  EXPECT_EQ(btl.at("mpi_btl_configured"), "self");
}

TEST(MpiTransports, AreMissedWhereRanksThatPassedSayNone) {
  const auto said = [](const std::string& words) {
    LauncherEnd end;
    end.words = words;
    return end;
  };
  Final passed;
  passed.set_outcome("passed");
  EXPECT_THAT(silence_warning(passed, said("nothing\n")), HasSubstr("did not say its transports"));
  EXPECT_EQ(silence_warning(passed, said("mca: bml: Using tcp btl for send to x\n")), "");
  passed.set_outcome("crashed");
  EXPECT_EQ(silence_warning(passed, said("nothing\n")), "");
}

// Records of another user are refused; those of the next connection are read.
TEST(MpiRecords, AreOfThisUsersProcessesOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be somebody else";
  std::string folder = (std::filesystem::temp_directory_path() / "mpi_records_XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/records";
  auto listener = listen_at_path(path);
  ASSERT_TRUE(listener);
  for (const std::string& name : {folder, path})
    std::filesystem::permissions(name, std::filesystem::perms::all);
  Record record;
  record.mutable_note()->set_text("of another");
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::seteuid(kNobody), 0);
  auto other = SocketSink::connect(path);
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(other->write(record));
  auto own = SocketSink::connect(path);
  ASSERT_TRUE(own);
  record.mutable_note()->set_text("our own");
  ASSERT_TRUE(own->write(record));
  MpiRecords records(std::move(*listener));
  std::vector<Record> read = records.read();
  if (read.empty()) read = records.read();
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].note().text(), "our own");
  std::filesystem::remove_all(folder);
}

TEST(LauncherEnd, SaysWhatARankCalledFatalBeforeTheLinesThatFollowedIt) {
  const std::string fatal = "[n2:199  :0:199]       ud_ep.c:276  Fatal: UD endpoint: timeout error";
  EXPECT_EQ(
      last_lines("zero\n" + fatal + "\n 0  /lib/libucs.so.0\n 1  /lib/x\nEXIT CODE: 6\nend\n"),
      fatal + " /  1  /lib/x / EXIT CODE: 6 / end");
  EXPECT_EQ(last_lines("zero\none\n" + fatal + "\ntwo\n"), "one / " + fatal + " / two");
  EXPECT_EQ(last_lines("zero\none\ntwo\nthree\n"), "one / two / three");
  EXPECT_EQ(last_lines("one\x1b[2J\x7ftwo\n"), "one [2J two");
}

TEST(LauncherEnd, TellsLongLinesByTheirBeginnings) {
  const std::string umlauts = [] {
    std::string out = "x";
    for (int i = 0; i < 400; ++i) out += "\xc3\xa4";
    return out;
  }();
  const std::string told = last_lines(umlauts + "\n" + std::string(100U << 10U, 'y'));
  EXPECT_EQ(told, umlauts.substr(0, 399) + " / " + std::string(400, 'y'));
  EXPECT_EQ(beginning_of("ab", 2), "ab");
  EXPECT_EQ(beginning_of("ab", 1), "a");
  EXPECT_EQ(beginning_of("", 0), "");
}

TEST(MpiKept, ReadsNoMoreThanItIsAskedFor) {
  for (const std::size_t most : {std::size_t{8}, std::size_t{20000}}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const std::string much(30000, 'x');
    ASSERT_EQ(::write(ends[1], much.data(), much.size()), 30000);
    ::close(ends[1]);
    Fd fd(ends[0]);
    std::string read;
    read_what_is_there(fd, read, most);
    EXPECT_EQ(read.size(), most);
    read_what_is_there(fd, read, 1U << 20U);
    EXPECT_EQ(read, much);
  }
}

TEST(LauncherEnd, IsToldByRankZeroUnlessTheLauncherKnowsBetter) {
  Final passed;
  passed.set_outcome("passed");
  LauncherEnd end{.name = "mpirun", .words = "one\ntwo\n---\nthree\nfour.\n", .final = passed};
  EXPECT_EQ(final_of(end).outcome(), kPassed);
  end.wait_status = 7 << 8;
  EXPECT_EQ(final_of(end).outcome(), kCrashed);
  EXPECT_EQ(final_of(end).reason(), "mpirun: exited with 7; its last lines: two / three / four");
  EXPECT_EQ(finalize_warning(end.words), "");
  LauncherEnd hung = end;
  hung.words = fmt::format("{}exited oddly\n", kFinalizeHangs);
  EXPECT_EQ(final_of(hung).outcome(), kPassed);
  EXPECT_THAT(finalize_warning(hung.words), HasSubstr("the figures stand"));
  end.final->set_outcome("failed");
  EXPECT_EQ(final_of(end).outcome(), kFailed);
  end.final.reset();
  end.past_deadline = true;
  EXPECT_EQ(final_of(end).outcome(), kTimedOut);
}

TEST(LauncherEnd, NamesARealTimeSignalByItsNumber) {
  const LauncherEnd end{
      .name = "mpirun", .wait_status = 34, .words = "one\n", .final = {}, .ending_signal = 0};
  EXPECT_THAT(final_of(end).reason(), HasSubstr("was ended by signal 34; its last lines: one"));
  EXPECT_EQ(final_of(end).exit_signal(), 34);
}

TEST(LauncherEnd, IsWaivedWhereUcxIgnoresATunable) {
  Final passed;
  passed.set_outcome("passed");
  LauncherEnd end{
      .name = "mpiexec",
      .words =
          "[1.5] [n1:77:0] parser.c:1916 UCX  WARN  unused env variable: UCX_RNDV_THRESH2 "
          "(set UCX_WARN_UNUSED_ENV_VARS=n to suppress this warning)\n",
      .settings = "OMPI_MCA_pml=ucx UCX_RNDV_THRESH=1024 UCX_TLS=rc",
      .final = passed};
  EXPECT_EQ(final_of(end).outcome(), kPassed);
  end.settings = "OMPI_MCA_pml=ucx UCX_TLS=rc UCX_RNDV_THRESH2=1024";
  EXPECT_EQ(final_of(end).outcome(), kWaived);
  EXPECT_THAT(final_of(end).reason(), ::testing::StartsWith("UCX_RNDV_THRESH2: the UCX of these"));
  end.settings = "";
  EXPECT_EQ(final_of(end).outcome(), kPassed);
}

// UCX says it once, at its start; what a launcher says after it may be long.
TEST(LauncherEnd, AWarningThatCameEarlyIsNotLost) {
  LauncherEnd end{.name = "mpirun",
                  .words = "[1.5] [n1:77:0] parser.c:1916 UCX  WARN  unused env variable: UCX_X\n",
                  .settings = "UCX_X=1",
                  .final = Final()};
  end.final->set_outcome("passed");
  for (int i = 0; i < 400; ++i) {
    end.words += std::string(300, 'w') + "\n";
    drop_old_lines(end);
    EXPECT_LE(end.words.size(), kMostLauncherWords);
  }
  EXPECT_EQ(final_of(end).outcome(), kWaived);
  end.words = std::string(kMostLauncherWords + 5, 'w');  // no line's end
  drop_old_lines(end);
  EXPECT_EQ(end.words.size(), kMostLauncherWords);
}

TEST(LauncherEnd, TransportsThatWereToldEarlyAreNotLost) {
  LauncherEnd end;
  end.words =
      "[1.5] [n1:77:0] ucp_worker.c:1 UCX  INFO    ep_cfg[1]: tag(rc_mlx5/mlx5_0:1);\n"
      "[n1:5] mca: bml: Using tcp btl for send to [[1,1],1] on node b\n";
  const auto told = transport_facts(end);
  for (int i = 0; i < 4000; ++i) {
    end.words +=
        fmt::format("[1.5] [n{}:77:0] ucp_worker.c:1 UCX  INFO    ep_cfg[1]: rma(self);\n", i);
    drop_old_lines(end);
    EXPECT_LE(end.words.size(), kMostLauncherWords);
  }
  EXPECT_EQ(transport_facts(end), told);
  EXPECT_EQ(told.at("mpi_transports_configured"), "rc_mlx5/mlx5_0:1");
  EXPECT_EQ(told.at("mpi_btl_configured"), "tcp");
  EXPECT_LT(end.transports.size(), 200U) << "each once";
  Final passed;
  passed.set_outcome("passed");
  EXPECT_EQ(silence_warning(passed, end), "");
}

TEST(MpiWords, WhoTunesHearsOfUcxWhatItIgnored) {
  std::vector<std::string> mine{"A=b", "UCX_LOG_LEVEL=error", "UCX_WARN_UNUSED_ENV_VARS=n"};
  std::vector<std::string> untuned = mine;
  add_transport_reporting("mpich", false, untuned);
  EXPECT_EQ(untuned, mine) << "a person's word stands";
  add_transport_reporting("mpich", true, mine);
  EXPECT_THAT(mine, ::testing::UnorderedElementsAre("A=b", "UCX_LOG_LEVEL=info",
                                                    "UCX_WARN_UNUSED_ENV_VARS=y"));
}

TEST(MpiWords, GiveEachRankItsEndpointWhereOneHasOne) {
  LaunchPlan plan;
  plan.program = {"/opt/railgauge/bin/ranks", "mpi.rate"};
  plan.endpoints = {"", ""};
  add_endpoints(plan);
  EXPECT_EQ(plan.program.size(), 2U);
  plan.endpoints = {"gpu0", "gpu1", "mlx5_0:1"};
  add_endpoints(plan);
  EXPECT_THAT(plan.program,
              ElementsAre("/opt/railgauge/bin/ranks", "mpi.rate", "-d", "gpu0,gpu1,mlx5_0:1"));
}

}  // namespace
}  // namespace railgauge
