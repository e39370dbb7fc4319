// A session on a real GPU: it opens, its clocks are seen, and its own context is no other user.
#include "kernels/gpu/session.h"

#include <gmock/gmock.h>

#include "kernels/dl/nvml.h"
#include "kernels/fakes/recorder.h"
#include "kernels/gpu/usage.h"
#include "kernels/testing/gpu_presence.h"

namespace railgauge::gpu {
namespace {

KernelInfo info() {
  return InfoBuilder("test.session", 1, "a kernel of this test")
      .apply([](InfoBuilder& builder) { add_session_parameters(builder); })
      .build();
}

class SessionOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override { need_whole_gpus(); }
};

TEST_F(SessionOnAGpu, SeesTheClocksOfThePoint) {
  const auto params = Params::parse(info(), {{"busy", "measure"}});
  fake::RankResult told;
  fake::Recorder recorder(told);
  Context context{*params, recorder, fake::test_clock(), "gpu0", 0, false};
  auto session = Session::open(context);
  ASSERT_TRUE(session) << session.error().message;
  session->begin_point();
  session->report(context, Point());
  const Point& point = told.points.back();
  EXPECT_FALSE(point.synthetic());
  EXPECT_GT(std::stod(point.facts().at("sm_clock_mhz")), 0);
  EXPECT_NE(point.facts().at("throttle_reasons"), "unknown");
  for (const auto& [name, value] : told.facts)
    std::printf("%s = %s\n", name.c_str(), value.c_str());
  for (const auto& [name, value] : point.facts())
    std::printf("point: %s = %s\n", name.c_str(), value.c_str());
}

TEST_F(SessionOnAGpu, ASecondSessionOfThisProcessIsNotDisturbedByTheFirst) {
  if (const auto use = use_nvml(); !use) GTEST_SKIP() << use.error().message;
  const auto usage = gpu_usage();
  ASSERT_FALSE(usage.empty()) << "NVML shows no GPU, CUDA does";
  for (const GpuUsage& gpu : usage) {
    EXPECT_TRUE(gpu.told) << gpu.pci_address << ": NVML does not tell its processes";
    if (!gpu.processes.empty())
      GTEST_SKIP() << gpu.pci_address << ": in use by " << users_in_words(gpu);
  }
  const auto params = Params::parse(info(), {});
  fake::RankResult told;
  fake::Recorder recorder(told);
  Context context{*params, recorder, fake::test_clock(), "gpu0", 0, false};
  const auto first = Session::open(context);
  const auto second = Session::open(context);
  ASSERT_TRUE(first) << first.error().message;
  // Also in a container that shows the host's process numbers: ours was learned from the first.
  ASSERT_TRUE(second) << second.error().message;
}

}  // namespace
}  // namespace railgauge::gpu
