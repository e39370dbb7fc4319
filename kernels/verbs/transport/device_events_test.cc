#include "kernels/verbs/transport/device_events.h"

#include <infiniband/verbs.h>

#include <cstdlib>

#include <gtest/gtest.h>

#include "kernels/dl/verbs.h"
#include "kernels/fakes/verbs/fake_verbs.h"
#include "kernels/verbs/transport/device.h"

namespace railgauge::verbs {
namespace {

class Events : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    fake::verbs_control().reset();
  }
  void SetUp() override {
    auto opened = Device::open("fake1:1");
    ASSERT_TRUE(opened) << opened.error().message;
    device_ = std::move(*opened);
    events_.watch(device_.context(), device_.name(), device_.port());
  }
  Device device_;
  DeviceEvents events_;
};

TEST_F(Events, OfOtherDevicesAndOfHealthyOnesAreNoLoss) {
  EXPECT_FALSE(events_.is_lost());
  fake::tell_async_event(IBV_EVENT_DEVICE_FATAL, "fake0");
  fake::tell_async_event(IBV_EVENT_PORT_ACTIVE);
  fake::tell_async_event(IBV_EVENT_CQ_ERR);
  EXPECT_FALSE(events_.is_lost(1));
  EXPECT_EQ(events_.words(), "");
}

TEST_F(Events, OfALossStayToldWhateverComesAfterThem) {
  fake::tell_async_event(IBV_EVENT_PORT_ERR, "fake1");
  fake::tell_async_event(IBV_EVENT_PORT_ACTIVE, "fake1");
  EXPECT_TRUE(events_.is_lost());
  EXPECT_TRUE(events_.is_lost());
  EXPECT_EQ(events_.words(), "fake1:1: port went down (IBV_EVENT_PORT_ERR)");
}

TEST_F(Events, OfAnotherPortAreNoLoss) {
  events_.watch(device_.context(), device_.name(), 2);
  fake::tell_async_event(IBV_EVENT_PORT_ERR, "fake1");
  EXPECT_FALSE(events_.is_lost());
}

TEST(DeviceEvents, OfNothingWatchedAreNone) {
  DeviceEvents none;
  EXPECT_FALSE(none.is_lost());
}

}  // namespace
}  // namespace railgauge::verbs
