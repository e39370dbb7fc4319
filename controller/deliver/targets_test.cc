#include "controller/deliver/targets.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/testing/store_testing.h"

namespace railgauge::deliver {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TargetsTest : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
    ::chmod(folder_.file(name).c_str(), 0640);
    return folder_.file(name);
  }
  static std::string error_of(const Wishes& wishes) {
    const auto targets = read_targets(wishes);
    EXPECT_FALSE(targets);
    return targets ? "" : targets.error().message;
  }
  store::TempFolder folder_;
};

TEST_F(TargetsTest, ASecretThatEverybodyReadsIsRefused) {
  const std::string secret = file("secret", "s3cret\n");
  ::chmod(secret.c_str(), 0644);
  EXPECT_THAT(error_of({.webhook_url = "http://h", .secret_file = secret}),
              HasSubstr("mode 0644 opens a secret to everybody; chmod 640"));
  EXPECT_THAT(error_of({.webhook_url = secret}), HasSubstr("mode 0644"));
}

TEST_F(TargetsTest, EachSettingMakesATarget) {
  EXPECT_THAT(*read_targets({}), IsEmpty());
  const auto targets = read_targets({.webhook_url = "https://h.example/a/secret",
                                     .chat_url = file("url", "https://chat.example/b\nmore\n"),
                                     .chat_format = "teams",
                                     .secret_file = file("secret", "s3cret\n"),
                                     .sendmail = "/bin/cat",
                                     .mail_to = "a@example.org,b@example.org",
                                     .template_file = file("template", "{{headline}}\n")});
  ASSERT_TRUE(targets) << targets.error().message;
  ASSERT_THAT(*targets, SizeIs(3));
  EXPECT_EQ((*targets)[0].where, "https://h.example") << "the path may be a secret";
  EXPECT_EQ((*targets)[0].url.path, "/a/secret");
  EXPECT_EQ((*targets)[0].format, Format::kJson);
  EXPECT_EQ((*targets)[1].url.path, "/b");
  EXPECT_EQ((*targets)[1].format, Format::kTeams);
  EXPECT_EQ((*targets)[1].secret, "s3cret");
  EXPECT_EQ((*targets)[2].name, "mail");
  EXPECT_EQ((*targets)[2].mail.to, "a@example.org,b@example.org");
  EXPECT_EQ((*targets)[2].wording, "{{headline}}\n");
}

TEST_F(TargetsTest, WhatIsWrongIsNamedWithItsSetting) {
  EXPECT_THAT(error_of({.webhook_url = "h.example/a"}), HasSubstr("--webhook-url: the URL is not"));
  EXPECT_THAT(error_of({.chat_url = "/nowhere/url"}),
              HasSubstr("--chat-url \"/nowhere/url\": cannot be read: No such file"));
  EXPECT_THAT(error_of({.webhook_url = "http://h", .secret_file = file("empty", "\n")}),
              HasSubstr("its first line is empty"));
  EXPECT_THAT(error_of({.webhook_url = "http://h", .template_file = file("t", "{{headlin}}")}),
              HasSubstr("did you mean \"headline\"?"));
  EXPECT_THAT(error_of({.sendmail = "sendmail", .mail_to = "a@b"}),
              HasSubstr("the absolute path of a program is needed"));
  EXPECT_THAT(error_of({.sendmail = "/etc/passwd", .mail_to = "a@b"}),
              HasSubstr("the absolute path of a program is needed"));
  EXPECT_THAT(error_of({.sendmail = "/bin/cat"}), HasSubstr("--sendmail needs --mail-to"));
  EXPECT_THAT(error_of({.mail_to = "a@b"}), HasSubstr("--mail-to needs --sendmail"));
  EXPECT_THAT(error_of({.secret_file = "/x"}), HasSubstr("needs --webhook-url"));
  EXPECT_THAT(error_of({.template_file = "/x"}), HasSubstr("--report-template-file needs"));
  EXPECT_THAT(error_of({.sendmail = "/bin/cat", .mail_to = "a@b\nBcc: c@d"}),
              HasSubstr("control character"));
}

}  // namespace
}  // namespace railgauge::deliver
