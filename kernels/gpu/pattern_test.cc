#include "kernels/gpu/pattern.h"

#include <vector>

#include <fmt/format.h>

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::gpu {
namespace {

using fake::cuda_control;

constexpr std::uint64_t kSeed = 11;
constexpr std::uint64_t kMaxBytes = 4096;

// By GPU kernels, and by copies where there is no device code.
class GpuPattern : public OnFakes, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    OnFakes::SetUp();
    cuda_control().no_twins = GetParam() ? 1 : 0;
    gpu_.emplace(*Gpu::open(""));
    pattern_.emplace(*Pattern::create(*gpu_));
    memory_.emplace(*GpuBuffer::allocate("gpu0", kMaxBytes));
  }
  void TearDown() override {
    memory_.reset();
    pattern_.reset();
    gpu_.reset();
    OnFakes::TearDown();
  }
  [[nodiscard]] std::vector<std::byte> read(std::uint64_t bytes) const {
    std::vector<std::byte> out(bytes);
    EXPECT_EQ(loaded_cuda().memcpy_dtoh(out.data(), memory_->data(), bytes), cu::kSuccess);
    return out;
  }
  void flip(std::uint64_t offset) const {
    std::byte byte{};
    ASSERT_EQ(loaded_cuda().memcpy_dtoh(&byte, memory_->data() + offset, 1), cu::kSuccess);
    byte ^= std::byte{0x80};
    ASSERT_EQ(loaded_cuda().memcpy_htod(memory_->data() + offset, &byte, 1), cu::kSuccess);
  }

  std::optional<Gpu> gpu_;
  std::optional<Pattern> pattern_;
  std::optional<GpuBuffer> memory_;
};

TEST_P(GpuPattern, IsTheOneOfHostMemoryForEverySize) {
  for (const std::uint64_t bytes : {1U, 7U, 8U, 9U, 64U, 1001U}) {
    ASSERT_EQ(loaded_cuda().memset_d8(memory_->data(), 0xee, kMaxBytes), cu::kSuccess);
    ASSERT_TRUE(pattern_->fill(memory_->data(), bytes, kSeed));
    EXPECT_FALSE(find_mismatch(read(bytes), kSeed)) << bytes;
    EXPECT_EQ(read(bytes + 1).back(), std::byte{0xee}) << bytes;
    EXPECT_TRUE(pattern_->verify(memory_->data(), bytes, kSeed, "gpu0"));
  }
}

TEST_P(GpuPattern, NamesTheFirstWrongByteWithWhatItIsAndShouldBe) {
  constexpr std::uint64_t kBytes = 1003;  // with a tail of three
  for (const std::uint64_t wrong : {0U, 5U, 8U, 999U, 1000U, 1002U}) {
    ASSERT_TRUE(pattern_->fill(memory_->data(), kBytes, kSeed));
    flip(wrong);
    const auto found = pattern_->find_mismatch(memory_->data(), kBytes, kSeed);
    ASSERT_TRUE(found && *found) << wrong;
    EXPECT_EQ(**found / 8, wrong / 8);
    const Status bad = pattern_->verify(memory_->data(), kBytes, kSeed, "gpu0>gpu1");
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().code, Code::kDataLoss);
    const unsigned seen = std::to_integer<unsigned>(read(kBytes)[wrong]);
    EXPECT_EQ(bad.error().message,
              fmt::format("gpu0>gpu1: verify 1003 bytes: byte {} is 0x{:02x}, expected 0x{:02x}",
                          wrong, seen, seen ^ 0x80U));
  }
}

TEST_P(GpuPattern, AnotherSeedIsAnotherPattern) {
  ASSERT_TRUE(pattern_->fill(memory_->data(), 64, kSeed));
  EXPECT_FALSE(pattern_->verify(memory_->data(), 64, kSeed + 1, "gpu0"));
}

TEST_P(GpuPattern, SaysWhereItRuns) { EXPECT_EQ(pattern_->runs_on() == "host", GetParam()); }

INSTANTIATE_TEST_SUITE_P(Places, GpuPattern, ::testing::Bool(), [](const auto& on_host) {
  return on_host.param ? "ByCopies" : "ByAKernel";
});

}  // namespace
}  // namespace railgauge::gpu
