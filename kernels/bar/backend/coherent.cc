// Machines whose CPU and GPU share page tables (Grace with Hopper or Blackwell): the GPU's address
// is the CPU's address, and there is nothing to pin or map. Plain loads and stores go through the
// chip-to-chip link, not a BAR.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "kernels/bar/backend/backend.h"
#include "kernels/core/base/spawn.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge::bar {
namespace {

// All steps but map() are empty: the memory is reachable from the moment of its allocation.
class CoherentWindow final : public Window {
 public:
  CoherentWindow(GpuBuffer own, cu::DevicePtr memory, std::size_t bytes)
      : own_(std::move(own)), memory_(memory), bytes_(bytes) {}

  Status pin() override { return {}; }
  // Asks Linux to touch the first and the last byte through a pipe. Shared page tables do not prove
  // that memory of cuMemAlloc belongs to the CPU. A direct touch could crash the process; write()
  // and read() return EFAULT instead.
  Status map() override {
    const auto pipe = make_pipe();
    if (!pipe) return fail(pipe.error().code, "coherent: " + pipe.error().message);
    for (std::byte* touched : {view().cpu, view().cpu + bytes_ - 1})
      if (::write(pipe->write.get(), touched, 1) != 1 || ::read(pipe->read.get(), touched, 1) != 1)
        return fail(Code::kFailedPrecondition,
                    fmt::format("coherent: the CPU cannot address memory of cuMemAlloc here ({})",
                                strerror(errno)));
    return {};
  }
  Status unmap() override { return {}; }
  Status unpin() override { return {}; }
  [[nodiscard]] View view() const override {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the address is one for both
    return {reinterpret_cast<std::byte*>(memory_), memory_, bytes_, Caching::kCached};
  }

 private:
  // Empty when the memory is the caller's.
  GpuBuffer own_;
  cu::DevicePtr memory_;
  std::size_t bytes_;
};

// Serves GPUs whose attribute PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES is set.
class CoherentBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "coherent"; }
  [[nodiscard]] bool has_steps() const override { return false; }

  Result<std::unique_ptr<Window>> make(const gpu::Gpu& gpu, std::size_t bytes) override {
    RG_TRY_OK(check(gpu));
    GpuBuffer own = RG_TRY(GpuBuffer::allocate(gpu.name(), bytes));
    const cu::DevicePtr memory = own.data();
    return std::make_unique<CoherentWindow>(std::move(own), memory, bytes);
  }

  Result<std::unique_ptr<Window>> adopt(const gpu::Gpu& gpu, cu::DevicePtr memory,
                                        std::size_t bytes) override {
    RG_TRY_OK(check(gpu));
    RG_TRY_OK(check_fixed_memory(gpu, memory));
    return std::make_unique<CoherentWindow>(GpuBuffer(), memory, bytes);
  }

 private:
  // Waives on every machine without shared page tables, as all x86 hosts are.
  static Status check(const gpu::Gpu& gpu) {
    if (RG_TRY(gpu.attribute(cu::kUsesHostPageTables)) != 0) return {};
    return fail(Code::kFailedPrecondition,
                fmt::format("coherent: attribute {} (PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) "
                            "is 0: CPU and GPU share no page tables here",
                            cu::kUsesHostPageTables));
  }
};

}  // namespace

std::unique_ptr<Backend> make_coherent_backend() { return std::make_unique<CoherentBackend>(); }

}  // namespace railgauge::bar
