// The pattern's kernels, and the copies that replace them in a build without device code.
#include "kernels/gpu/pattern.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "kernels/memory/host_buffer.h"

namespace railgauge::gpu {

extern const DeviceCode kPatternCode;

namespace {

// A launch shape that fills any GPU; the kernels stride over the grid.
constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerMultiprocessor = 8;
constexpr std::uint64_t kWordBytes = 8;
// The value that the comparison leaves where nothing differs.
constexpr std::uint32_t kNothingWrong = 0xffffffff;

}  // namespace

// Only a build or a driver without device code falls back to copies; a fault of the GPU is an
// error.
Result<Pattern> Pattern::create(const Gpu& gpu) {
  Pattern pattern(gpu);
  auto code = LoadedCode::load(gpu, kPatternCode);
  if (!code) {
    // Only a build or a driver that cannot: a fault of the GPU is an error here.
    if (code.error().code != Code::kUnimplemented) return tl::unexpected(code.error());
    return pattern;
  }
  pattern.fill_ = RG_TRY(code->function("railgauge_fill"));
  pattern.compare_ = RG_TRY(code->function("railgauge_compare"));
  pattern.first_wrong_ = RG_TRY(GpuBuffer::allocate(gpu.name(), sizeof(std::uint32_t)));
  pattern.code_ = std::move(*code);
  return pattern;
}

// Runs a kernel on the default stream and waits for its end.
Status Pattern::launch(cu::Function function, void** arguments) {
  const Cuda& cuda = loaded_cuda();
  const int processors = std::max(1, RG_TRY(gpu_->attribute(cu::kMultiprocessorCount)));
  const auto blocks = static_cast<unsigned>(processors * kBlocksPerMultiprocessor);
  RG_TRY_OK(gpu_status(
      *gpu_,
      cuda.launch_kernel(function, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
      "launch the pattern's kernel"));
  return gpu_status(*gpu_, cuda.stream_synchronize(nullptr), "run the pattern's kernel");
}

// Whole words first, then the rest below 8 bytes.
Status Pattern::fill(cu::DevicePtr memory, std::uint64_t bytes, std::uint64_t seed) {
  if (!code_) {
    HostBuffer whole = RG_TRY(HostBuffer::allocate(bytes));
    fill_pattern(whole.span().first(bytes), seed);
    RG_TRY_OK(gpu_status(*gpu_, loaded_cuda().memcpy_htod(memory, whole.data(), bytes),
                         "copy the pattern to it"));
    // From pageable memory it may return before the GPU has it.
    return gpu_status(*gpu_, loaded_cuda().ctx_synchronize(), "wait for the pattern");
  }
  unsigned long long words = bytes / kWordBytes;
  auto tail = static_cast<unsigned>(bytes % kWordBytes);
  unsigned long long seed_word = seed;
  void* arguments[] = {&memory, &words, &tail, &seed_word};  // NOLINT(modernize-avoid-c-arrays)
  return launch(fill_, arguments);
}

// The comparison yields an index of words, so the offset is exact to 8 bytes.
Result<std::optional<std::uint64_t>> Pattern::find_mismatch(cu::DevicePtr memory,
                                                            std::uint64_t bytes,
                                                            std::uint64_t seed) {
  const Cuda& cuda = loaded_cuda();
  if (!code_) {
    HostBuffer whole = RG_TRY(HostBuffer::allocate(bytes));
    RG_TRY_OK(gpu_status(*gpu_, cuda.memcpy_dtoh(whole.data(), memory, bytes),
                         "copy from it to compare"));
    const auto mismatch = railgauge::find_mismatch(whole.span().first(bytes), seed);
    if (!mismatch) return std::nullopt;
    return std::optional<std::uint64_t>(mismatch->offset);
  }
  RG_CHECK(bytes / kWordBytes < kNothingWrong);
  std::uint32_t first_wrong = kNothingWrong;
  cu::DevicePtr result = first_wrong_.data();
  RG_TRY_OK(gpu_status(*gpu_, cuda.memcpy_htod(result, &first_wrong, sizeof first_wrong),
                       "prepare to compare"));
  unsigned long long words = bytes / kWordBytes;
  auto tail = static_cast<unsigned>(bytes % kWordBytes);
  unsigned long long seed_word = seed;
  // NOLINTNEXTLINE(modernize-avoid-c-arrays)
  void* arguments[] = {&memory, &words, &tail, &seed_word, &result};
  RG_TRY_OK(launch(compare_, arguments));
  RG_TRY_OK(gpu_status(*gpu_, cuda.memcpy_dtoh(&first_wrong, result, sizeof first_wrong),
                       "read what the comparison found"));
  if (first_wrong == kNothingWrong) return std::nullopt;
  return std::optional<std::uint64_t>(first_wrong * kWordBytes);
}

// Reads the 8 bytes around the difference again, so that the message names the byte.
Status Pattern::verify(cu::DevicePtr memory, std::uint64_t bytes, std::uint64_t seed,
                       const std::string& what) {
  const auto near = RG_TRY(find_mismatch(memory, bytes, seed));
  if (!near) return {};
  const std::uint64_t first = *near / kWordBytes * kWordBytes;
  std::array<std::byte, kWordBytes> word{};
  const std::span<std::byte> seen = std::span(word).first(std::min(kWordBytes, bytes - first));
  const Cuda& cuda = loaded_cuda();
  // Not cuMemcpyDtoH: the memory may be the host's, pinned.
  RG_TRY_OK(gpu_status(*gpu_,
                       cuda.memcpy_async(reinterpret_cast<cu::DevicePtr>(seen.data()),
                                         memory + first, seen.size(), nullptr),
                       "copy what is wrong from it"));
  RG_TRY_OK(gpu_status(*gpu_, cuda.stream_synchronize(nullptr), "copy what is wrong from it"));
  const auto mismatch = railgauge::find_mismatch(seen, seed, first);
  if (!mismatch)
    return fail(Code::kDataLoss,
                fmt::format("{}: verify {} bytes: one of the 8 bytes at {} was wrong, and is right "
                            "when it is read again",
                            what, bytes, first));
  return fail(Code::kDataLoss,
              fmt::format("{}: verify {} bytes: {}", what, bytes, mismatch_words(*mismatch)));
}

}  // namespace railgauge::gpu
