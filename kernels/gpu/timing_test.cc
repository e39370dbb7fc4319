#include "kernels/gpu/timing.h"

#include "kernels/core/base/clock.h"
#include "kernels/fakes/gpu_fixture.h"

namespace railgauge::gpu {
namespace {

using fake::cuda_control;
using ::testing::HasSubstr;

double soon() { return monotonic_now_ns() + 20e9; }

class GpuTiming : public OnFakes {
 protected:
  void TearDown() override {
    gpu_.reset();
    OnFakes::TearDown();
  }
  const Gpu& gpu() {
    if (!gpu_) gpu_.emplace(*Gpu::open(""));
    return *gpu_;
  }

 private:
  std::optional<Gpu> gpu_;
};

TEST_F(GpuTiming, TheGateHoldsEveryStreamUntilItIsReleased) {
  auto gate = StreamGate::create(gpu());
  ASSERT_TRUE(gate);
  const Stream first = *make_stream(gpu());
  const Stream second = *make_stream(gpu());
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(gate->hold(gpu(), first.get()));
    ASSERT_TRUE(gate->hold(gpu(), second.get()));
    EXPECT_EQ(loaded_cuda().stream_query(first.get()), cu::kNotReady) << round;
    EXPECT_EQ(loaded_cuda().stream_query(second.get()), cu::kNotReady) << round;
    gate->release();
    EXPECT_EQ(loaded_cuda().stream_synchronize(first.get()), cu::kSuccess);
    EXPECT_EQ(loaded_cuda().stream_synchronize(second.get()), cu::kSuccess);
  }
}

TEST_F(GpuTiming, AStreamThatIsHeldMissesTheDeadline) {
  auto gate = StreamGate::create(gpu());
  ASSERT_TRUE(gate);
  const Stream stream = *make_stream(gpu());
  const Event event = *make_event(gpu());
  ASSERT_TRUE(gate->hold(gpu(), stream.get()));
  ASSERT_EQ(loaded_cuda().event_record(event.get(), stream.get()), cu::kSuccess);
  const Status late = wait_for(gpu(), event, monotonic_now_ns() + 5e6, "copy 1 MiB");
  gate->release();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kDeadlineExceeded);
  EXPECT_THAT(late.error().message, HasSubstr("gpu0: copy 1 MiB: not done at the task's deadline"));
  EXPECT_TRUE(wait_for(gpu(), event, soon(), "copy 1 MiB"));
}

TEST_F(GpuTiming, AGateThatGoesLetsItsStreamsGo) {
  const Stream stream = *make_stream(gpu());
  {
    auto gate = StreamGate::create(gpu());
    ASSERT_TRUE(gate);
    ASSERT_TRUE(gate->hold(gpu(), stream.get()));
  }
  EXPECT_EQ(loaded_cuda().stream_synchronize(stream.get()), cu::kSuccess);
}

TEST_F(GpuTiming, AGateWithoutStreamMemoryOperationsWaives) {
  cuda_control().no_stream_memops = 1;
  auto gate = StreamGate::create(gpu());
  ASSERT_TRUE(gate);
  const Stream stream = *make_stream(gpu());
  const Status held = gate->hold(gpu(), stream.get());
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::kUnimplemented);
  EXPECT_EQ(held.error().message.find("NVreg"), std::string::npos)
      << "no option helps a driver that has them by default";
}

}  // namespace
}  // namespace railgauge::gpu
