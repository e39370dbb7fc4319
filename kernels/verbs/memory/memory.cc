#include "kernels/verbs/memory/memory.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/text/text.h"

namespace railgauge::verbs {

MemoryKind memory_kind_of(std::string_view words) {
  if (words == "cuda") return MemoryKind::kCuda;
  if (words == "staged") return MemoryKind::kStaged;
  RG_CHECK(words == "host");
  return MemoryKind::kHost;
}

std::string_view memory_words(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kHost:
      return "host";
    case MemoryKind::kCuda:
      return "cuda";
    case MemoryKind::kStaged:
      break;
  }
  return "staged";
}

// A number is an index of the CUDA driver; a UUID is searched among all GPUs, because indices
// change with CUDA_VISIBLE_DEVICES.
Result<gpu::Gpu> open_gpu(const std::string& wanted) {
  if (!wanted.starts_with("GPU-"))
    return gpu::Gpu::open(wanted.starts_with("gpu") ? wanted : "gpu" + wanted);
  const int count = RG_TRY(gpu::Gpu::count());
  std::string there;
  for (int index = 0; index < count; ++index) {
    gpu::Gpu gpu = RG_TRY(gpu::Gpu::open(fmt::format("gpu{}", index)));
    if (gpu.uuid().starts_with(wanted)) return gpu;
    there += (there.empty() ? "" : ", ") + gpu.uuid();
  }
  return fail(Code::kNotFound, fmt::format("parameter gpu: {} is none of this node's: {}",
                                           in_quotes(wanted), there));
}

// The UUID is absent on drivers that do not report it.
void report_gpu(const gpu::Gpu& gpu, Reporter& reporter) {
  reporter.fact("gpu", gpu.name());
  reporter.fact("gpu_model", gpu.model());
  if (!gpu.uuid().empty()) reporter.fact("gpu_uuid", gpu.uuid());
  reporter.fact("gpu_pci_address", gpu.pci_address());
  reporter.fact("cuda_driver", loaded_cuda().version);
}

// A staging allocates its two memories by itself.
Result<Memory> Memory::allocate(const Form& form, std::size_t bytes) {
  RG_CHECK(form.kind != MemoryKind::kStaged);
  if (form.kind == MemoryKind::kCuda) return allocate_on_gpu(form.gpu, bytes);
  Memory memory;
  memory.host_ =
      RG_TRY(form.huge_pages ? HostBuffer::allocate_huge(bytes) : HostBuffer::allocate(bytes));
  return memory;
}

// Verifies where the driver placed the memory, sets SYNC_MEMOPS and clears it.
Result<Memory> Memory::allocate_on_gpu(const std::string& wanted, std::size_t bytes) {
  Memory memory;
  memory.on_gpu_ = std::make_unique<OnGpu>();
  OnGpu& made = *memory.on_gpu_;
  made.gpu = RG_TRY(open_gpu(wanted));
  made.buffer = RG_TRY(GpuBuffer::allocate(made.gpu.name(), bytes));
  const Cuda& cuda = loaded_cuda();
  // Observed, not asked for: memory that moves between host and GPU would be measured as the
  // host's.
  unsigned type = 0;
  RG_TRY_OK(gpu_status(
      made.gpu, cuda.pointer_get_attribute(&type, cu::kPointerMemoryType, made.buffer.data()),
      "ask where its memory is"));
  if (type != cu::kMemoryTypeDevice)
    return fail(Code::kInternal, fmt::format("{}: allocate: the driver gave memory of type {}, "
                                             "which is not the GPU's",
                                             made.gpu.name(), type));
  // The driver's own copies then end before they return, so that a NIC never sees half of one.
  const int yes = 1;
  RG_TRY_OK(gpu_status(made.gpu,
                       cuda.pointer_set_attribute(&yes, cu::kPointerSyncMemops, made.buffer.data()),
                       "set SYNC_MEMOPS on its memory"));
  made.pattern.emplace(RG_TRY(gpu::Pattern::create(made.gpu)));
  RG_TRY_OK(memory.clear(0, made.buffer.size()));
  return memory;
}

