// The real program as a process against a fake controller on a real unix socket: exit codes,
// signals, terminals, and its JSON read by jq.
#include <poll.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/process_testing.h"
#include "controller/cli/testing/samples.h"
#include "kernels/core/base/outcome.h"

namespace railgauge::cli {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(Process, AnAbsentControllerIsOneLineWithAddressCauseAndRemedy) {
  EXPECT_EQ(run({"nodes"}), kExitInvalid);
  EXPECT_EQ(err_, "railgauge: controller " + address_ +
                      ": No such file or directory; is railgauge-controller running on this host? "
                      "--controller names another\n");
  EXPECT_THAT(out_, IsEmpty());
}

TEST_F(Process, ASocketThatNobodyListensOnIsTold) {
  serve();
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  std::ofstream(folder_ + "/controller.sock") << "a file, no socket";
  EXPECT_EQ(run({"nodes", "-o", "json"}), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("Connection refused"));
  EXPECT_TRUE(jq(".schema_version == 1 and .error.code == \"unavailable\""));
}

TEST_F(Process, ASilentControllerMeetsTheDeadline) {
  serve();
  control_.nodes_delay_seconds = 1.5;
  EXPECT_EQ(run({"nodes", "--timeout", "100ms"}), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("no answer in time"));
}

TEST_F(Process, TheVariableNamesTheControllerToo) {
  serve();
  setenv("RAILGAUGE_FORMAT", "csv", 1);
  EXPECT_EQ(run({"nodes"}), kExitPassed);
  unsetenv("RAILGAUGE_FORMAT");
  EXPECT_THAT(out_, testing::StartsWith("name,node_id,state"));
}

TEST_F(Process, RunEndsWithTheRunsOutcome) {
  serve();
  for (const auto& [outcome, code] : {std::pair{"passed", 0}, std::pair{"failed", 1},
                                      std::pair{"crashed", 4}, std::pair{"waived", 5}}) {
    control_.outcome = outcome;
    EXPECT_EQ(run({"run", "quick", "-o", "json"}), code) << err_;
    EXPECT_TRUE(jq(std::string(".run.outcome == \"") + outcome + "\"")) << out_;
  }
}

TEST_F(Process, ARunOfAControllerWithoutAJudgeIsShownAndItsFindingsAreSaidToBeAbsent) {
  serve(/*has_judge=*/false);
  EXPECT_EQ(run({"run", "quick", "-o", "json"}), kExitPassed) << err_;
  EXPECT_TRUE(jq(".run.outcome == \"passed\"")) << out_;
  EXPECT_THAT(err_, HasSubstr("does not tell a run's findings"));
}

TEST_F(Process, JqReadsTheResults) {
  serve();
  EXPECT_EQ(run({"results", "--format", "json"}), 0);
  EXPECT_TRUE(jq("keys_unsorted[0] == \"schema_version\""));
  EXPECT_TRUE(
      jq("[.points[] | .point | has(\"median\", \"median_low\", \"p99\", \"p999\", "
         "\"sample_count\", \"unit\")] | all"));
  EXPECT_TRUE(jq(".points[0].point.median == 2317.25 and .points[0].facts.path == \"host\""));
  EXPECT_TRUE(jq(".points[3].point.p99 == null and .points[3].point.lag1_autocorrelation == null"));
  EXPECT_TRUE(jq(".points[4].point.synthetic == true and .points[4].point.verified == false"));
}

TEST_F(Process, JqReadsEveryEventOfARun) {
  serve();
  EXPECT_EQ(run({"run", "quick", "-o", "ndjson"}), 0);
  EXPECT_EQ(std::ranges::count(out_, '\n'), 4);
  EXPECT_TRUE(jq(".run.run_id == \"" + std::string(kSampleRun) + "\""));
}

TEST_F(Process, DetachPrintsTheRunsIdAlone) {
  serve();
  control_.endless = true;
  EXPECT_EQ(run({"run", "quick", "--detach"}), 0);
  EXPECT_EQ(out_, std::string(kSampleRun) + "\n");
}

TEST_F(Process, OneCtrlCDetachesAndTellsTheExactCommand) {
  serve();
  control_.endless = true;
  start({"run", "quick"});
  ASSERT_TRUE(control_.wait_until_watched(kChildSeconds));
  kill(child_, SIGINT);
  EXPECT_EQ(wait_for_end(), kExitInterrupted);
  EXPECT_THAT(err_, HasSubstr("cancel it with: railgauge --controller " + address_ +
                              " runs cancel " + kSampleRun + " "));
  EXPECT_EQ(control_.cancels(), 0);
}

TEST_F(Process, TwoCtrlCCancelAndVerify) {
  serve();
  control_.endless = true;
  start({"run", "quick", "-o", "json"});
  ASSERT_TRUE(control_.wait_until_watched(kChildSeconds));
  kill(child_, SIGINT);
  ASSERT_TRUE(wait_for_message("press Ctrl-C again"));
  kill(child_, SIGINT);
  EXPECT_EQ(wait_for_end(), kExitInterrupted) << err_;
  EXPECT_EQ(control_.cancels(), 1);
  EXPECT_TRUE(jq(".run.state == \"ended\" and .run.outcome == \"cancelled\"")) << out_;
}

TEST_F(Process, TermEndsAsTerminatedAndTheRunGoesOn) {
  serve();
  control_.endless = true;
  start({"run", "quick"});
  ASSERT_TRUE(control_.wait_until_watched(kChildSeconds));
  kill(child_, SIGTERM);
  EXPECT_EQ(wait_for_end(), kExitTerminated);
  EXPECT_THAT(err_, HasSubstr("continues; cancel it with"));
  EXPECT_EQ(control_.cancels(), 0);
}

// It prints its own version all the same, so that the call that ended is no error of the verb. The
// controller accepts and is silent.
TEST_F(Process, TermEndsAVersionThatHangsAsTerminated) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = folder_ + "/controller.sock";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  const Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listening.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listening.get(), 1), 0);
  start({"version"});
  pollfd comes{.fd = listening.get(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&comes, 1, static_cast<int>(kChildSeconds * 1e3)), 1);
  kill(child_, SIGTERM);
  EXPECT_EQ(wait_for_end(), kExitTerminated);
  EXPECT_EQ(err_, "railgauge: interrupted\n");
}

