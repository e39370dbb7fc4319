// The program as a standby.
#include "controller/turn.h"

#include <gmock/gmock.h>

#include "controller/testing/controller_process.h"

namespace railgauge {
namespace {

using testing::HasSubstr;
using testing_agent::ControllerProcess;
using testing_agent::ServerBench;

TEST(Turn, NeedsAnArchiveAndAnAddress) {
  const ServerBench bench;
  ControllerProcess lonely(bench, {"--standby"});
  EXPECT_EQ(lonely.wait(), 2);
  EXPECT_THAT(lonely.error_text(), HasSubstr("--standby needs --mirror"));
  ControllerProcess nameless(bench, {"--standby", "--mirror=postgres://db/x", "--site=east"});
  EXPECT_EQ(nameless.wait(), 2);
  EXPECT_THAT(nameless.error_text(), HasSubstr("--standby needs --advertise"));
}

// Without its archive it waits, answers, and ends when it is asked to.
TEST(Turn, WaitsForAnArchiveThatIsAway) {
  const ServerBench bench;
  ControllerProcess waiting(bench, {"--standby", "--mirror=postgres://u@/x?host=/nowhere",
                                    "--site=east", "--advertise=" + bench.target()});
  for (int look = 0; look < 1'000; ++look) {
    if (waiting.error_text().find("standby: ") != std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto control = api::Control::NewStub(
      grpc::CreateChannel(bench.target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  api::RunList runs;
  EXPECT_THAT(control->ListRuns(&context, {}, &runs).error_message(),
              HasSubstr("this controller is a standby of site east: no active one is known"));
  waiting.signal(SIGTERM);
  EXPECT_EQ(waiting.wait_for(10).value_or(-1), 143) << waiting.error_text();
}

}  // namespace
}  // namespace railgauge
