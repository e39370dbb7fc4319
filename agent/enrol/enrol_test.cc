// The node's side of enrolment without a controller: addresses, settings, files, times.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/enrol/enrol_client.h"
#include "agent/enrol/enroll_command.h"
#include "agent/enrol/enrolled_files.h"
#include "agent/enrol/renewer.h"
#include "agent/enrol/settings_edit.h"
#include "kernels/core/base/owners_rights.h"

namespace railgauge::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ParseEnrolServer, TakesHostsAddressesAndPorts) {
  EXPECT_EQ(parse_enrol_server("ctl.example")->url(), "https://ctl.example:7444");
  EXPECT_EQ(parse_enrol_server("ctl:9000")->url(), "https://ctl:9000");
  EXPECT_EQ(parse_enrol_server("10.0.0.1")->with_port(7443), "10.0.0.1:7443");
  EXPECT_EQ(parse_enrol_server("[2001:db8::1]")->url(), "https://[2001:db8::1]:7444");
  EXPECT_EQ(parse_enrol_server("[2001:db8::1]:80")->url(), "https://[2001:db8::1]:80");
  for (const char* wrong : {"", ":7444", "ctl:", "ctl:0", "ctl:x", "ctl:65536", "a b",
                            "2001:db8::1", "https://ctl", "ctl/x", "user@ctl", "ctl\n"})
    EXPECT_FALSE(parse_enrol_server(wrong)) << wrong;
}

TEST(EditSettings, AddsWhatIsMissingAndLeavesTheRest) {
  const auto edited = edit_settings("# ours\nlabels = rack=r1\n# controller = x\n", "a.conf",
                                    {{"controller", "c:1"}, {"tls_ca", "/a"}}, "by enroll", false);
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_EQ(edited->text,
            "# ours\nlabels = rack=r1\n# controller = x\n# by enroll\ncontroller = c:1\n"
            "tls_ca = /a\n");
  EXPECT_TRUE(edited->is_changed);
  const auto again = edit_settings(edited->text, "a.conf", {{"controller", "c:1"}}, "x", false);
  EXPECT_FALSE(again->is_changed);
  EXPECT_EQ(again->text, edited->text);
}

TEST(SettingIn, IsTheValueAsTheAgentReadsIt) {
  const std::string text = "# name = x\nname = \"gpu 1\"  # here\nnames = y\n";
  EXPECT_EQ(setting_in(text, "name"), "gpu 1");
  EXPECT_EQ(setting_in(text, "x"), "");
}

TEST(EditSettings, AnOperatorsValueIsReplacedOnlyByForceAndSaidSo) {
  const std::string text = "a = 1\n controller = \"old:1\"  # by hand\nb = 2\n";
  const auto refused = edit_settings(text, "a.conf", {{"controller", "c:1"}}, "x", false);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("a.conf:2: controller is \"old:1\" there, and \"c:1\" is wanted; --force"));
  const auto forced = edit_settings(text, "a.conf", {{"controller", "c:1"}}, "x", true);
  EXPECT_EQ(forced->text, "a = 1\ncontroller = c:1\nb = 2\n");
  EXPECT_THAT(forced->replaced, ElementsAre("controller = old:1"));
}

trust::Certificate certificate_of(double from, double until, const std::string& serial) {
  return {.id = {.issuer = "ca", .serial = serial}, .from_unix = from, .until_unix = until};
}

TEST(RenewalTime, IsWithAThirdOfTheLifeLeftOrALittleEarlier) {
  double earliest = 1e9;
  double latest = 0;
  for (int serial = 0; serial < 500; ++serial) {
    const double at = renewal_time(certificate_of(0, 900, fmt::format("{:X}", serial * 7919)));
    earliest = std::min(earliest, at);
    latest = std::max(latest, at);
  }
  EXPECT_LE(latest, 600);
  EXPECT_GE(earliest, 600 - 45);
  EXPECT_GT(latest - earliest, 30) << "nodes come apart";
}

TEST(RenewalPause, GrowsToAnHour) {
  EXPECT_EQ(renewal_pause(0), 60);
  EXPECT_EQ(renewal_pause(1), 60);
  EXPECT_EQ(renewal_pause(2), 120);
  EXPECT_EQ(renewal_pause(100), 3'600);
}

class NodeFilesTest : public testing::Test {
 protected:
  NodeFilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "rg_enrol_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~NodeFilesTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] mode_t mode_of(const std::string& name) const {
    struct stat about {};
    EXPECT_EQ(::stat(path(name).c_str(), &about), 0) << name;
    return about.st_mode & 0777;
  }
  std::filesystem::path folder_;
};

