// GPU memory through a dma-buf of the CUDA driver, mapped by mmap: no module but the driver's own.
// Discrete GPUs can from the driver of CUDA 13.3 on; before, the export works and mmap refuses.
#include <sys/mman.h>

#include <cerrno>

#include <fmt/format.h>

#include "kernels/bar/backend/backend.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::bar {
namespace {

// The first CUDA release whose driver maps a dma-buf of a discrete GPU, and the driver branch that
// came with it.
constexpr int kFirstRelease = 13030;  // CUDA 13.3
constexpr const char* kFirstDriver = "610";

class DmabufWindow final : public Window {
 public:
  // Exports whole pages of the host: the ones with `memory` and the following `bytes`. `worked`
  // belongs to the backend, which outlives the window. It has the flags of the last export that
  // could be mapped, so that a later pin() and map() need one call each.
  DmabufWindow(GpuBuffer own, cu::DevicePtr memory, std::size_t bytes, bool coherent,
               unsigned long long& worked)
      : own_(std::move(own)), memory_(memory), bytes_(bytes), coherent_(coherent), worked_(worked) {
    first_page_ = memory / page_bytes() * page_bytes();
    pages_bytes_ = round_up_to_pages(memory + bytes - first_page_);
  }
  ~DmabufWindow() override { static_cast<void>(unmap()); }

  // Tries the flags that worked last, then the mapping through the PCIe BAR. On coherent machines
  // the two mappings differ. The first error is returned: it belongs to the plain mapping.
  Status pin() override {
    Status first = export_memory(worked_);
    if (first || export_memory(cu::kRangeMappingPcie)) return {};
    return first;
  }

  // Maps the export. Where mmap refuses the plain one, exports again through the BAR and maps that.
  // The error names both refusals.
  Status map() override {
    Status first = map_export();
    if (first || flags_ == cu::kRangeMappingPcie) return first;
    const Status exported = export_memory(cu::kRangeMappingPcie);
    const Status second = exported ? map_export() : exported;
    if (second) return {};
    return fail(first.error().code,
                first.error().message + ", and " + second.error().message.substr(kPrefix.size()));
  }

  Status unmap() override {
    if (mapped_ == nullptr) return {};
    if (munmap(std::exchange(mapped_, nullptr), pages_bytes_) == 0) return {};
    return system_error("munmap", errno);
  }

  // Closing the descriptor gives the export back to the driver.
  Status unpin() override {
    export_.reset();
    return {};
  }

  // A plain mapping of a coherent machine is cached. Everything else goes through the BAR, which
  // Linux maps write-combined.
  [[nodiscard]] View view() const override {
    const bool cached = coherent_ && flags_ == 0;
    return {static_cast<std::byte*>(mapped_) + (memory_ - first_page_), memory_, bytes_,
            cached ? Caching::kCached : Caching::kWriteCombined};
  }

 private:
  // Opens each line of this backend; map() cuts it off when it joins two errors.
  static constexpr std::string_view kPrefix = "dmabuf: ";

  // A refusal of Linux is a waiver: driver, kernel or GPU lack the way.
  static Status system_error(std::string_view act, int error) {
    return fail(Code::kFailedPrecondition,
                fmt::format("{}{}: {}", kPrefix, act, errno_words(error)));
  }

  // Replaces the export by one with `flags` (cuMemGetHandleForAddressRange, CUDA driver API). The
  // range must begin and end at pages of the host.
  Status export_memory(unsigned long long flags) {
    const Cuda& cuda = loaded_cuda();
    int fd = -1;
    const cu::Return returned = cuda.mem_get_handle_for_address_range(
        &fd, first_page_, pages_bytes_, cu::kRangeHandleDmaBufFd, flags);
    Status exported = cuda_status(cuda, returned,
                                  fmt::format("{}cuMemGetHandleForAddressRange of {} with flags {}",
                                              kPrefix, canonical_bytes(pages_bytes_), flags));
    // The arguments are right, so it is this range that the driver exports nothing of.
    if (returned == cu::kInvalidValue) exported.error().code = Code::kFailedPrecondition;
    RG_TRY_OK(exported);
    export_ = Fd(fd);
    flags_ = flags;
    return {};
  }