TEST_F(Process, CtrlCEndsACallThatHangs) {
  serve();
  control_.nodes_delay_seconds = 2;
  start({"nodes"});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(child_, SIGINT);
  EXPECT_EQ(wait_for_end(), kExitInterrupted);
  EXPECT_EQ(err_, "railgauge: interrupted\n");
}

TEST_F(Process, AFullDiskIsNoSuccess) {
  serve();
  start({"results", "-o", "json"}, -1, "/dev/full");
  EXPECT_EQ(wait_for_end(), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("stdout: write: No space left on device"));
}

TEST_F(Process, ProgressIsARedrawnSummaryOnATerminal) {
  serve();
  int main_end = -1;
  int program_end = -1;
  ASSERT_EQ(openpty(&main_end, &program_end, nullptr, nullptr, nullptr), 0);
  const Descriptor terminal(main_end);
  Descriptor given(program_end);
  setenv("TERM", "xterm", 1);
  start({"run", "quick"}, given.get());
  const std::string shown = read_to_the_end(terminal, given);
  EXPECT_EQ(wait_for_end(), 0);
  EXPECT_THAT(shown, testing::ContainsRegex("\\[[#-]{20}\\] [0-2]/2  00:0"));
  EXPECT_THAT(shown, HasSubstr("\r\x1b[1A\x1b[J")) << "erased at the end";
  EXPECT_THAT(out_, HasSubstr("passed: 2 of 2 tasks"));
  EXPECT_THAT(out_, Not(HasSubstr("\x1b"))) << "stdout is a file";
}

TEST_F(Process, ColourIsForTerminalsWithoutNoColor) {
  serve();
  for (const auto& [no_color, wants_colour] : {std::pair{"", true}, std::pair{"1", false}}) {
    int main_end = -1;
    int program_end = -1;
    char name[128];
    ASSERT_EQ(openpty(&main_end, &program_end, name, nullptr, nullptr), 0);
    const Descriptor terminal(main_end);
    Descriptor given(program_end);
    setenv("TERM", "xterm", 1);
    setenv("NO_COLOR", no_color, 1);
    start({"nodes"}, -1, name);
    unsetenv("NO_COLOR");
    const std::string shown = read_to_the_end(terminal, given);
    EXPECT_EQ(wait_for_end(), 0);
    EXPECT_THAT(shown, HasSubstr("attached"));
    EXPECT_EQ(shown.find("\x1b[32m") != std::string::npos, wants_colour) << shown;
  }
}

