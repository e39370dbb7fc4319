// The device code of this build on a real GPU: the driver compiles the PTX of every source, the
// result does what the machine code does, and the pattern finds one wrong byte. Part of
// gpu_catalog_gpu_test.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/pattern.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/memory/host_buffer.h"
#include "kernels/testing/gpu_presence.h"

namespace railgauge::gpu {
extern const DeviceCode kPatternCode;
extern const DeviceCode kFlagAnswerCode;
}  // namespace railgauge::gpu
namespace railgauge::cuda {
extern const gpu::DeviceCode kCopyCode;
extern const gpu::DeviceCode kCopyTmaCode;
extern const gpu::DeviceCode kChaseCode;
}  // namespace railgauge::cuda
namespace railgauge::nccl {
extern const gpu::DeviceCode kGinCode;
extern const gpu::DeviceCode kVerifyCode;
}  // namespace railgauge::nccl

namespace railgauge {
namespace {

// The driver keeps compiled code in the user's home: a compiler that has gone since would not be
// missed. Read by cuInit, so set before any test.
[[maybe_unused]] const int kCompileAlways = setenv("CUDA_CACHE_DISABLE", "1", 1);

struct Source {
  const char* name;
  const gpu::DeviceCode* code;
  std::vector<const char*> functions;
};
void PrintTo(const Source& source, std::ostream* out) { *out << source.name; }

std::vector<Source> sources() {
  return {{"pattern", &gpu::kPatternCode, {"railgauge_fill", "railgauge_compare"}},
          {"flag_answer",
           &gpu::kFlagAnswerCode,
           {"railgauge_answer_flags", "railgauge_answer_gated", "railgauge_pass_data"}},
          {"copy",
           &cuda::kCopyCode,
           {"railgauge_copy", "railgauge_copy_both", "railgauge_copy_both_again",
            "railgauge_clear_units"}},
          {"copy_tma", &cuda::kCopyTmaCode, {"railgauge_copy_tma"}},
          {"chase", &cuda::kChaseCode, {"railgauge_chase"}},
          {"nccl_gin", &nccl::kGinCode, {"railgauge_gin_about", "railgauge_gin_ring"}},
          {"nccl_verify",
           &nccl::kVerifyCode,
           {"railgauge_nccl_fill", "railgauge_nccl_check", "railgauge_nccl_tell"}}};
}

// Returns the reason why this build, driver or GPU cannot take the PTX, "" when it must. A driver
// that fails although it should work (no compiler installed, PTX refused) is not such a reason.
std::string why_not(const gpu::Gpu& gpu, const gpu::DeviceCode& code) {
  if (code.ptx.empty())
    return std::string("this build has no device code, lacking ") + code.lacking;
  const int needed = gpu::cuda_release_of_ptx(code.ptx_version);
  if (loaded_cuda().driver_version < needed)
    return "the driver is of CUDA " + cuda_release(loaded_cuda().driver_version) +
           ", the PTX needs CUDA " + cuda_release(needed);
  if (gpu.capability() < code.ptx_capability)
    return "the GPU is older than the lowest that the PTX is for";
  return "";
}

// As on a driver older than the compiler, or a GPU newer.
gpu::DeviceCode ptx_alone(gpu::DeviceCode code) {
  code.cubins = {};
  return code;
}

class DeviceCodeOnAGpu : public ::testing::TestWithParam<Source> {
 protected:
  void SetUp() override { need_whole_gpus(); }
};

TEST_P(DeviceCodeOnAGpu, TheDriverCompilesThePtx) {
  auto opened = gpu::Gpu::open("gpu0");
  ASSERT_TRUE(opened) << opened.error().message;
  const Source& source = GetParam();
  if (const std::string why = why_not(*opened, *source.code); !why.empty()) GTEST_SKIP() << why;
  const auto loaded = gpu::LoadedCode::load(*opened, ptx_alone(*source.code));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_THAT(loaded->image(), ::testing::HasSubstr("compiled by the driver"));
  for (const char* name : source.functions) {
    const auto function = loaded->function(name);
    EXPECT_TRUE(function) << function.error().message;
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, DeviceCodeOnAGpu, ::testing::ValuesIn(sources()),
                         [](const auto& param) { return std::string(param.param.name); });

class GinOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override { need_whole_gpus(); }
};

// The code itself says of which release's headers it is made: only those of 2.30.3 and later have
// get.
TEST_F(GinOnAGpu, HasGetWhereItsHeadersHave) {
  auto opened = gpu::Gpu::open("gpu0");
  ASSERT_TRUE(opened) << opened.error().message;
  if (const std::string why = why_not(*opened, nccl::kGinCode); !why.empty()) GTEST_SKIP() << why;
  const auto loaded = gpu::LoadedCode::load(*opened, ptx_alone(nccl::kGinCode));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto about = loaded->function("railgauge_gin_about");
  ASSERT_TRUE(about) << about.error().message;
  std::array<unsigned long long, 4> found{};
  const auto memory = GpuBuffer::allocate("gpu0", sizeof found);
  ASSERT_TRUE(memory) << memory.error().message;
  cu::DevicePtr out = memory->data();
  cu::DevicePtr none = 0;
  // The driver takes an array of pointers.
  void* arguments[] = {&out, &none};  // NOLINT(modernize-avoid-c-arrays)
  const Cuda& cuda = loaded_cuda();
  ASSERT_EQ(cuda.launch_kernel(*about, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
            cu::kSuccess);
  ASSERT_EQ(cuda.stream_synchronize(nullptr), cu::kSuccess);
  ASSERT_EQ(cuda.memcpy_dtoh(found.data(), out, sizeof found), cu::kSuccess);
  EXPECT_GE(found[0], 22'807U);
  const bool has_get = found[0] >= 23'003;
  EXPECT_EQ(found[2], has_get ? 1U : 0U);
  EXPECT_EQ(loaded->function("railgauge_gin_get").has_value(), has_get);
}

class PatternOnAGpu : public ::testing::Test {
 protected:
  void SetUp() override { need_whole_gpus(); }
};

TEST_F(PatternOnAGpu, FromPtxFillsTheBytesOfTheHostsPattern) {
  auto opened = gpu::Gpu::open("gpu0");
  ASSERT_TRUE(opened) << opened.error().message;
  if (const std::string why = why_not(*opened, gpu::kPatternCode); !why.empty())
    GTEST_SKIP() << why;
  const auto loaded = gpu::LoadedCode::load(*opened, ptx_alone(gpu::kPatternCode));
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto fill = loaded->function("railgauge_fill");
  ASSERT_TRUE(fill) << fill.error().message;

  constexpr unsigned long long kWords = 1U << 17U;
  constexpr unsigned kTailBytes = 5;
  constexpr std::uint64_t kBytes = 8 * kWords + kTailBytes;
  constexpr std::uint64_t kSeed = 0x70747866696c6c;
  const auto memory = GpuBuffer::allocate("gpu0", kBytes);
  ASSERT_TRUE(memory) << memory.error().message;
  const Cuda& cuda = loaded_cuda();
  ASSERT_EQ(cuda.memset_d8(memory->data(), 0, kBytes), cu::kSuccess);
  cu::DevicePtr out = memory->data();
  unsigned long long words = kWords;
  unsigned tail = kTailBytes;
  unsigned long long seed = kSeed;
  // The driver takes an array of pointers.
  void* arguments[] = {&out, &words, &tail, &seed};  // NOLINT(modernize-avoid-c-arrays)
  ASSERT_EQ(cuda.launch_kernel(*fill, 16, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr),
            cu::kSuccess);
  ASSERT_EQ(cuda.stream_synchronize(nullptr), cu::kSuccess);

  std::vector<std::byte> seen(kBytes);
  ASSERT_EQ(cuda.memcpy_dtoh(seen.data(), memory->data(), kBytes), cu::kSuccess);
  if (const auto wrong = find_mismatch(seen, kSeed); wrong)  // by the host's own pattern
    ADD_FAILURE() << "byte " << wrong->offset << " is " << int{wrong->seen} << ", expected "
                  << int{wrong->expected};
}

TEST_F(PatternOnAGpu, FindsTheOneByteThatIsWrong) {
  auto opened = gpu::Gpu::open("gpu0");
  ASSERT_TRUE(opened) << opened.error().message;
  auto pattern = gpu::Pattern::create(*opened);
  ASSERT_TRUE(pattern) << pattern.error().message;
  constexpr std::uint64_t kBytes = (64U << 20U) + 5;  // whole words and a tail
  const auto memory = GpuBuffer::allocate("gpu0", kBytes);
  ASSERT_TRUE(memory) << memory.error().message;
  ASSERT_TRUE(pattern->fill(memory->data(), kBytes, 7));
  EXPECT_TRUE(pattern->verify(memory->data(), kBytes, 7, "gpu0"));
  for (const std::uint64_t at : {std::uint64_t{0}, kBytes / 2, kBytes - 1}) {
    ASSERT_TRUE(pattern->fill(memory->data(), kBytes, 7));
    std::uint8_t byte = 0;
    const Cuda& cuda = loaded_cuda();
    ASSERT_EQ(cuda.memcpy_dtoh(&byte, memory->data() + at, 1), cu::kSuccess);
    byte ^= 1U;
    ASSERT_EQ(cuda.memcpy_htod(memory->data() + at, &byte, 1), cu::kSuccess);
    const auto found = pattern->find_mismatch(memory->data(), kBytes, 7);
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_TRUE(found->has_value()) << at;
    EXPECT_EQ(**found / 8, at / 8);  // to the byte where it compares on the host
  }
}

}  // namespace
}  // namespace railgauge
