#include "controller/log/log.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace railgauge {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

const std::string kHostile = "a\r\nerror the controller failed\x1b[2J\u0085\u202e\xff";

std::string shown(const LogOptions& options, const std::string& message) {
  spdlog::drop_all();
  testing::internal::CaptureStderr();
  set_up_log(options);
  spdlog::info("{}", message);
  spdlog::debug("not shown");
  return testing::internal::GetCapturedStderr();
}

TEST(Log, ALineHasItsTimeInUtcAndItsLevel) {
  const std::string line = shown({.program = "agent"}, "attached");
  EXPECT_THAT(line, MatchesRegex("20..-..-..T..:..:..\\....Z info attached\n"));
}

TEST(Log, NoMessageForgesALineOrSteersATerminal) {
  EXPECT_THAT(shown({.program = "controller"}, "node " + kHostile),
              EndsWith(R"( info node a\r\nerror the controller failed\x1b[2J\u0085\u202e\xff)"
                       "\n"));
}

TEST(Log, JsonHasTheSubjectAsMembers) {
  const LogOptions json{.program = "controller", .format = "json"};
  EXPECT_THAT(shown(json, "run r1 task t0002 attempt 2 rank 3: passed"),
              EndsWith(R"("level":"info","program":"controller","run":"r1","task":"t0002",)"
                       R"("attempt":"2","rank":"3",)"
                       R"("message":"run r1 task t0002 attempt 2 rank 3: passed"})"
                       "\n"));
  EXPECT_THAT(shown(json, "serves"), EndsWith(R"("program":"controller","message":"serves"})"
                                              "\n"));
}

TEST(Log, JsonOfAnAgentHasItsNode) {
  const LogOptions json{.program = "agent", .format = "json", .node = "n1"};
  EXPECT_THAT(shown(json, "serves"), HasSubstr(R"("node":"n1","message":"serves")"));
  EXPECT_THAT(shown(json, "node n2: other"), HasSubstr(R"("node":"n2","message":)"));
}

TEST(Log, NoMessageForgesAMemberOfJson) {
  const std::string line =
      shown({.program = "controller", .format = "json"}, "node x\",\"level\":\"error: y\n{");
  EXPECT_THAT(line, HasSubstr(R"("node":"x\",\"level\":\"error","message":)"));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

}  // namespace
}  // namespace railgauge
