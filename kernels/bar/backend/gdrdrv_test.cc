// The message of the path through gdrdrv when the module refuses to pin, on the fakes.
#include <gmock/gmock.h>

#include <cerrno>

#include "kernels/bar/backend/backend.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge::bar {
namespace {

using fake::gdrapi_control;
using ::testing::HasSubstr;

class Gdrdrv : public gpu::OnFakes {
 protected:
  static void SetUpTestSuite() {
    gpu::OnFakes::SetUpTestSuite();
    setenv(kGdrapiLibraryVariable, RAILGAUGE_FAKE_LIBGDRAPI, 1);
  }
  void SetUp() override {
    gpu::OnFakes::SetUp();
    gdrapi_control().reset();
  }
  void TearDown() override {
    EXPECT_EQ(gdrapi_control().live_handles, 0);
    gpu::OnFakes::TearDown();
  }
  // Pins `bytes` from `offset` into a buffer of one GPU page; the module answers `error`.
  static Status pin(std::size_t offset, std::size_t bytes, int error) {
    const gpu::Gpu gpu = RG_TRY(gpu::Gpu::open("gpu0"));
    const GpuBuffer buffer = RG_TRY(GpuBuffer::allocate(gpu.name(), GpuBuffer::kPageBytes));
    const auto backend = make_gdrdrv_backend();
    const auto window = RG_TRY(backend->adopt(gpu, buffer.data() + offset, bytes));
    gdrapi_control().fail_call = gdrapi_control().calls + 1;
    gdrapi_control().fail_error = static_cast<std::uint64_t>(error);
    return window->pin();
  }
};

TEST_F(Gdrdrv, WaivesForMemoryThatCannotBePinnedNamingTheCallAndTheError) {
  const Status pinned = pin(0, GpuBuffer::kPageBytes, EINVAL);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(outcome_of(pinned.error().code), kWaived);
  EXPECT_THAT(pinned.error().message,
              HasSubstr("gdr_pin_buffer of 64KiB: Invalid argument (errno 22)"));
  EXPECT_THAT(pinned.error().message, HasSubstr("cannot be pinned here; use another backend"));
}

TEST_F(Gdrdrv, FailsWhenItAskedForMoreThanTheAllocationHas) {
  const Status pinned = pin(4096, 64 * GpuBuffer::kPageBytes, EINVAL);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().code, Code::kInternal) << pinned.error().message;
}

TEST_F(Gdrdrv, WaivesWhereTheBarHasNoRoomAndSaysSo) {
  const Status pinned = pin(0, GpuBuffer::kPageBytes, ENOMEM);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(outcome_of(pinned.error().code), kWaived);
  EXPECT_THAT(pinned.error().message, HasSubstr("(errno 12): the GPU's window (BAR1) has no room"));
}

TEST_F(Gdrdrv, FailsWhenTheModuleErrs) {
  const Status pinned = pin(0, GpuBuffer::kPageBytes, EIO);
  ASSERT_FALSE(pinned);
  EXPECT_EQ(pinned.error().code, Code::kInternal) << pinned.error().message;
}

}  // namespace
}  // namespace railgauge::bar