TEST_F(NodeFilesTest, AKeyIsItsUsersAloneAndStaysForTheNextCall) {
  ASSERT_TRUE(NodeFiles::make_state(path("state")));
  auto files = NodeFiles::open(path("state"));
  ASSERT_TRUE(files) << files.error().message;
  const std::string key = files->staged_key().value();
  EXPECT_EQ(mode_of("state/tls/agent.key.next"), 0600U);
  EXPECT_EQ(mode_of("state/tls"), 0700U);
  EXPECT_EQ(NodeFiles::open(path("state"))->staged_key().value(), key);
  EXPECT_FALSE(files->held());
}

// As on a node with the package: root enrols, and the service's user has the state folder.
TEST_F(NodeFilesTest, RootWritesAsTheOwnerOfTheStateFolderAndReadsItsKeyAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may take the rights of another user";
  constexpr uid_t kNobody = 65'534;
  std::filesystem::create_directory(path("state"));
  ASSERT_EQ(::chown(path("state").c_str(), kNobody, kNobody), 0);
  std::filesystem::permissions(folder_, std::filesystem::perms(0755));
  {
    const auto rights = OwnersRights::take(path("state"));
    ASSERT_TRUE(rights);
    auto files = NodeFiles::open(path("state"));
    ASSERT_TRUE(files) << files.error().message;
    const auto key = files->staged_key();
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(files->staged_key().value(), *key) << "the same key, not a new one";
  }
  EXPECT_EQ(::geteuid(), 0U);
  struct stat made {};
  ASSERT_EQ(::stat(path("state/tls/agent.key.next").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, kNobody);
  // A folder of root's that the user put in its place.
  std::filesystem::create_directory(path("roots"));
  std::filesystem::permissions(path("roots"), std::filesystem::perms(0700));
  std::filesystem::remove_all(path("state/tls"));
  std::filesystem::create_symlink(path("roots"), path("state/tls"));
  const auto rights = OwnersRights::take(path("state"));
  ASSERT_TRUE(rights);
  auto planted = NodeFiles::open(path("state"));
  EXPECT_FALSE(planted && planted->staged_key());
}

TEST_F(NodeFilesTest, AKilledCallIsFinishedOnceItsCertificateIsStaged) {
  ASSERT_TRUE(NodeFiles::make_state(path("state")));
  ASSERT_TRUE(NodeFiles::open(path("state")));
  for (const char* file : {"ca.crt.next", "agent.key.next"})
    std::ofstream(path(std::string("state/tls/") + file)) << file;
  ASSERT_TRUE(NodeFiles::open(path("state")));
  EXPECT_TRUE(std::filesystem::exists(path("state/tls/agent.key.next"))) << "no certificate yet";
  std::ofstream(path("state/tls/agent.crt.next")) << "crt";
  ASSERT_TRUE(NodeFiles::open(path("state")));
  for (const char* file : {"ca.crt", "agent.key", "agent.crt"}) {
    EXPECT_TRUE(std::filesystem::exists(path(std::string("state/tls/") + file))) << file;
    EXPECT_FALSE(std::filesystem::exists(path(fmt::format("state/tls/{}.next", file)))) << file;
  }
}

TEST_F(NodeFilesTest, WhatIsWrongIsSaidBeforeAnybodyIsAsked) {
  EnrollCommand command{
      .controller = "127.0.0.1:1", .state_dir = path("state"), .config = path("agent.conf")};
  EXPECT_THAT(enroll_node(command, 0).error().message, HasSubstr("--token TOKEN or --token-file"));
  command.token = "rgt_1";
  EXPECT_THAT(enroll_node(command, 0).error().message, HasSubstr("the token is not whole"));
  command.token = text_of(trust::make_enrolment_token(std::string(64, 'a')));
  command.name = "n/1";
  EXPECT_THAT(enroll_node(command, 0).error().message, HasSubstr("--name \"n/1\""));
  command.name = "n1";
  command.controller = "a b";
  EXPECT_THAT(enroll_node(command, 0).error().message, HasSubstr("--controller \"a b\": HOST"));
  command.controller = "127.0.0.1:1";
  EXPECT_THAT(enroll_node(command, 0).error().message,
              HasSubstr("https://127.0.0.1:1: no connection"));
  EXPECT_THAT(enroll_node(command, 0).error().message, HasSubstr("--enroll-listen"));
  EXPECT_FALSE(std::filesystem::exists(path("agent.conf")));
}

}  // namespace
}  // namespace railgauge::agent
