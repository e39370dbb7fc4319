#include "kernels/bar/routine/engine_rate.h"

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge::bar {
namespace {

using fake::cuda_control;

class EngineRate : public gpu::OnFakes {};

TEST_F(EngineRate, IsThatOfCopiesInItsDirectionAndHoldsNothing) {
  const auto gpu = gpu::Gpu::open("gpu0");
  ASSERT_TRUE(gpu) << gpu.error().message;
  const auto memory = GpuBuffer::allocate("gpu0", 1U << 20U);
  ASSERT_TRUE(memory);
  const View view{.gpu = memory->data(), .bytes = memory->size()};
  const TickClock clock = TickClock::calibrate({0.02, true});
  const std::int64_t pinned = cuda_control().pinned;
  const std::int64_t streams = cuda_control().streams;
  for (const bool writes : {true, false}) {
    const std::uint64_t to_gpu = cuda_control().copies_to_gpu;
    const std::uint64_t to_host = cuda_control().copies_to_host;
    const auto rate = engine_rate(*gpu, view, 64U << 10U, writes, clock);
    ASSERT_TRUE(rate) << rate.error().message;
    EXPECT_GT(*rate, 0);
    EXPECT_EQ(cuda_control().copies_to_gpu > to_gpu, writes);
    EXPECT_EQ(cuda_control().copies_to_host > to_host, !writes);
  }
  EXPECT_EQ(cuda_control().pinned, pinned);
  EXPECT_EQ(cuda_control().streams, streams);
}

TEST_F(EngineRate, FailsWithTheCallThatFailed) {
  const auto gpu = gpu::Gpu::open("gpu0");
  ASSERT_TRUE(gpu);
  const auto memory = GpuBuffer::allocate("gpu0", 1U << 20U);
  ASSERT_TRUE(memory);
  const View view{.gpu = memory->data(), .bytes = memory->size()};
  cuda_control().fail_call = cuda_control().calls + 6;
  const auto rate = engine_rate(*gpu, view, 4096, true, TickClock::calibrate({0.02, true}));
  EXPECT_FALSE(rate);
}

}  // namespace
}  // namespace railgauge::bar
