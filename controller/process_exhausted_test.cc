// The program without memory or threads: it ends at once with a line that says so, or works on. It
// never hangs, and SIGTERM ends it.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/testing/controller_process.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

// The long form of the check; deploy/check.sh says 0 for the short one.
bool is_full_check() {
  const char* const wanted = std::getenv("RAILGAUGE_CHECK_FULL");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

using testing::AnyOf;
using testing::HasSubstr;
using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;
using testing_agent::welcome;
using Process = testing_agent::ControllerProcess;
using Kind = api::ControllerMessage::BodyCase;

// Far more than the program may take for a stop.
constexpr double kPatienceSeconds = 90;

class ExhaustedTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(RAILGAUGE_ADDRESS_SANITIZER) || defined(RAILGAUGE_THREAD_SANITIZER)
    GTEST_SKIP() << "a sanitizer's allocator has limits of its own";
#endif
  }
  // A stream that the controller's timer ends after `milliseconds`, since the client knows of no
  // deadline: the first timer that fires makes gRPC begin another thread for timers.
  grpc::Status let_a_timer_fire(int milliseconds) const {
    const auto stub = api::AgentLink::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.AddMetadata("grpc-timeout", fmt::format("{}m", milliseconds));
    const auto stream = stub->Attach(&context);
    for (api::ControllerMessage message; stream->Read(&message);) {
    }
    return stream->Finish();
  }
  grpc::Status list_nodes() const {
    const auto stub = api::Control::NewStub(
        grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    api::NodeList nodes;
    return stub->ListNodes(&context, {}, &nodes);
  }
  ServerBench bench_;
};

// A thread's stack is 8 MiB: less than that is left. Before, the program went on, and SIGTERM did
// not end it: gRPC waited for the thread.
TEST_F(ExhaustedTest, AThreadThatCannotBeMadeEndsItAtOnceAndNothingHangs) {
  Process controller(bench_, {});
  ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
  controller.limit_memory(4e6);
  for (int i = 0; i < 100 && !controller.has_ended(); ++i) {
    const grpc::Status status = let_a_timer_fire(50);
    EXPECT_THAT(status.error_code(),
                AnyOf(grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::UNAVAILABLE));
  }
  controller.free_memory();
  controller.signal(SIGTERM);
  const std::optional<int> end = controller.wait_for(kPatienceSeconds);
  ASSERT_TRUE(end) << "SIGTERM does not end it: " << controller.error_text();
  EXPECT_EQ(*end, -SIGABRT);
  EXPECT_THAT(controller.error_text(),
              HasSubstr("railgauge-controller: threads: none could be made "
                        "for a second; the process ends"));
}

// The limit is lifted while the thread is tried again, unless this host is very slow.
TEST_F(ExhaustedTest, ALackOfThreadsThatPassesIsSurvived) {
  Process controller(bench_, {});
  ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
  controller.limit_memory(4e6);
  std::thread caller([this] { static_cast<void>(let_a_timer_fire(50)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  controller.free_memory();
  caller.join();
  if (!controller.has_ended()) {
    EXPECT_TRUE(list_nodes().ok());
    EXPECT_EQ(let_a_timer_fire(50).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  controller.signal(SIGTERM);
  const std::optional<int> end = controller.wait_for(kPatienceSeconds);
  ASSERT_TRUE(end) << "SIGTERM does not end it: " << controller.error_text();
  EXPECT_THAT(*end, AnyOf(143, -SIGABRT)) << controller.error_text();
}

TEST_F(ExhaustedTest, WithoutMemoryItEndsAtOnceWithOneLine) {
  Process controller(bench_, {});
  ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
  ASSERT_TRUE(list_nodes().ok());
  controller.limit_memory(200e3);
  const auto stub = api::Control::NewStub(
      grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  for (int i = 0; i < 100 && !controller.has_ended(); ++i) {
    grpc::ClientContext context;
    api::RunRequest request;
    request.mutable_suite()->set_text(std::string(3'000'000, '#'));
    api::RunSummary run;
    EXPECT_FALSE(stub->StartRun(&context, request, &run).ok());
  }
  const std::optional<int> end = controller.wait_for(kPatienceSeconds);
  ASSERT_TRUE(end) << controller.error_text();
  EXPECT_THAT(*end, AnyOf(-SIGABRT, -SIGSEGV));  // gRPC does not look at all that malloc() gives
  EXPECT_THAT(controller.error_text(), HasSubstr("railgauge-controller: memory: "));
  EXPECT_THAT(controller.error_text(), HasSubstr("allocation failed; the process ends"));
}

// The store's writer hangs; the watchdog of the stop ends the process.
TEST_F(ExhaustedTest, AStopThatHangsIsEndedWithOneLine) {
  if (!is_full_check()) GTEST_SKIP() << "takes half a minute; RAILGAUGE_CHECK_FULL=1 runs it";
  Process controller(bench_, {}, "hang:store.records_committed");
  ASSERT_TRUE(controller.wait_until_serving()) << controller.error_text();
  ScriptedAgent n1(bench_.agent("n1"));
  ScriptedAgent n2(bench_.agent("n2"));
  ASSERT_TRUE(welcome(n1) && welcome(n2));
  const auto stub = api::Control::NewStub(
      grpc::CreateChannel(bench_.target(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  api::RunRequest request;
  request.mutable_suite()->set_name("pairs");
  api::RunSummary run;
  ASSERT_TRUE(stub->StartRun(&context, request, &run).ok());
  ASSERT_TRUE(n1.wait_until([](const ScriptedAgent& a) { return a.count(Kind::kGo) == 1; }));
  controller.signal(SIGTERM);
  const std::optional<int> end = controller.wait_for(kPatienceSeconds);
  ASSERT_TRUE(end) << "SIGTERM does not end it: " << controller.error_text();
  EXPECT_EQ(*end, 4);
  EXPECT_THAT(controller.error_text(), HasSubstr("railgauge-controller: stop: a part of it hangs"));
}

TEST_F(ExhaustedTest, AStartThatHangsIsEndedBySigterm) {
  if (!is_full_check()) GTEST_SKIP() << "takes half a minute; RAILGAUGE_CHECK_FULL=1 runs it";
  Process controller(bench_, {}, "hang:controller.starting");
  EXPECT_FALSE(controller.wait_for(3)) << "the signal has to be blocked by now";
  controller.signal(SIGTERM);
  const std::optional<int> end = controller.wait_for(kPatienceSeconds);
  ASSERT_TRUE(end) << "SIGTERM does not end it: " << controller.error_text();
  EXPECT_EQ(*end, 4);
  EXPECT_THAT(controller.error_text(), HasSubstr("railgauge-controller: stop: a part of it hangs"));
}

}  // namespace
}  // namespace railgauge
