// Enrolment end to end over real TLS: the controller's, the agent's and the CLI's programs.
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/http/call.h"
#include "controller/testing/agent_process.h"
#include "controller/testing/controller_process.h"
#include "controller/testing/server_bench.h"
#include "controller/trust/authority/authority.h"
#include "controller/trust/signing_request.h"
#include "controller/trust/testing/authority_folder.h"
#include "kernels/core/base/spawn.h"

namespace railgauge::enrol {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_agent::ControllerProcess;
using testing_agent::program;
using testing_agent::Said;
using testing_agent::ServerBench;
using testing_agent::until;

std::string text_of_path(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Said shell(const std::string& line) {
  Said said;
  FILE* pipe = ::popen((line + " 2>&1").c_str(), "r");
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = std::fread(chunk.data(), 1, chunk.size(), pipe)) > 0;)
    said.text.append(chunk.data(), n);
  said.exit_code = WEXITSTATUS(::pclose(pipe));
  return said;
}

// An agent that has nothing but the settings file that `enroll` wrote.
class EnrolledAgent {
 public:
  explicit EnrolledAgent(const std::string& folder) {
    const auto started =
        start_program({.argv = {program("railgauge-agent"), "--config=" + folder + "/agent.conf",
                                "--state-dir=" + folder + "/state", "--metrics-listen=none",
                                "--busy-sources=none", "--watch-seconds=0",
                                "--runner=" + program("railgauge-runner-testing")}});
    EXPECT_TRUE(started);
    pid_ = started.value_or(-1);
  }
  ~EnrolledAgent() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    wait_for_end(pid_);
  }
  EnrolledAgent(const EnrolledAgent&) = delete;
  EnrolledAgent& operator=(const EnrolledAgent&) = delete;

 private:
  pid_t pid_ = -1;
};

