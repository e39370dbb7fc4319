#include "kernels/memory/gpu_buffer.h"

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge {
namespace {

using fake::cuda_control;
using ::testing::HasSubstr;

class GpuMemory : public gpu::OnFakes {
 protected:
  void SetUp() override {
    OnFakes::SetUp();
    ASSERT_TRUE(load_cuda());
    cu::Context context = nullptr;
    ASSERT_EQ(loaded_cuda().primary_ctx_retain(&context, 0), cu::kSuccess);
    ASSERT_EQ(loaded_cuda().ctx_set_current(context), cu::kSuccess);
  }
  void TearDown() override {
    loaded_cuda().primary_ctx_release(0);
    OnFakes::TearDown();
  }
};

TEST_F(GpuMemory, IsWholeGpuPagesBeginningOnOne) {
  const auto buffer = GpuBuffer::allocate("gpu0", 100);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->data() % GpuBuffer::kPageBytes, 0U);
  EXPECT_EQ(buffer->size(), GpuBuffer::kPageBytes);
  EXPECT_EQ(loaded_cuda().memset_d8(buffer->data(), 1, buffer->size()), cu::kSuccess);
}

TEST_F(GpuMemory, MoreThanIsFreeWaivesWithBothFigures) {
  cuda_control().free_bytes = 1 << 20;
  const auto buffer = GpuBuffer::allocate("gpu0", 2 << 20);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(buffer.error().message,
            "gpu0: allocate 2MiB: 1MiB of its 8GiB are free; end what else uses it or ask for "
            "smaller sizes");
}

TEST_F(GpuMemory, MoreThanTheDriverGivesWaivesWithItsWords) {
  cuda_control().reset();
  cuda_control().fail_call = 2;
  cuda_control().fail_error = cu::kOutOfMemory;
  const auto buffer = GpuBuffer::allocate("gpu0", 1 << 20);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(buffer.error().message,
            "gpu0: allocate 1MiB: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
}

TEST_F(GpuMemory, PinnedMemoryHasAnAddressForGpus) {
  const auto buffer = PinnedBuffer::allocate(4096, PinnedKind::kWriteCombined);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(buffer->span().size(), 4096U);
  EXPECT_EQ(loaded_cuda().memset_d8(buffer->device_pointer(), 7, 4096), cu::kSuccess);
  EXPECT_EQ(buffer->span()[4095], std::byte{7});
}

TEST_F(GpuMemory, PinnedMemoryWithoutAnAddressIsGivenBack) {
  cuda_control().reset();
  cuda_control().fail_call = 2;
  const auto buffer = PinnedBuffer::allocate(4096, PinnedKind::kPinned);
  ASSERT_FALSE(buffer);
  EXPECT_THAT(buffer.error().message, HasSubstr("pinned host memory: allocate 4096 bytes"));
  EXPECT_EQ(cuda_control().pinned, 0);
}

}  // namespace
}  // namespace railgauge
