#include "kernels/gpu/reuse.h"

#include <optional>

#include "kernels/fakes/gpu_fixture.h"

namespace railgauge::gpu {
namespace {

using fake::cuda_control;

constexpr std::size_t kBytes = 1U << 20U;

class Reuse : public OnFakes {
 protected:
  void TearDown() override {
    gpu_.reset();
    OnFakes::TearDown();
  }
  const Gpu& gpu() {
    if (!gpu_) gpu_.emplace(*Gpu::open(""));
    return *gpu_;
  }
  static cu::DevicePtr pinned_once(std::size_t bytes, const std::string& place,
                                   PinnedKind kind = PinnedKind::kPinned) {
    const auto lent = lend_pinned(bytes, kind, place);
    EXPECT_TRUE(lent);
    return (*lent)->device_pointer();
  }
  std::optional<Gpu> gpu_;
};

TEST_F(Reuse, KeepsNothingWithoutAKeepWarm) {
  EXPECT_FALSE(warm());
  keep_context(gpu());
  pinned_once(kBytes, "near:0");
  EXPECT_TRUE(lend_gpu(gpu(), kBytes));
  EXPECT_EQ(cuda_control().pinned, 0);
  EXPECT_EQ(cuda_control().allocations, 0);
  EXPECT_EQ(cuda_control().contexts, 1);
}

TEST_F(Reuse, LendsTheSameBufferAgainWhileAKeepWarmLives) {
  const KeepWarm keep;
  EXPECT_TRUE(warm());
  static_cast<void>(gpu());
  const cu::DevicePtr first = pinned_once(kBytes, "near:0");
  EXPECT_EQ(cuda_control().pinned, 1);
  EXPECT_EQ(pinned_once(kBytes, "near:0"), first);
  EXPECT_EQ(pinned_once(kBytes / 2, "near:0"), first) << "a larger one will do";
  EXPECT_EQ(cuda_control().pinned, 1);
}

TEST_F(Reuse, LendsNoBufferOfAnotherSort) {
  const KeepWarm keep;
  static_cast<void>(gpu());
  pinned_once(kBytes, "near:0");
  pinned_once(kBytes, "near:1");
  pinned_once(kBytes, "near:0", PinnedKind::kWriteCombined);
  pinned_once(2 * kBytes, "near:0");
  pinned_once(kBytes / 64, "near:0");
  EXPECT_EQ(cuda_control().pinned, 5);
}

TEST_F(Reuse, KeepsTheContextUntilTheKeepWarmEnds) {
  {
    const KeepWarm keep;
    keep_context(gpu());
    keep_context(gpu());
    gpu_.reset();
    EXPECT_EQ(cuda_control().contexts, 1);
  }
  EXPECT_EQ(cuda_control().contexts, 0);
}

TEST_F(Reuse, ReleasesEverythingWhenTheKeepWarmEnds) {
  {
    const KeepWarm keep;
    keep_context(gpu());
    pinned_once(kBytes, "near:0");
    EXPECT_TRUE(lend_gpu(gpu(), kBytes));
    EXPECT_EQ(cuda_control().allocations, 1);
    gpu_.reset();
  }
  EXPECT_EQ(cuda_control().live_handles(), 0);
}

TEST_F(Reuse, GivesItsStockUpBeforeItSaysThatMemoryIsShort) {
  const KeepWarm keep;
  cuda_control().total_bytes = 8 * kBytes;
  keep_context(gpu());
  EXPECT_TRUE(lend_gpu(gpu(), 5 * kBytes));  // stays, 3 are free
  EXPECT_TRUE(lend_gpu(gpu(), 6 * kBytes));
  EXPECT_EQ(cuda_control().allocations, 1);
  EXPECT_EQ(lend_gpu(gpu(), 64 * kBytes).error().code, Code::kFailedPrecondition);
}

TEST_F(Reuse, AMovedLoanIsGivenBackOnce) {
  const KeepWarm keep;
  static_cast<void>(gpu());
  {
    auto first = *lend_pinned(kBytes, PinnedKind::kPinned, "near:0");
    Lent<PinnedBuffer> second = std::move(first);
    Lent<PinnedBuffer> third;
    third = std::move(second);
    EXPECT_EQ(third->size(), kBytes);
  }
  pinned_once(kBytes, "near:0");
  EXPECT_EQ(cuda_control().pinned, 1);
}

}  // namespace
}  // namespace railgauge::gpu
