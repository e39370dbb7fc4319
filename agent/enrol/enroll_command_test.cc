// `railgauge-agent enroll` against a port with a real authority: what a cut call leaves to do, whom
// the node believes, which files it writes, and a clock that is wrong.
#include "agent/enrol/enroll_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/enrol/agent_settings.h"
#include "agent/enrol/enrol_client.h"
#include "agent/enrol/enrol_testing.h"
#include "agent/enrol/enrolled_files.h"

namespace railgauge::agent {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kOwn = "agent.d/enrolment.conf";

class EnrollCommandTest : public NodeFolderTest {
 protected:
  Result<EnrolledNode> enroll(const EnrollCommand& command, double skew = 0) const {
    return enroll_node(command, trust::unix_now() + skew);
  }
  std::string refused(const EnrollCommand& command, double skew = 0) const {
    const auto node = enroll(command, skew);
    return node ? "enrolled" : node.error().message;
  }

  FakeEnrolmentPort port_;
  const trust::EnrolmentToken token_ = port_.token();
  EnrollCommand command_ = command(port_, token_);
};

TEST_F(EnrollCommandTest, WhatIsWrongIsSaidBeforeAnybodyIsAsked) {
  EnrollCommand wrong{
      .controller = "127.0.0.1:1", .state_dir = path("state"), .config = path("agent.conf")};
  EXPECT_THAT(refused(wrong), HasSubstr("--token TOKEN or --token-file"));
  wrong.token = "rgt_1";
  EXPECT_THAT(refused(wrong), HasSubstr("the token is not whole"));
  wrong.token = text_of(token_);
  wrong.name = "n/1";
  EXPECT_THAT(refused(wrong), HasSubstr("--name \"n/1\""));
  wrong.name = "n1";
  wrong.controller = "a b";
  EXPECT_THAT(refused(wrong), HasSubstr("--controller \"a b\": HOST"));
  wrong.controller = "127.0.0.1:1";
  EXPECT_THAT(refused(wrong),
              AllOf(HasSubstr("https://127.0.0.1:1: no connection"), HasSubstr("--enroll-listen")));
  EXPECT_FALSE(has(kOwn));
}

TEST_F(EnrollCommandTest, ACallCutBeforeItsSettingsIsFinishedByTheNextWithoutAUse) {
  const auto first = enroll(command_);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_FALSE(first->is_rest);
  std::filesystem::remove(path(kOwn));  // as if it was killed there
  const auto second = enroll(command_);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->is_rest);
  EXPECT_EQ(second->serial, first->serial);
  EXPECT_EQ(port_.uses, 1);
  EXPECT_THAT(text(kOwn), AllOf(HasSubstr("controller = localhost:7443\n"),
                                HasSubstr("tls_cert = " + path("state/tls/agent.crt") + "\n")));
  ASSERT_TRUE(end_enroll_call(command_));
  EXPECT_THAT(refused(command_), HasSubstr("this node is enrolled as n1"));
}

// One that lost its settings later, as by a restored /etc.
TEST_F(EnrollCommandTest, SettingsThatLackTheControllerAreWrittenAgain) {
  ASSERT_TRUE(enroll(command_));
  ASSERT_TRUE(end_enroll_call(command_));
  std::ofstream(path(kOwn)) << "labels = rack=r1\n";
  const auto again = enroll(command_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_rest);
  EXPECT_THAT(text(kOwn), AllOf(StartsWith("labels = rack=r1\n"), HasSubstr("\nrenew_from = ")));
  EXPECT_EQ(port_.uses, 1);
}

// The service may not have been started.
TEST_F(EnrollCommandTest, ACallThatDidNotEndIsFinishedWithItsSettingsInPlace) {
  ASSERT_TRUE(enroll(command_));
  const auto again = enroll(command_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_rest);
  command_.force = true;
  EXPECT_TRUE(enroll(command_)->is_rest) << "the same token: the same call";
  EXPECT_EQ(port_.uses, 1);
  ASSERT_TRUE(end_enroll_call(command_));
  EXPECT_FALSE(enroll(command_)->is_rest);
  EXPECT_EQ(port_.uses, 2);
}

