// The node's side of enrolment without files and controller: addresses, settings, times.

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/enrol/enrol_client.h"
#include "agent/enrol/renewer.h"
#include "agent/enrol/settings_edit.h"

namespace railgauge::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(FindSetting, IsTheValueAsTheAgentReadsIt) {
  const std::string text = "# name = x\nname = \"gpu 1\"  # here\nnames = y\n";
  EXPECT_EQ(find_setting(text, "name")->value, "gpu 1");
  EXPECT_EQ(find_setting(text, "name")->line, 2);
  EXPECT_FALSE(find_setting(text, "x"));
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

}  // namespace
}  // namespace railgauge::agent
