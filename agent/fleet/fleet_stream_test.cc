// The fleet over real gRPC streams, to a controller of the tests. Synthetic.
#include "agent/fleet/fleet_stream.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "agent/fleet/fleet.h"
#include "agent/testing/fake_controller.h"
#include "agent/testing/temp_dir.h"

namespace railgauge::fleet {
namespace {

using agent::FakeController;
using Heard = FakeController::Heard;

Scenario nodes(std::uint32_t count) {
  auto read = read_scenario(
      "version: 1\nmetadata: {name: t}\nfabric: {nodes: " + std::to_string(count) + "}\n",
      "t.yaml");
  EXPECT_TRUE(read);
  return read ? *read : Scenario{};
}

// A fleet on a thread of its own, until the end of the test.
class RunningFleet {
 public:
  RunningFleet(const std::string& target, std::uint32_t count, const std::string& certificates = "")
      : stop_(::eventfd(0, EFD_CLOEXEC)) {
    thread_ = std::thread([this, target, count, certificates] {
      KernelInfo kernel;
      kernel.set_name("cuda.host_copy_bw");
      kernel.set_revision(3);
      auto fleet = Fleet::open({.stream = {.controller = target}, .certificates = certificates},
                               nodes(count), {kernel});
      if (fleet) (*fleet)->run(stop_.get(), [](const FleetCounts&) {});
    });
  }
  ~RunningFleet() {
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(stop_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    thread_.join();
  }
  RunningFleet(const RunningFleet&) = delete;
  RunningFleet& operator=(const RunningFleet&) = delete;

 private:
  Fd stop_;
  std::thread thread_;
};

class FleetStreams : public testing::Test {
 protected:
  agent::TempDir dir_;
  const std::string target_ = "unix:" + dir_.path() + "/c";
};

TEST_F(FleetStreams, EveryNodeAttachesOnAStreamOfItsOwn) {
  FakeController controller(target_);
  const RunningFleet fleet(target_, 20);
  EXPECT_TRUE(
      controller.until([](const Heard& heard) { return FakeController::hellos(heard) == 20; }));
  std::vector<std::string> names;
  for (const api::AgentMessage& message : controller.heard())
    if (message.has_hello()) {
      names.push_back(message.hello().name());
      EXPECT_EQ(message.hello().facts().at("synthetic"), "true");
      EXPECT_GT(message.hello().contract().major(), 0U);
      ASSERT_EQ(message.hello().kernels_size(), 1);
      KernelInfo kernel;
      ASSERT_TRUE(kernel.ParseFromString(message.hello().kernels(0)));
      EXPECT_EQ(kernel.revision(), 3U);
    }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST_F(FleetStreams, ATaskEndsWithItsRecords) {
  FakeController controller(target_);
  const RunningFleet fleet(target_, 1);
  // The first heartbeat follows the Welcome.
  ASSERT_TRUE(controller.until([](const Heard& heard) {
    return std::ranges::any_of(heard, [](const auto& each) { return each.has_heartbeat(); });
  }));
  api::ControllerMessage message;
  api::PrepareTask& prepare = *message.mutable_prepare();
  *prepare.mutable_task() = FakeController::ref("one");
  prepare.set_kernel("cuda.host_copy_bw");
  prepare.set_endpoint("gpu3");
  prepare.set_size(1);
  prepare.set_deadline_seconds(20);
  ASSERT_TRUE(controller.send(message));
  ASSERT_TRUE(controller.until([](const Heard& heard) {
    return std::ranges::any_of(heard, [](const auto& each) { return each.has_prepared(); });
  }));
  ASSERT_TRUE(controller.go("one"));
  EXPECT_TRUE(controller.until(
      [](const Heard& heard) { return FakeController::has_final(heard, "one", "passed"); }));
}

TEST_F(FleetStreams, ABrokenStreamIsDialledAgain) {
  FakeController controller(target_);
  const RunningFleet fleet(target_, 1);
  ASSERT_TRUE(
      controller.until([](const Heard& heard) { return FakeController::hellos(heard) == 1; }));
  controller.drop();
  EXPECT_TRUE(
      controller.until([](const Heard& heard) { return FakeController::hellos(heard) == 2; }));
}

TEST_F(FleetStreams, AnAgentWhoseCertificateIsMissingDoesNotDialWithoutOne) {
  FakeController controller(target_);
  const RunningFleet fleet(target_, 1, "/nonexistent");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(FakeController::hellos(controller.heard()), 0);
}

TEST_F(FleetStreams, AControllerThatComesLaterIsFound) {
  const RunningFleet fleet(target_, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  FakeController controller(target_);
  EXPECT_TRUE(
      controller.until([](const Heard& heard) { return FakeController::hellos(heard) >= 3; }));
}

}  // namespace
}  // namespace railgauge::fleet
