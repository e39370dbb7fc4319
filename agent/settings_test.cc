// Settings of the agent: the reference page is the one that the flags render.
#include "agent/settings.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include "kernels/testing/rendered_file.h"

namespace railgauge::agent {
namespace {

TEST(AgentSettings, ThePageIsRenderedFromTheFlags) {
  expect_file("deploy/docs/reference/agent-settings.md", agent_settings_page());
}

TEST(AgentSettings, ThePageDoesNotDependOnThisMachine) {
  EXPECT_THAT(agent_settings_page(),
              testing::HasSubstr("| `--name` | `RAILGAUGE_NAME` | the host's name |"));
}

TEST(AgentSettings, EachSettingThatIsNoDefaultIsPrintedWithItsSource) {
  const std::string file = testing::TempDir() + "railgauge_settings_test.conf";
  std::ofstream(file) << "name = n1\ncontroller = controller.example:7443\n";
  ::setenv("RAILGAUGE_METRICS_LISTEN", "none", 1);
  Settings settings;
  CLI::App app;
  declare_settings(app, settings);
  app.parse("--log-level debug --config " + file, false);
  ASSERT_TRUE(apply_file(app, settings));
  const std::string lines = settings_in_force(app, settings);
  ::unsetenv("RAILGAUGE_METRICS_LISTEN");
  EXPECT_EQ(lines, "controller = controller.example:7443  # " + file + ":2: controller\n" +
                       "name = n1  # " + file + ":1: name\n" +
                       "metrics_listen = none  # RAILGAUGE_METRICS_LISTEN\n" +
                       "log_level = debug  # --log-level\n" + "config = " + file +
                       "  # --config\n");
}

TEST(AgentSettings, LabelsAreReadAndAWrongOneIsNamed) {
  Settings settings;
  CLI::App app;
  declare_settings(app, settings);
  app.parse("--labels rack=rack7,pod=p1 --config /dev/null", false);
  ASSERT_TRUE(apply_file(app, settings));
  EXPECT_EQ(label_text(settings.agent.labels), "pod=p1,rack=rack7");
  settings.labels = "rack";
  const Status refused = apply_file(app, settings);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "--labels: label \"rack\": must be KEY=VALUE, as rack=rack7");
}

}  // namespace
}  // namespace railgauge::agent