// The key of a call whose answer was lost, and whose certificate was revoked since.
TEST_F(EnrollCommandTest, AKeyThatGetsNoCertificateIsGivenUp) {
  ASSERT_TRUE(NodeFiles::make_state(path("state")));
  const std::string key = NodeFiles::open(path("state"))->staged_key().value();
  const auto asked = trust::read_request(trust::make_request("n1", key).value()).value();
  ASSERT_TRUE(trust::enrol(port_.authority.path(),
                           {.name = "n1", .public_key = asked.public_key, .days = 30},
                           trust::unix_now()));
  ASSERT_TRUE(trust::revoke(port_.authority.path(), "n1", 30, trust::unix_now()));
  EXPECT_THAT(refused(command_), HasSubstr("a certificate of its key was revoked; the next call "
                                           "makes another key"));
  EXPECT_EQ(refused(command_), "enrolled");
}

TEST_F(EnrollCommandTest, TheRestIsDoneForTheSameNodeAndAuthorityAlone) {
  ASSERT_TRUE(enroll(command_));
  EnrollCommand other = command(port_, token_, "n2");
  EXPECT_THAT(refused(other), HasSubstr("this node is enrolled as n1"));
  const FakeEnrolmentPort another;
  other = command(another, another.token());
  EXPECT_THAT(refused(other), HasSubstr("this node is enrolled as n1"));
  EXPECT_EQ(another.uses, 0);
}

// The node is to find the active one later as well, whichever it is then.
TEST_F(EnrollCommandTest, OfSeveralControllersOneAnswersAndTheSettingsNameAll) {
  command_.controller = "localhost:1," + port_.address();
  const auto node = enroll(command_);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->controller, "localhost:7443,localhost:7443");
  EXPECT_THAT(text(kOwn), AllOf(HasSubstr("controller = localhost:7443,localhost:7443\n"),
                                HasSubstr("renew_from = localhost:1," + port_.address() + "\n")));
  command_.controller = "localhost:1,,";
  std::filesystem::remove(path(kOwn));
  EXPECT_THAT(refused(command_), HasSubstr("https://localhost:1: no connection"));
  command_.controller = " , ";
  EXPECT_THAT(refused(command_), HasSubstr("--controller \" , \": HOST"));
}

TEST_F(EnrollCommandTest, APackagesFileStaysAsItIsByteForByte) {
  const std::string shipped = "# controller = controller.example:7443\nlabels = rack=r1\n";
  std::ofstream(path("agent.conf")) << shipped;
  ::chmod(path("agent.conf").c_str(), 0640);
  const auto before = std::filesystem::last_write_time(path("agent.conf"));
  ASSERT_TRUE(enroll(command_));
  EXPECT_EQ(text("agent.conf"), shipped);
  EXPECT_EQ(mode_of("agent.conf"), 0640U);
  EXPECT_EQ(std::filesystem::last_write_time(path("agent.conf")), before);
  EXPECT_EQ(mode_of("agent.d"), 0755U);
  EXPECT_EQ(mode_of(kOwn), 0644U);
}

TEST_F(EnrollCommandTest, OurFileKeepsTheModeThatAPersonGaveIt) {
  std::filesystem::create_directory(path("agent.d"));
  std::ofstream(path(kOwn)) << "# ours\n";
  ::chmod(path(kOwn).c_str(), 0640);
  ASSERT_TRUE(enroll(command_));
  EXPECT_EQ(mode_of(kOwn), 0640U);
  EXPECT_THAT(text(kOwn), AllOf(StartsWith("# ours\n"), HasSubstr("controller = ")));
}

