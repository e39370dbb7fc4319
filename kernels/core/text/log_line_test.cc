#include "kernels/core/text/log_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

TEST(LogSubject, IsReadFromTheMessagesBeginningAlone) {
  const LogSubject node = subject_of("node n1 has been silent for 9 s");
  EXPECT_EQ(node.node, "n1");
  EXPECT_EQ(node.run, "");
  EXPECT_EQ(subject_of("waits for run r1: x").run, "");
  EXPECT_EQ(subject_of("run r1: task t1 failed").task, "") << "the colon ends it";
  EXPECT_EQ(subject_of("run r1 run r2").run, "r1");
  EXPECT_EQ(subject_of("run").run, "");
  EXPECT_EQ(subject_of("run ").run, "");
  EXPECT_EQ(subject_of("").node, "");
}

TEST(LogLine, IsThatOfTheLogger) {
  constexpr double kAt = 1764000000.25;
  const char* const message = "run r1 task t2 attempt 1 rank 3: no memory\n\x1b[2J";
  EXPECT_EQ(log_line("runner", "error", message, kAt, false),
            "2025-11-24T16:00:00.250Z error run r1 task t2 attempt 1 rank 3: no "
            "memory\\n\\x1b[2J\n");
  EXPECT_EQ(log_line("runner", "error", message, kAt, true),
            R"({"time":"2025-11-24T16:00:00.250Z","level":"error","program":"runner","run":"r1",)"
            R"("task":"t2","attempt":"1","rank":"3",)"
            R"("message":"run r1 task t2 attempt 1 rank 3: no memory\\n\\x1b[2J"})"
            "\n");
}

}  // namespace
}  // namespace railgauge