// Several links of a task may be on several GPUs.
Status Memory::make_current() const { return is_host() ? Status{} : on_gpu_->gpu.make_current(); }

// On a GPU the span only carries the address and the length.
std::span<std::byte> Memory::span() const {
  if (is_host()) return host_.span();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that only the NIC and the GPU follow
  return {reinterpret_cast<std::byte*>(on_gpu_->buffer.data()), on_gpu_->buffer.size()};
}

// A kernel writes the pattern on a GPU; a copy of it from the host would test the copy.
Status Memory::fill(std::size_t offset, std::size_t bytes, std::uint64_t seed) {
  RG_TRY_OK(make_current());
  if (!is_host()) return on_gpu_->pattern->fill(on_gpu_->buffer.data() + offset, bytes, seed);
  fill_pattern(host_.span().subspan(offset, bytes), seed);
  return {};
}

// Each copy doubles what is there, so a GPU makes few of them.
Status Memory::repeat(std::size_t offset, std::size_t period, std::size_t bytes) {
  RG_TRY_OK(make_current());
  for (std::size_t done = period; done < bytes;) {
    const std::size_t more = std::min(done, bytes - done);
    if (is_host()) {
      std::memcpy(host_.data() + offset + done, host_.data() + offset, more);
    } else {
      const cu::DevicePtr from = on_gpu_->buffer.data() + offset;
      RG_TRY_OK(gpu_status(on_gpu_->gpu,
                           loaded_cuda().memcpy_async(from + done, from, more, nullptr),
                           "repeat a message in its memory"));
    }
    done += more;
  }
  if (is_host()) return {};
  return gpu_status(on_gpu_->gpu, loaded_cuda().ctx_synchronize(),
                    "wait until a message is repeated in its memory");
}

// Waits until a GPU's memory is clear: a NIC's write that comes next must not be overwritten.
Status Memory::clear(std::size_t offset, std::size_t bytes) {
  if (is_host()) {
    std::ranges::fill(host_.span().subspan(offset, bytes), std::byte{0});
    return {};
  }
  RG_TRY_OK(make_current());
  const Cuda& cuda = loaded_cuda();
  RG_TRY_OK(gpu_status(on_gpu_->gpu, cuda.memset_d8(on_gpu_->buffer.data() + offset, 0, bytes),
                       "clear its memory"));
  return gpu_status(on_gpu_->gpu, cuda.ctx_synchronize(), "wait until its memory is cleared");
}

// Compares on the GPU and fetches the first wrong word alone, for the message.
Result<std::optional<std::string>> Memory::difference(std::size_t offset, std::size_t bytes,
                                                      std::uint64_t seed, std::size_t shown) {
  if (is_host()) {
    const auto found = find_mismatch(host_.span().subspan(offset, bytes), seed);
    if (!found) return std::nullopt;
    return mismatch_words(*found, shown);
  }
  RG_TRY_OK(make_current());
  const auto found =
      RG_TRY(on_gpu_->pattern->find_mismatch(on_gpu_->buffer.data() + offset, bytes, seed));
  if (!found) return std::nullopt;
  std::array<std::byte, sizeof(std::uint64_t)> word{};
  const auto seen = std::span(word).first(std::min(word.size(), bytes - *found));
  RG_TRY_OK(read(offset + *found, seen));
  if (const auto wrong = find_mismatch(seen, seed, *found)) return mismatch_words(*wrong, shown);
  // Data that the GPU saw wrong was right in its copy.
  return fmt::format(
      "byte {} or one of the next 7 was wrong when the GPU read it, expected what "
      "was sent, which a copy to the host brought",
      shown + *found);
}

// A synchronous copy by the driver where the memory is a GPU's.
Status Memory::read(std::size_t offset, std::span<std::byte> out) const {
  if (is_host()) {
    std::memcpy(out.data(), host_.data() + offset, out.size());
    return {};
  }
  RG_TRY_OK(make_current());
  return gpu_status(
      on_gpu_->gpu,
      loaded_cuda().memcpy_dtoh(out.data(), on_gpu_->buffer.data() + offset, out.size()),
      "read its memory");
}

}  // namespace railgauge::verbs