class EnrolmentProcess : public testing::Test {
 protected:
  void SetUp() override {
    authority_.issue("controller", "controller", {"localhost", "127.0.0.1"});
    controller_ = std::make_unique<ControllerProcess>(
        bench_, std::vector<std::string>{"--listen=127.0.0.1:0", "--enroll-listen=127.0.0.1:0",
                                         "--enroll-pki=" + authority_.path(), "--enroll-days=30",
                                         "--tls-cert=" + authority_.path("controller.crt"),
                                         "--tls-key=" + authority_.path("controller.key"),
                                         "--tls-ca=" + authority_.path("ca.crt"),
                                         "--tls-crl=" + authority_.path("crl.pem")});
    ASSERT_TRUE(controller_->wait_until_serving()) << controller_->error_text();
    std::smatch found;
    const std::string log = controller_->error_text();
    ASSERT_TRUE(std::regex_search(log, found, std::regex("enrolment on port (\\d+)"))) << log;
    port_ = found[1];
  }
  Said cli(const std::string& words) const { return testing_agent::cli(bench_, words); }
  std::string token(const std::string& words = "") const {
    const Said said = cli("tokens create " + words);
    return said.text.substr(said.text.find("rgt_"), 3 + 1 + 8 + 1 + 32 + 1 + 64);
  }
  Said enroll(const std::string& name, const std::string& words,
              const std::string& killed_at = "") const {
    const std::string folder = bench_.path(name);
    std::filesystem::create_directories(folder);
    return shell((killed_at.empty() ? "" : "RAILGAUGE_FAILPOINT=" + killed_at + " ") +
                 fmt::format("{} enroll --controller localhost:{} --name {} --state-dir {}/state "
                             "--config {}/agent.conf --no-start {}",
                             program("railgauge-agent"), port_, name, folder, folder, words));
  }
  [[nodiscard]] std::string file(const std::string& name, const std::string& which) const {
    return bench_.path(name + "/state/tls/" + which);
  }
  bool attaches(const std::string& name) const {
    return until([&] { return is(name, "attached"); });
  }
  bool is(const std::string& name, const std::string& state) const {
    return std::regex_search(cli("nodes").text, std::regex(name + "\\s+1\\s+" + state));
  }
  // Puts a certificate of the node's key in place of which a third of the life is over by far.
  void age(const std::string& name) const {
    const std::string held = text_of_path(file(name, "agent.crt"));
    const double now = trust::unix_now();
    const auto old = trust::enrol(authority_.path(),
                                  {.name = name,
                                   .public_key = trust::key_of_certificate(held).value(),
                                   .hosts = {"DNS:" + name},
                                   .days = 1,
                                   .repeats_since = now},
                                  now - 23 * 3'600);
    ASSERT_TRUE(old) << old.error().message;
    std::ofstream(file(name, "agent.crt.draft")) << old->certificate;
    std::filesystem::rename(file(name, "agent.crt.draft"), file(name, "agent.crt"));
  }

  ServerBench bench_;
  trust::AuthorityFolder authority_;
  std::unique_ptr<ControllerProcess> controller_;
  std::string port_;
};

TEST_F(EnrolmentProcess, ANodeEnrolsAttachesRenewsAndIsRevoked) {
  const Said enrolled = enroll("n1", "--token " + token("--nodes n1"));
  ASSERT_EQ(enrolled.exit_code, 0) << enrolled.text;
  EXPECT_THAT(enrolled.text, HasSubstr("node n1: certificate, serial "));
  EXPECT_FALSE(std::filesystem::exists(bench_.path("n1/agent.conf"))) << "the package's file";
  EXPECT_THAT(text_of_path(bench_.path("n1/agent.d/enrolment.conf")),
              AllOf(HasSubstr("controller = localhost:"),
                    HasSubstr("renew_from = localhost:" + port_), HasSubstr("name = n1")));
  EXPECT_EQ(std::filesystem::status(file("n1", "agent.key")).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  {
    const EnrolledAgent agent(bench_.path("n1"));
    ASSERT_TRUE(attaches("n1")) << controller_->error_text();
  }
  age("n1");
  const std::string aged = text_of_path(file("n1", "agent.crt"));
  const EnrolledAgent agent(bench_.path("n1"));
  ASSERT_TRUE(until([&] { return text_of_path(file("n1", "agent.crt")) != aged; }));
  const auto renewed = trust::parse_certificate(text_of_path(file("n1", "agent.crt")));
  ASSERT_TRUE(renewed);
  EXPECT_GT(renewed->until_unix, trust::unix_now() + 29 * 86'400);
  ASSERT_TRUE(attaches("n1"));
  const Said revoked = cli("pki revoke " + authority_.path() + " n1");
  ASSERT_EQ(revoked.exit_code, 0) << revoked.text;
  EXPECT_TRUE(until([&] { return is("n1", "(lost|detached)"); })) << cli("nodes").text;
  const auto again = http::call(fmt::format("https://localhost:{}", port_),
                                {.method = "POST",
                                 .path = "/v1/renew",
                                 .ca_file = file("n1", "ca.crt"),
                                 .certificate_file = file("n1", "agent.crt"),
                                 .key_file = file("n1", "agent.key")});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->status, 403);
  EXPECT_THAT(again->body, HasSubstr("it is revoked"));
  EXPECT_THAT(cli("audit").text, AllOf(HasSubstr("Enrolment.CreateToken"),
                                       HasSubstr("Enrolment.Enrol"), HasSubstr("Enrolment.Renew")));
}

TEST_F(EnrolmentProcess, EachRefusalIsOneLineThatHelps) {
  const std::string once = token("--nodes n1");
  const auto said = [&](const std::string& name, const std::string& words) {
    const Said refused = enroll(name, words);
    EXPECT_NE(refused.exit_code, 0) << refused.text;
    EXPECT_EQ(std::ranges::count(refused.text, '\n'), 1) << refused.text;
    return refused.text;
  };
  EXPECT_THAT(said("n2", "--token " + once), HasSubstr("it is for n1, not for node n2"));
  EXPECT_THAT(said("n1", "--token " + once.substr(0, once.size() - 64) + std::string(64, '0')),
              HasSubstr("its authority has the fingerprint"));
  ASSERT_EQ(enroll("n1", "--token " + once).exit_code, 0);
  EXPECT_THAT(said("n1", "--token " + once), HasSubstr("this node is enrolled as n1"));
  EXPECT_THAT(said("n1", "--force --token " + once), HasSubstr("all its uses are taken"));
  EXPECT_THAT(said("n1", "--force --token " + token()),
              HasSubstr("tokens create --nodes n1 --replace"));
  const std::string gone = token();
  EXPECT_EQ(cli("tokens revoke " + gone.substr(4, 8)).exit_code, 0);
  EXPECT_THAT(said("n3", "--token " + gone), HasSubstr("it was revoked"));
  std::ofstream(bench_.path("n3/agent.conf")) << "controller = other:1\n";
  EXPECT_THAT(said("n3", "--token " + token()), HasSubstr("controller is \"other:1\" there"));
  const Said replaced = enroll("n1", "--force --token " + token("--nodes n1 --replace"));
  EXPECT_EQ(replaced.exit_code, 0) << replaced.text;
  EXPECT_THAT(cli("tokens").text,
              AllOf(HasSubstr("revoked"), HasSubstr("used"), HasSubstr("valid")));
}

TEST_F(EnrolmentProcess, ACallKilledAfterItsCertificateIsFinishedByTheSameCallWithoutAUse) {
  const std::string once = token("--nodes n1");
  for (const char* place : {"enroll.placed", "enroll.settings"}) {
    SCOPED_TRACE(place);
    const Said killed = enroll("n1", "--token " + once, place);
    EXPECT_NE(killed.exit_code, 0) << killed.text;
    EXPECT_TRUE(std::filesystem::exists(file("n1", "agent.crt")));
  }
  const Said finished = enroll("n1", "--token " + once);
  ASSERT_EQ(finished.exit_code, 0) << finished.text;
  EXPECT_THAT(finished.text, HasSubstr("an earlier call is finished"));
  EXPECT_THAT(enroll("n1", "--token " + once).text, HasSubstr("this node is enrolled as n1"));
  const EnrolledAgent agent(bench_.path("n1"));
  EXPECT_TRUE(attaches("n1")) << controller_->error_text();
}

TEST_F(EnrolmentProcess, AReplacementKilledBetweenItsFilesIsFinishedAtTheAgentsStart) {
  ASSERT_EQ(enroll("n1", "--token " + token("--nodes n1")).exit_code, 0);
  const std::string old = text_of_path(file("n1", "agent.crt"));
  const std::string replacing = token("--nodes n1 --replace");
  EXPECT_NE(enroll("n1", "--force --token " + replacing, "enroll.moving").exit_code, 0);
  EXPECT_EQ(text_of_path(file("n1", "agent.crt")), old) << "with another key by now";
  const EnrolledAgent agent(bench_.path("n1"));
  EXPECT_TRUE(attaches("n1")) << controller_->error_text();
  EXPECT_NE(text_of_path(file("n1", "agent.crt")), old);
}

// The older certificate is revoked by then: what the same call ends with is the new one.
TEST_F(EnrolmentProcess, AReplacementKilledBeforeItsFilesIsMadeByTheSameCall) {
  ASSERT_EQ(enroll("n1", "--token " + token("--nodes n1")).exit_code, 0);
  const std::string old = text_of_path(file("n1", "agent.crt"));
  const std::string again = "--force --token " + token("--nodes n1 --replace");
  EXPECT_NE(enroll("n1", again, "enroll.begun").exit_code, 0);
  EXPECT_EQ(text_of_path(file("n1", "agent.crt")), old);
  const Said made = enroll("n1", again);
  EXPECT_EQ(made.exit_code, 0) << made.text;
  EXPECT_NE(text_of_path(file("n1", "agent.crt")), old);
  const EnrolledAgent agent(bench_.path("n1"));
  EXPECT_TRUE(attaches("n1")) << controller_->error_text();
}

// The measurement of deploy/docs/results/enrolment.md, on a few nodes.
TEST_F(EnrolmentProcess, AModelledFleetEnrolsAtOnce) {
  std::ofstream(bench_.path("token")) << token("--uses 24") << "\n";
  const Said said = shell(
      fmt::format("{} --enroll localhost:{} --token-file {} --certificates {} "
                  "--nodes 24 --at-once 8",
                  program("railgauge-fleet"), port_, bench_.path("token"), bench_.path("fleet")));
  EXPECT_EQ(said.exit_code, 0) << said.text;
  EXPECT_THAT(said.text, HasSubstr("24 nodes enrolled in "));
  std::size_t certificates = 0;
  for (const auto& entry : std::filesystem::directory_iterator(bench_.path("fleet")))
    certificates += entry.path().extension() == ".crt" ? 1 : 0;
  EXPECT_EQ(certificates, 25U) << "24 and the authority";
}

}  // namespace
}  // namespace railgauge::enrol
