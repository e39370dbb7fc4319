// Launches of the copy kernels, and the comparison of the bytes that they moved.
#include "kernels/cuda/route/kits.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

namespace railgauge::cuda {

extern const gpu::DeviceCode kCopyCode;
extern const gpu::DeviceCode kCopyTmaCode;
extern const gpu::DeviceCode kCopyMulticastCode;

namespace {

// Threads of a block: our own copies, and as nvbandwidth has them.
constexpr unsigned kThreads = 512;
constexpr unsigned kThreadsAgain = 1024;
constexpr unsigned kThreadsTma = 32;  // one copies, the others the few bytes at the end

constexpr int kCapabilityOfTma = 90;

// Blocks for one thread on each 16-byte word. Over PCIe, both ways at once, blocks that stay and
// stride gave 0.91 of that on an H200 (38.8 against 42.5 GB/s in each direction): new blocks keep
// the two ways in step.
unsigned blocks_of_words(std::uint64_t bytes, unsigned threads) {
  constexpr std::uint64_t kWordBytes = 16;
  constexpr std::uint64_t kMaxBlocks = 1U << 30U;
  const std::uint64_t block_bytes = kWordBytes * threads;
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>((bytes + block_bytes - 1) / block_bytes, 1, kMaxBlocks));
}
// Patterns that are kept, each of a second-level cache's size.
constexpr std::size_t kHostPatterns = 4;
// The answer of Pattern::runs_on() when it works by copies.
constexpr std::string_view kNoCode = "host";

// The first difference in [begin, end), or nothing.
std::optional<Mismatch> difference_in(std::span<const std::byte> seen,
                                      std::span<const std::byte> expected, std::uint64_t begin,
                                      std::uint64_t end) {
  const auto differs = std::mismatch(seen.begin() + begin, seen.begin() + end,
                                     expected.begin() + begin, expected.begin() + end);
  const auto at = static_cast<std::uint64_t>(differs.first - seen.begin());
  if (at == end) return std::nullopt;
  return Mismatch{at, std::to_integer<std::uint8_t>(*differs.second),
                  std::to_integer<std::uint8_t>(*differs.first)};
}

}  // namespace

// Compares the gaps between the copies too: a copy may not touch them.
std::optional<Mismatch> first_difference(std::span<const std::byte> seen,
                                         std::span<const std::byte> base,
                                         std::span<const std::byte> written,
                                         std::span<const std::uint64_t> offsets,
                                         std::uint64_t copy_bytes) {
  std::uint64_t at = 0;
  for (const std::uint64_t offset : offsets) {
    if (const auto wrong = difference_in(seen, base, at, offset)) return wrong;
    if (const auto wrong = difference_in(seen, written, offset, offset + copy_bytes)) return wrong;
    at = offset + copy_bytes;
  }
  return difference_in(seen, base, at, seen.size());
}

// Behind pointers, because a kit's destructor makes its context current.
Result<Kits> Kits::create(std::span<const gpu::Gpu> gpus, Engine engine) {
  Kits kits;
  kits.engine_ = engine;
  for (const gpu::Gpu& gpu : gpus) {
    RG_TRY_OK(gpu.make_current());
    gpu::keep_context(gpu);
    gpu::Pattern pattern = RG_TRY(gpu::Pattern::create(gpu));
    auto kit = std::unique_ptr<Kit>(new Kit{&gpu, std::move(pattern), {}});
    if (engine == Engine::kTma)
      kit->code = RG_TRY(load_tma_code(gpu));
    else if (engine == Engine::kMulticast)
      kit->code = RG_TRY(load_multicast_code(gpu));
    else if (engine != Engine::kCopyEngine)
      kit->code = RG_TRY(load_code(gpu));
    kits.kits_.push_back(std::move(kit));
  }
  RG_TRY_OK(gpus.front().make_current());
  return kits;
}

// `blocks` is the grid that fills the GPU once: by occupancy, times the multiprocessors.
Result<Kits::CopyCode> Kits::load_code(const gpu::Gpu& gpu) {
  CopyCode code{.code = RG_TRY(gpu::LoadedCode::load(gpu, kCopyCode))};
  code.copy = RG_TRY(code.code.function("railgauge_copy"));
  code.copy_both = RG_TRY(code.code.function("railgauge_copy_both"));
  code.copy_both_again = RG_TRY(code.code.function("railgauge_copy_both_again"));
  code.clear_units = RG_TRY(code.code.function("railgauge_clear_units"));
  RG_TRY_OK(fill_grid(gpu, kThreads, code));
  return code;
}

// Waives on a GPU below compute capability 9.0, which has no such copies.
Result<Kits::CopyCode> Kits::load_tma_code(const gpu::Gpu& gpu) {
  if (gpu.capability() < kCapabilityOfTma)
    return fail(Code::kUnimplemented,
                "{}: copy by tma: bulk asynchronous copies came with compute capability 9.0, and "
                "the GPU has {}.{}; use engine sm or ce",
                gpu.name(), gpu.capability() / 10, gpu.capability() % 10);
  CopyCode code{.code = RG_TRY(gpu::LoadedCode::load(gpu, kCopyTmaCode))};
  code.copy = RG_TRY(code.code.function("railgauge_copy_tma"));
  RG_TRY_OK(fill_grid(gpu, kThreadsTma, code));
  return code;
}