  Status map_export() {
    // Offset 0: the export begins at the page. view() adds the bytes before `memory` in it.
    void* mapped =
        mmap(nullptr, pages_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, export_.get(), 0);
    if (mapped == MAP_FAILED)
      return system_error(
          fmt::format("mmap of {} exported with flags {}", canonical_bytes(pages_bytes_), flags_),
          errno);
    mapped_ = mapped;
    worked_ = flags_;
    return {};
  }

  GpuBuffer own_;  // freed last; empty when the memory is the caller's
  cu::DevicePtr memory_;
  std::size_t bytes_;
  bool coherent_;
  // The backend's; see the constructor.
  unsigned long long& worked_;
  // The page that holds the first byte, and the length of all pages.
  cu::DevicePtr first_page_ = 0;
  std::size_t pages_bytes_ = 0;
  Fd export_;
  unsigned long long flags_ = 0;
  void* mapped_ = nullptr;
};

class DmabufBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "dmabuf"; }

  Result<std::unique_ptr<Window>> make(const gpu::Gpu& gpu, std::size_t bytes) override {
    RG_TRY_OK(check(gpu));
    GpuBuffer own = RG_TRY(GpuBuffer::allocate(gpu.name(), bytes));
    const cu::DevicePtr memory = own.data();
    return window(gpu, std::move(own), memory, bytes);
  }

  Result<std::unique_ptr<Window>> adopt(const gpu::Gpu& gpu, cu::DevicePtr memory,
                                        std::size_t bytes) override {
    RG_TRY_OK(check(gpu));
    RG_TRY_OK(check_fixed_memory(gpu, memory));
    return window(gpu, GpuBuffer(), memory, bytes);
  }

 private:
  // Shared by make() and adopt(): only the owner of the memory differs.
  Result<std::unique_ptr<Window>> window(const gpu::Gpu& gpu, GpuBuffer own, cu::DevicePtr memory,
                                         std::size_t bytes) {
    const bool coherent = RG_TRY(gpu.attribute(cu::kUsesHostPageTables)) != 0;
    return std::make_unique<DmabufWindow>(std::move(own), memory, bytes, coherent, worked_);
  }

  // The three conditions in the order in which a person can change them: driver release, kernel
  // modules, GPU.
  static Status check(const gpu::Gpu& gpu) {
    const Cuda& cuda = loaded_cuda();
    if (cuda.driver_version < kFirstRelease || cuda.mem_get_handle_for_address_range == nullptr)
      return fail(Code::kUnimplemented,
                  fmt::format("dmabuf: driver {} (CUDA {}) lets no dma-buf be mapped; driver {} "
                              "(CUDA {}) or later does",
                              cuda.version, cuda_release(cuda.driver_version), kFirstDriver,
                              cuda_release(kFirstRelease)));
    if (RG_TRY(gpu.attribute(cu::kDmaBufSupported)) == 0)
      return fail(Code::kUnimplemented,
                  fmt::format("dmabuf: attribute {} (DMA_BUF_SUPPORTED) is 0; the open kernel "
                              "modules of the driver have it",
                              cu::kDmaBufSupported));
    if (RG_TRY(gpu.attribute(cu::kDmaBufMmapSupported)) == 0)
      return fail(Code::kUnimplemented,
                  fmt::format("dmabuf: attribute {} (DMA_BUF_MMAP_SUPPORTED) is 0: this GPU's "
                              "memory cannot be mapped so",
                              cu::kDmaBufMmapSupported));
    return {};
  }

  unsigned long long worked_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_dmabuf_backend() { return std::make_unique<DmabufBackend>(); }

}  // namespace railgauge::bar
