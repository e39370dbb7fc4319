#include "kernels/runner/task_log.h"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::EndsWith;

class TaskLog : public testing::Test {
 protected:
  ~TaskLog() override {
    ::unsetenv("RAILGAUGE_LOG_FORMAT");
    ::unsetenv("RAILGAUGE_LOG_SUBJECT");
  }
  static std::string written() {
    testing::internal::CaptureStderr();
    log_error("no memory");
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(TaskLog, BeginsWithWhatTheAgentHandsOver) {
  EXPECT_THAT(written(), EndsWith("Z error no memory\n"));
  ::setenv("RAILGAUGE_LOG_SUBJECT", "run r1 task t2 attempt 1 rank 3", 1);
  EXPECT_THAT(written(), EndsWith("Z error run r1 task t2 attempt 1 rank 3: no memory\n"));
  ::setenv("RAILGAUGE_LOG_FORMAT", "json", 1);
  EXPECT_THAT(written(), EndsWith(R"("program":"runner","run":"r1","task":"t2","attempt":"1",)"
                                  R"("rank":"3","message":"run r1 task t2 attempt 1 rank 3: )"
                                  R"(no memory"})"
                                  "\n"));
}

}  // namespace
}  // namespace railgauge
