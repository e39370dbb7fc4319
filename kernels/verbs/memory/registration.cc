#include "kernels/verbs/memory/registration.h"

#include <cerrno>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/text/units.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// Names of the paths, as the parameter and the fact `path` have them.
constexpr std::string_view kDmaBuf = "dma-buf";
constexpr std::string_view kPeermem = "nvidia-peermem";

// Exports the whole GPU buffer as a dma-buf: a file descriptor by which another driver, a NIC's,
// reaches it. The first byte of the buffer is the export's. The owner may close the descriptor once
// it is registered. Errors name the call and its result; kUnimplemented if the driver has no such
// call. `gpu` ("gpu0") appears in messages. The GPU's context must be current.
Result<Fd> export_dmabuf(std::string_view gpu, const GpuBuffer& buffer) {
  const Cuda& cuda = loaded_cuda();
  if (cuda.mem_get_handle_for_address_range == nullptr)
    return fail(Code::kUnimplemented,
                fmt::format("{}: driver {} (CUDA {}) has no cuMemGetHandleForAddressRange; CUDA "
                            "11.7 or later has it",
                            gpu, cuda.version, cuda_release(cuda.driver_version)));
  int fd = -1;
  // Whole GPU pages, so whole pages of any host.
  const cu::Return returned = cuda.mem_get_handle_for_address_range(
      &fd, buffer.data(), buffer.size(), cu::kRangeHandleDmaBufFd, 0);
  RG_TRY_OK(cuda_status(
      cuda, returned,
      fmt::format("{}: cuMemGetHandleForAddressRange of {}", gpu, canonical_bytes(buffer.size()))));
  return Fd(fd);  // 0 is a descriptor like any other
}

// Local writes are what every region needs.
int all_access(const RegistrationForm& form) { return form.access | IBV_ACCESS_LOCAL_WRITE; }

// kUnimplemented where library or driver lack the call; kFailedPrecondition where the adapter's
// driver refuses.
Result<MemoryRegionHandle> by_dmabuf(ibv_pd* domain, const Memory& memory,
                                     const RegistrationForm& form) {
  const Verbs& verbs = loaded_verbs();
  if (verbs.reg_dmabuf_mr == nullptr)
    return fail(
        Code::kUnimplemented,
        fmt::format("{} has no ibv_reg_dmabuf_mr; rdma-core 34 or later has it", verbs.path));
  if (RG_TRY(memory.gpu().attribute(cu::kDmaBufSupported)) == 0)
    return fail(Code::kUnimplemented,
                fmt::format("{}: attribute {} (DMA_BUF_SUPPORTED) is 0; the open kernel modules of "
                            "the driver have it",
                            memory.gpu().name(), cu::kDmaBufSupported));
  // Closed when this returns: the region keeps the buffer alive by itself.
  const Fd exported = RG_TRY(export_dmabuf(memory.gpu().name(), memory.gpu_buffer()));
  errno = 0;
  const int access = all_access(form) | (form.relaxed_ordering ? IBV_ACCESS_RELAXED_ORDERING : 0);
  MemoryRegionHandle region(verbs.reg_dmabuf_mr(
      domain, 0, memory.gpu_buffer().size(), memory.gpu_buffer().data(), exported.get(), access));
  if (!region)
    return fail(Code::kFailedPrecondition,
                fmt::format("ibv_reg_dmabuf_mr of {} bytes: {}", memory.gpu_buffer().size(),
                            errno_words(errno)));
  return region;
}

// ibv_reg_mr of GPU addresses works where a peer-memory module claims them.
Result<MemoryRegionHandle> by_peermem(const Device& device, ibv_pd* domain, const Memory& memory,
                                      const RegistrationForm& form) {
  auto region =
      register_addresses(device, domain, memory.span(), form.access, form.relaxed_ordering);
  if (region) return region;
  return fail(Code::kFailedPrecondition,
              fmt::format("ibv_reg_mr of the GPU's addresses: {}", region.error().message));
}

}  // namespace

// ibv_reg_mr_iova2 is the call that knows optional access flags.
Result<MemoryRegionHandle> register_addresses(const Device& device, ibv_pd* domain,
                                              std::span<std::byte> memory, int access,
                                              bool relaxed_ordering) {
  const Verbs& verbs = loaded_verbs();
  const int all = access | IBV_ACCESS_LOCAL_WRITE;
  errno = 0;
  ibv_mr* region = nullptr;
  if (!relaxed_ordering) {
    region = verbs.reg_mr(domain, memory.data(), memory.size(), all);
  } else {
    if (verbs.reg_mr_iova2 == nullptr)
      return fail(
          Code::kUnimplemented,
          fmt::format("parameter relaxed_ordering: {} has no ibv_reg_mr_iova2; rdma-core 28 "
                      "or later has it",
                      verbs.path));
    region = verbs.reg_mr_iova2(domain, memory.data(), memory.size(),
                                reinterpret_cast<std::uint64_t>(memory.data()),
                                static_cast<unsigned>(all) | IBV_ACCESS_RELAXED_ORDERING);
  }
  if (region == nullptr)
    return tl::unexpected(pinning_error(
        fmt::format("{}: register {} bytes", device.endpoint(), memory.size()), errno));
  return MemoryRegionHandle(region);
}

// Tries the paths in order and collects the refusals, which become a fact.
Result<Registration> register_all(const Device& device, ibv_pd* domain, const Memory& memory,
                                  const RegistrationForm& form) {
  Registration made;
  if (memory.is_host()) {
    made.region = RG_TRY(
        register_addresses(device, domain, memory.span(), form.access, form.relaxed_ordering));
    made.path = "host";
    return made;
  }
  for (const std::string_view path : {kDmaBuf, kPeermem}) {
    if (form.path != "auto" && form.path != path) continue;
    auto region = path == kDmaBuf ? by_dmabuf(domain, memory, form)
                                  : by_peermem(device, domain, memory, form);
    if (region) {
      made.region = std::move(*region);
      made.path = path;
      return made;
    }
    made.refused +=
        fmt::format("{}{}: {}", made.refused.empty() ? "" : "; ", path, region.error().message);
  }
  return fail(Code::kFailedPrecondition,
              fmt::format("{}: register memory of {}: {}; load the module nvidia-peermem, or run "
                          "the driver's open modules with an adapter driver that takes dma-buf, or "
                          "measure with memory staged",
                          device.endpoint(), memory.gpu().name(), made.refused));
}

}  // namespace railgauge::verbs
