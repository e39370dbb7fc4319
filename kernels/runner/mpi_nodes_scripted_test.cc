// MPI tasks between nodes with scripts in place of launchers and daemons: the requests that the
// shim carries, refuses and ends, and the clean-up after a failed task.
#include <signal.h>

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
#include "kernels/runner/testing/mpi_nodes.h"

namespace railgauge {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_nodes::expect_all_ended;
using testing_nodes::Folder;
using testing_nodes::kLauncherVariable;
using testing_nodes::kMpi;
using testing_nodes::Nodes;
using testing_nodes::run;
using testing_nodes::story;
using testing_nodes::wait_until;
using testing_nodes::Words;
using testing_process::Ended;
using testing_process::Process;
using testing_process::program;

// The request of each real launcher for rank 1's node, as a shell has it.
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

TEST(MpiNodesByScripts, CarryTheDaemonsWordsAndItsEnd) {
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
TEST(MpiNodesByScripts, EndClearlyWhenALauncherAndADaemonSayMuchWithoutALinesEnd) {
  const Folder folder;
  const std::string much = "head -c 65500 /dev/zero | tr '\\0' x";
  const Words own =
      scripted(folder,
               fmt::format("\"$shim\" {} >{}/said 2>&1\n{}\nexit 5",
                           daemon_words("127.0.0.3", "127.0.0.1"), folder.path.string(), much),
               fmt::format("{0} & {0} >&2; wait", much));
  const auto ranks = run(folder, {.mpi = kMpi, .environments = {own, own}});
  expect_all_ended(folder, ranks, "crashed", "its last lines: xxx");
  EXPECT_EQ(folder.read("said").size(), 131000U);
}

// Launchers pass SIGUSR1 on by themselves; to the shim it means nothing.
TEST(MpiNodesByScripts, EndADaemonWithItsShimAndWithNothingLess) {
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

TEST(MpiNodesByScripts, HearACancelAndTheDeadlineWhileALauncherDoesNotTellItsVersion) {
  const Folder folder;
  const std::string launcher = folder.script(
      "launcher", fmt::format("echo thinking about it\ntouch {}/asked.$$\nexec sleep 600",
                              folder.path.string()));
  const auto asked = [&] {
    std::vector<std::filesystem::path> marks;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path))
      if (entry.path().stem() == "asked") marks.push_back(entry.path());
    return marks;
  };
  const Words own{kLauncherVariable + launcher};
  const auto late = run(folder, {.mpi = kMpi, .deadline_seconds = 3, .environments = {own, own}});
  expect_all_ended(folder, late, "timed_out", "thinking about it");
  for (const auto& mark : asked()) std::filesystem::remove(mark);
  Nodes nodes(folder, {.mpi = kMpi, .environments = {own, own}});
  EXPECT_TRUE(wait_until([&] { return asked().size() == 2; })) << "each node asks its own";
  const double begin_ns = monotonic_now_ns();
  nodes.cancel();
  nodes.wait();
  EXPECT_LT((monotonic_now_ns() - begin_ns) / 1e9, 60) << "half of its deadline";
  expect_all_ended(folder, nodes.ranks, "cancelled");
}

// It has daemons on nodes that our shim was never asked about.
TEST(MpiNodesByScripts, LetALauncherBySshTellItsOwnDaemons) {
  const Folder folder;
  const std::string path = folder.path.string();
  const Words own = scripted(folder,
                             fmt::format("trap 'sleep 0.3; touch {0}/told; exit 9' TERM\n"
                                         "touch {0}/up\nwhile :; do sleep 0.05; done",
                                         path),
                             "exit 1");
  Nodes nodes(folder, {.mpi = kMpi, .parameters = {{"launch", "ssh"}}, .environments = {own, own}});
  EXPECT_TRUE(wait_until([&] { return std::filesystem::exists(folder.path / "up"); }));
  nodes.cancel();
  nodes.wait();
  EXPECT_TRUE(std::filesystem::exists(folder.path / "told")) << story(nodes.ranks);
  expect_all_ended(folder, nodes.ranks, "cancelled");
}

// On both nodes a process hangs and ignores signals, beside a process in a session of its own.
TEST(MpiNodesByScripts, LeaveNoProcessOnAnyNodeAfterTheDeadline) {
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
  expect_all_ended(folder, nodes.ranks, "timed_out");
  EXPECT_THAT(nodes.ranks[0].final().reason(), HasSubstr("waiting for nobody"));
}

TEST(MpiNodesByScripts, RefuseAnyOtherCommandAForeignNodeAndAnExpiredLease) {
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