TEST_F(EnrollCommandTest, AnotherControllerInAPersonsFileIsReplacedByForceAloneAndNotThere) {
  const std::string theirs = "# x\ncontroller = other:1\n";
  std::ofstream(path("agent.conf")) << theirs;
  EXPECT_THAT(refused(command_), HasSubstr("agent.conf:2: controller is \"other:1\" there, and "
                                           "\"localhost:7443\" is wanted; --force replaces it"));
  EXPECT_EQ(port_.uses, 0);
  command_.force = true;
  const auto forced = enroll(command_);
  ASSERT_TRUE(forced) << forced.error().message;
  EXPECT_THAT(forced->replaced, ElementsAre("controller = other:1 (" + path("agent.conf") + ":2)"));
  EXPECT_EQ(text("agent.conf"), theirs);
  EXPECT_EQ(AgentSettings::read(path("agent.conf"))->value("controller"), "localhost:7443");
  // A file that is read after ours would win.
  std::ofstream(path("agent.d/zz.conf")) << "controller = late:1\n";
  EXPECT_THAT(refused(command_), HasSubstr("zz.conf:1: controller is \"late:1\" there"));
}

TEST_F(EnrollCommandTest, AHostilePortOrTimeOfTheAnswerIsNoNumberOfOurs) {
  for (const char* port :
       {"", "0", "-1", "65536", "1e300", "nan", "inf", "7443x", "7443.5", "99999999999999999999"}) {
    port_.agent_port = port;
    EXPECT_THAT(refused(command_), HasSubstr("names no port for agents")) << port;
  }
  port_.agent_port = "7443";
  for (const char* time : {"nan", "-1", "1e300", "999999999999999999", "soon"}) {
    port_.time = time;
    EXPECT_TRUE(ask_agent_port(parse_enrol_server(port_.address()).value(),
                               port_.authority.path("ca.crt"), trust::unix_now()))
        << time;
  }
  EXPECT_EQ(port_.uses, 0);
}

// Whoever is in between hands on the authority, which everybody may have, with a port of its own.
TEST_F(EnrollCommandTest, APortIsTakenFromTheAuthoritysServerAlone) {
  const trust::AuthorityFolder other;
  other.issue("controller", "controller", {"localhost"});
  port_.serve(other.path("controller.crt"), other.path("controller.key"));
  port_.agent_port = "1";
  EXPECT_THAT(refused(command(port_, token_)),
              HasSubstr("its certificate is not of an authority that is known here"));
  EXPECT_EQ(port_.uses, 0);
  EXPECT_FALSE(has(kOwn));
}

TEST_F(EnrollCommandTest, AClockThatIsAnHourOffIsSaidAndCostsNoUse) {
  EXPECT_THAT(refused(command_, 3'600),
              HasSubstr("this node's clock is 3600 s ahead of the controller's; set it, as by "
                        "chronyc makestep"));
  EXPECT_THAT(refused(command_, -3'600),
              HasSubstr("this node's clock is 3600 s behind the controller's"));
  EXPECT_EQ(port_.uses, 0);
  EXPECT_TRUE(enroll(command_, 60)) << "a minute is nothing";
}

// TLS itself fails then, so that no time is proved.
TEST_F(EnrollCommandTest, AClockThatMakesTheControllersCertificateInvalidIsSaidWithBothTimes) {
  const double now = trust::unix_now();
  for (const auto& [name, issued] :
       {std::pair("early", now + 2 * 3'600), std::pair("over", now - 25 * 3'600)})
    ASSERT_TRUE(trust::issue(
        port_.authority.path(),
        {.role = "controller", .names = {name}, .hosts = {"localhost"}, .days = 1}, issued));
  port_.time = fmt::format("{:.0f}", 1'800'000'000.0);
  port_.serve("early");
  EXPECT_THAT(refused(command(port_, token_)),
              AllOf(HasSubstr("is not valid yet by this machine's clock, 20"),
                    HasSubstr(", while 2027-01-15T08:00:00.000Z answers there; set the clock, as "
                              "by chronyc makestep")));
  port_.serve("over");
  EXPECT_THAT(refused(command(port_, token_)),
              AllOf(HasSubstr("has ended by this machine's clock, 20"),
                    HasSubstr("or renew the controller's certificate")));
  EXPECT_EQ(port_.uses, 0);
}

}  // namespace
}  // namespace railgauge::agent
