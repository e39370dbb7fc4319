#include "kernels/memory/dmabuf.h"

#include <fmt/format.h>

#include "kernels/core/text/units.h"

namespace railgauge {

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

}  // namespace railgauge