TEST_F(Process, AThirdCtrlCEndsTheProgramAtOnce) {
  serve();
  control_.endless = true;
  control_.deaf_to_cancel = true;
  start({"run", "quick"});
  ASSERT_TRUE(control_.wait_until_watched(kChildSeconds));
  kill(child_, SIGINT);
  ASSERT_TRUE(wait_for_message("press Ctrl-C again"));
  kill(child_, SIGINT);
  ASSERT_TRUE(wait_for_message("cancelling"));
  kill(child_, SIGINT);
  EXPECT_EQ(wait_for_end(), kExitInterrupted);
}

TEST_F(Process, MutualTlsWorksWithTheCertificatesOfPkiSh) {
  serve_tls();
  Words words = certificates("alice", "pki");
  words.emplace_back("nodes");
  EXPECT_EQ(run(words), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("n10"));
}

TEST_F(Process, AStrangersCertificateIsRefusedWithAHintAtTheFlags) {
  serve_tls();
  make_certificate("ca " + folder_ + "/other");
  make_certificate("operator " + folder_ + "/other alice");
  Words words = certificates("alice", "other");
  words.emplace_back("nodes");
  EXPECT_EQ(run(words), kExitInvalid);
  EXPECT_THAT(err_, HasSubstr("see --tls-cert, --tls-key and --tls-ca")) << err_;
  EXPECT_EQ(std::ranges::count(err_, '\n'), 1) << err_;
}

TEST_F(Process, ACertificateFileThatIsNoneIsWrongUse) {
  std::ofstream(folder_ + "/text") << "no PEM";
  address_ = "127.0.0.1:1";
  const std::string text = folder_ + "/text";
  EXPECT_EQ(run({"--tls-cert", text, "--tls-key", text, "--tls-ca", text, "nodes"}), kExitUsage);
  EXPECT_EQ(err_, "railgauge: --tls-ca " + text + ": no PEM file\n");
}

TEST_F(Process, WrongUseIsOneLineAndExitCodeTwo) {
  EXPECT_EQ(run({"nodes", "shwo", "n1"}), kExitUsage);
  EXPECT_EQ(err_, "railgauge: nodes: unknown verb \"shwo\"; did you mean \"show\"?\n");
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_THAT(out_, testing::MatchesRegex("railgauge " RAILGAUGE_VERSION
                                          " \\(commit [^ ]+, schema 1\\)\n"));
}

TEST_F(Process, TheSettingsOfThisHostsProgramsAreCheckedByTheProgramsThemselves) {
  setenv("RAILGAUGE_CONTROLLER", ("unix:" + folder_ + "/none").c_str(), 1);
  setenv("RAILGAUGE_LOG_LEVEL", "debug", 1);
  EXPECT_EQ(run({"config", "check"}), kExitPassed) << err_;
  EXPECT_THAT(out_,
              HasSubstr("# railgauge-controller\nlog_level = debug  # RAILGAUGE_LOG_LEVEL\n"));
  EXPECT_THAT(out_, HasSubstr("log_level = debug  # RAILGAUGE_LOG_LEVEL\n# railgauge-agent\n"));
  setenv("RAILGAUGE_LOG_LEVEL", "loud", 1);
  EXPECT_EQ(run({"config", "check"}), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("railgauge-controller: --log-level"));
  EXPECT_EQ(run({"config", "check", "-o", "json"}), kExitUsage);
  EXPECT_TRUE(
      jq("[.programs[].exit_code] == [2, 2] and (.programs[0].fault | "
         "startswith(\"railgauge-controller: --log-level\"))"))
      << out_;
  EXPECT_THAT(err_, HasSubstr("railgauge-controller: --log-level"));
  setenv("RAILGAUGE_LOG_LEVEL", "debug", 1);
  EXPECT_EQ(run({"config", "check", "-o", "json"}), kExitPassed) << err_;
  EXPECT_TRUE(
      jq("keys_unsorted[0] == \"schema_version\" and .programs[0].program == "
         "\"railgauge-controller\" and .programs[0].fault == null and "
         ".programs[0].settings[0] == {\"key\": \"log_level\", \"value\": \"debug\", "
         "\"source\": \"RAILGAUGE_LOG_LEVEL\"}"))
      << out_;
  EXPECT_EQ(run({"config", "check", "-o", "csv"}), kExitPassed) << err_;
  EXPECT_THAT(out_, HasSubstr("program,key,value,source\n"
                              "railgauge-controller,log_level,debug,RAILGAUGE_LOG_LEVEL\n"));
  unsetenv("RAILGAUGE_LOG_LEVEL");
  unsetenv("RAILGAUGE_CONTROLLER");
}

}  // namespace
}  // namespace railgauge::cli
