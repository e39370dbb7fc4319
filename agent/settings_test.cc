// Settings of the agent: the reference page is the one that the flags render.
#include "agent/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace railgauge::agent
