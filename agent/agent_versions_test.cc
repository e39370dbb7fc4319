// An agent beside others: a controller of the next version, and the service manager of its host.
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <string>

#include <gmock/gmock.h>

#include "agent/testing/agent_fixture.h"
#include "controller/api/contract.h"
#include "controller/log/testing/manager_socket.h"

namespace railgauge::agent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int kUnknown = 999;  // no field of any message

class AgentVersionsTest : public AgentTest {};

TEST_F(AgentVersionsTest, WordsOfAControllerOfTheNextVersionAreLeftOutAndCostNothing) {
  start(options());
  api::ControllerMessage unknown;
  unknown.GetReflection()->MutableUnknownFields(&unknown)->AddLengthDelimited(kUnknown, "new");
  send_once_attached([&] { return controller_->send(unknown); });
  api::ControllerMessage order;
  api::PrepareTask& prepare = *order.mutable_prepare();
  *prepare.mutable_task() = FakeController::ref("t1");
  prepare.set_kernel("test.scripted");
  prepare.set_size(1);
  prepare.set_endpoint("rxe0:1");
  prepare.set_deadline_seconds(20);
  prepare.GetReflection()->MutableUnknownFields(&prepare)->AddVarint(kUnknown, 42);
  ASSERT_TRUE(controller_->send(order));
  ASSERT_TRUE(
      until([](const Heard& heard) { return any(heard, &api::AgentMessage::has_prepared); }));
  controller_->send(unknown);
  controller_->go("t1");
  ASSERT_TRUE(
      until([](const Heard& heard) { return FakeController::has_final(heard, "t1", "passed"); }));
  EXPECT_EQ(FakeController::hellos(controller_->heard()), 1) << "one stream";
}

TEST_F(AgentVersionsTest, TheServiceManagerHearsOfStartAttachmentLifeAndStop) {
  const ManagerSocket systemd;
  ServiceManager manager(systemd.path(), 60);
  AgentOptions with = options();
  with.manager = &manager;
  start(with);
  std::string said;
  for (int i = 0; i < 2000 && (said.find("attached to " + target_ + " as node-a; no task runs") ==
                                   std::string::npos ||
                               said.find("WATCHDOG=1") == std::string::npos);
       ++i) {
    said += systemd.next();
    ::usleep(5000);
  }
  EXPECT_THAT(said, StartsWith("READY=1\nSTATUS="));
  EXPECT_THAT(said, HasSubstr("STATUS=attached to " + target_ + " as node-a; no task runs\n"));
  EXPECT_THAT(said, HasSubstr("WATCHDOG=1\n"));
  stop();
  while (said.find("STOPPING=1") == std::string::npos) {
    const std::string more = systemd.next();
    if (more.empty()) break;
    said += more;
  }
  EXPECT_THAT(said, HasSubstr("STOPPING=1\nSTATUS=stopping; "));
}

}  // namespace
}  // namespace railgauge::agent
