#include "agent/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::agent {
namespace {
using testing::HasSubstr;

TEST(Config, ReadsKeysAndValuesAndSkipsComments) {
  const auto settings = parse_settings(
      "# ours\n\n controller = unix:/run/rg.sock \r\nstate_dir=/x y\n", "agent.conf");
  ASSERT_TRUE(settings);
  ASSERT_EQ(settings->size(), 2u);
  EXPECT_EQ(settings->at("controller").value, "unix:/run/rg.sock");
  EXPECT_EQ(settings->at("controller").line, 3);
  EXPECT_EQ(settings->at("state_dir").value, "/x y");
}

TEST(Config, NamesFileAndLineOfWhatItCannotRead) {
  const auto settings = parse_settings("name = a\nnonsense\n", "agent.conf");
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().code, Code::kInvalidArgument);
  EXPECT_THAT(settings.error().message, HasSubstr("agent.conf:2"));
}

TEST(Config, RefusesAKeyGivenTwice) {
  const auto settings = parse_settings("name = a\nname = b\n", "agent.conf");
  ASSERT_FALSE(settings);
  EXPECT_THAT(settings.error().message, HasSubstr("name stands there twice"));
}

TEST(Config, AFileThatIsNotThereGivesNoSettings) {
  const auto settings = read_settings("/nonexistent/agent.conf");
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->empty());
}

}  // namespace
}  // namespace railgauge::agent
