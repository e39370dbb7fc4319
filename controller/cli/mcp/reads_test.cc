#include "controller/cli/mcp/reads.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/cli/testing/commands_testing.h"
#include "controller/rpc/rights.h"

namespace railgauge::cli::mcp {
namespace {

using testing::HasSubstr;

TEST(McpReads, AreAllCallsThatViewersMayMake) {
  for (const ReadCall& read : kReadCalls) {
    const railgauge::rpc::Right* right = railgauge::rpc::find_right(read.service, read.method);
    ASSERT_NE(right, nullptr) << read.method;
    EXPECT_EQ(right->access, railgauge::rpc::Access::kRead) << read.method;
  }
}

class McpReadsOf : public Commands {};

TEST_F(McpReadsOf, RefuseEveryOtherCallBeforeItIsSent) {
  std::ostringstream nowhere;
  const Output output{.out = nowhere, .err = nowhere, .format = Format::kJson};
  Session session{.stubs = stubs(), .output = output, .interrupts = interrupts_};
  Reads reads(session);
  const auto started = reads.ask(rpc::kStartRun, api::RunRequest());
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kPermissionDenied);
  EXPECT_THAT(started.error().message, HasSubstr("may change"));
  EXPECT_FALSE(reads.ask(rpc::kPauseNodes, api::PauseNodesRequest()));
  EXPECT_FALSE(reads.ask(rpc::kStepFinding, api::FindingStepRequest()));
  EXPECT_EQ(control_.starts(), 0);
  EXPECT_EQ(control_.last_change(), "");
  EXPECT_TRUE(reads.ask(rpc::kListRuns, api::ListRunsRequest()));
}

}  // namespace
}  // namespace railgauge::cli::mcp
