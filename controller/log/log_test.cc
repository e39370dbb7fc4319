#include "controller/log/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace railgauge {
namespace {

TEST(Log, NoMessageForgesALineOrSteersATerminal) {
  testing::internal::CaptureStderr();
  set_up_log("log_test", "info", "%l %*", true);
  spdlog::info("node {}", "a\r\nerror the controller failed\x1b[2J\u0085\u202e\xff");
  spdlog::debug("not shown");
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(shown, R"(info node a\r\nerror the controller failed\x1b[2J\u0085\u202e\xff)"
                   "\n");
}

}  // namespace
}  // namespace railgauge