// A GPU that can join a multicast team runs its instructions.
Result<Kits::CopyCode> Kits::load_multicast_code(const gpu::Gpu& gpu) {
  CopyCode code{.code = RG_TRY(gpu::LoadedCode::load(gpu, kCopyMulticastCode))};
  code.copy = RG_TRY(code.code.function("railgauge_copy_multicast"));
  RG_TRY_OK(fill_grid(gpu, kThreads, code));
  return code;
}

Status Kits::fill_grid(const gpu::Gpu& gpu, unsigned threads, CopyCode& code) {
  int blocks = 0;
  RG_TRY_OK(gpu_status(
      gpu,
      loaded_cuda().occupancy_max_active_blocks(&blocks, code.copy, static_cast<int>(threads), 0),
      "ask how many blocks fit"));
  const int processors = RG_TRY(gpu.attribute(cu::kMultiprocessorCount));
  code.blocks = static_cast<unsigned>(std::max(1, blocks) * std::max(1, processors));
  return {};
}

// The facts are the first GPU's; all GPUs of a session run the same code.
void Kits::report_facts(Reporter& reporter) const {
  const Kit& first = *kits_.front();
  reporter.fact("pattern_code", first.pattern.runs_on());
  const bool by_tma = engine_ == Engine::kTma;
  reporter.fact("path", by_tma                          ? "TMA copy"
                        : engine_ == Engine::kMulticast ? "SM multicast stores"
                        : first.code                    ? "SM copy"
                                                        : "copy engine");
  if (!first.code) return;
  reporter.fact("copy_code", first.code->code.image());
  std::string threads =
      fmt::format("{} blocks of {}", first.code->blocks, by_tma ? kThreadsTma : kThreads);
  if (engine_ == Engine::kSmBoth)
    threads = fmt::format("one for each 16-byte word, in blocks of {}", kThreads);
  if (engine_ == Engine::kSmBothAgain)
    threads = fmt::format("one for each 16-byte word, {} times, in blocks of {}", kTimesAgain,
                          kThreadsAgain);
  reporter.fact("copy_threads", threads);
}

// CHECKs that the GPU is one of create().
Kits::Kit& Kits::kit_of(const gpu::Gpu& gpu) const {
  const auto found = std::ranges::find_if(
      kits_, [&gpu](const auto& kit) { return kit->gpu->index() == gpu.index(); });
  RG_CHECK(found != kits_.end());
  return **found;
}

Status Kits::launch(const Kit& kit, cu::Function function, const Shape& shape, void** arguments,
                    cu::Stream stream) {
  return gpu_status(*kit.gpu,
                    loaded_cuda().launch_kernel(function, shape.blocks, 1, 1, shape.threads, 1, 1,
                                                0, stream, arguments, nullptr),
                    "launch a copy kernel");
}

// The kernel without repetition ignores the fourth argument.
Status Kits::launch_both(const Kit& kit, const Copy& copy, bool again, cu::Stream stream) {
  cu::DevicePtr target = copy.target;
  cu::DevicePtr source = copy.source;
  unsigned long long count = copy.bytes;
  unsigned times = kTimesAgain;
  void* arguments[] = {&source, &target, &count, &times};  // NOLINT(modernize-avoid-c-arrays)
  const unsigned threads = again ? kThreadsAgain : kThreads;
  return launch(kit, again ? kit.code->copy_both_again : kit.code->copy_both,
                {blocks_of_words(count, threads), threads}, arguments, stream);
}

unsigned Kits::copy_blocks(const gpu::Gpu& gpu, std::uint64_t beside) const {
  return engine_ == Engine::kSm || engine_ == Engine::kTma || engine_ == Engine::kMulticast
             ? share_of_blocks(kit_of(gpu).code->blocks, beside)
             : 0;
}

// A copy engine needs no code; cuMemcpyAsync chooses it.
Status Kits::copy(const Copy& copy, cu::Stream stream) const {
  cu::DevicePtr target = copy.target;
  cu::DevicePtr source = copy.source;
  if (engine_ == Engine::kCopyEngine)
    return gpu_status(*copy.runs_on, loaded_cuda().memcpy_async(target, source, copy.bytes, stream),
                      "queue a copy");
  const Kit& kit = kit_of(*copy.runs_on);
  if (moves_both_ways(engine_))
    return launch_both(kit, copy, engine_ == Engine::kSmBothAgain, stream);
  unsigned long long count = copy.bytes;
  void* arguments[] = {&target, &source, &count};  // NOLINT(modernize-avoid-c-arrays)
  return launch(kit, kit.code->copy,
                {share_of_blocks(kit.code->blocks, copy.beside),
                 engine_ == Engine::kTma ? kThreadsTma : kThreads},
                arguments, stream);
}

// Memory that no GPU reaches, or that no GPU can fill, is filled by the CPU.
Status Kits::fill(const Area& area, std::uint64_t bytes, std::uint64_t seed) {
  Kit& kit = area.gpu() != nullptr ? kit_of(*area.gpu()) : *kits_.front();
  const bool by_host =
      !area.reachable() || (area.gpu() == nullptr && kit.pattern.runs_on() == kNoCode);
  if (by_host) {
    fill_pattern(area.host().first(bytes), seed);
    return {};
  }
  RG_TRY_OK(kit.gpu->make_current());
  return kit.pattern.fill(area.address(), bytes, seed);
}

// Zeroes the units that the other end is to write, and waits.
Status Kits::clear_units(const Kit& kit, const Area& area, std::uint64_t bytes,
                         unsigned parity) const {
  cu::DevicePtr memory = area.address();
  unsigned long long count = bytes;
  void* arguments[] = {&memory, &count, &parity};  // NOLINT(modernize-avoid-c-arrays)
  RG_TRY_OK(launch(kit, kit.code->clear_units, {kit.code->blocks, kThreads}, arguments, nullptr));
  return gpu_status(*kit.gpu, loaded_cuda().stream_synchronize(nullptr), "clear what is to come");
}

// Source and target get the same pattern; each lacks the units that the copy brings.
Status Kits::fill_both(const gpu::Gpu& runs_on, const Area& target, const Area& source,
                       std::uint64_t bytes, std::uint64_t seed) {
  RG_TRY_OK(fill(source, bytes, seed));
  RG_TRY_OK(fill(target, bytes, seed));
  const Kit& kit = kit_of(runs_on);
  RG_TRY_OK(kit.gpu->make_current());
  RG_TRY_OK(clear_units(kit, source, bytes, 0));
  return clear_units(kit, target, bytes, 1);
}

// By the GPU where it has code, else by the CPU.
Status Kits::verify(const Area& area, std::uint64_t bytes, std::uint64_t seed) {
  Kit& kit = area.gpu() != nullptr ? kit_of(*area.gpu()) : *kits_.front();
  if (area.gpu() != nullptr || (area.reachable() && kit.pattern.runs_on() != kNoCode)) {
    RG_TRY_OK(kit.gpu->make_current());
    return kit.pattern.verify(area.address(), bytes, seed, area.name());
  }
  const auto mismatch = railgauge::find_mismatch(area.host().first(bytes), seed);
  if (!mismatch) return {};
  return fail(Code::kDataLoss,
              fmt::format("host: verify {} bytes: byte {} is {:#04x}, {:#04x} was written", bytes,
                          mismatch->offset, mismatch->seen, mismatch->expected));
}

// A larger request replaces the buffer; the pattern's beginning stays the same.
Result<std::span<const std::byte>> Kits::host_pattern(std::uint64_t seed, std::uint64_t bytes) {
  HostBuffer& buffer = host_patterns_[seed];
  if (buffer.size() < bytes) {
    buffer = RG_TRY(HostBuffer::allocate(bytes));
    fill_pattern(buffer.span(), seed);
  }
  return std::span<const std::byte>(buffer.span().first(bytes));
}

// Copies the whole region back and compares it with both patterns.
Status Kits::verify_slots(const Area& area, const Rotation& rotation, std::uint64_t copies,
                          std::uint64_t source_seed, std::uint64_t target_seed) {
  const std::uint64_t bytes = rotation.region_bytes();
  const std::size_t more =
      2 - host_patterns_.count(source_seed) - host_patterns_.count(target_seed);
  if (host_patterns_.size() + more > kHostPatterns) host_patterns_.clear();
  const auto written = RG_TRY(host_pattern(source_seed, bytes));
  const auto base = RG_TRY(host_pattern(target_seed, bytes));
  const HostBuffer seen = RG_TRY(HostBuffer::allocate(bytes));
  const gpu::Gpu& gpu = area.gpu() != nullptr ? *area.gpu() : *kits_.front()->gpu;
  const Cuda& cuda = loaded_cuda();
  RG_TRY_OK(gpu.make_current());
  RG_TRY_OK(gpu_status(gpu,
                       cuda.memcpy_async(reinterpret_cast<cu::DevicePtr>(seen.data()),
                                         area.address(), bytes, nullptr),
                       "copy from it to compare"));
  RG_TRY_OK(gpu_status(gpu, cuda.stream_synchronize(nullptr), "copy from it to compare"));
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t copy = 0; copy < std::min(copies, rotation.slots()); ++copy)
    offsets.push_back(rotation.offset(copy));
  std::ranges::sort(offsets);
  const auto wrong =
      first_difference(seen.span().first(bytes), base, written, offsets, rotation.copy_bytes());
  if (!wrong) return {};
  return fail(Code::kDataLoss,
              fmt::format("{}: verify {} copies of {} bytes: byte {} of the buffer is {:#04x}, "
                          "expected {:#04x}",
                          area.name(), copies, rotation.copy_bytes(), wrong->offset, wrong->seen,
                          wrong->expected));
}

}  // namespace railgauge::cuda
