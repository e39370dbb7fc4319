#include "kernels/verbs/memory/dmabuf.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/text/units.h"
#include "kernels/dl/mlx5.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// The folder with links resolved; "" for one that is not there.
std::string resolved(const std::filesystem::path& folder) {
  std::error_code error;
  const auto path = std::filesystem::canonical(folder, error);
  return error ? "" : path.string();
}

// libmlx5 is asked only about a device of its own driver.
Result<const Mlx5*> mlx5_of(const Device& device) {
  if (device.driver() != "mlx5_core" && std::getenv(kMlx5LibraryVariable) == nullptr)
    return fail(Code::kUnimplemented, fmt::format("{}: driver {} has no Data Direct",
                                                  device.endpoint(), device.driver()));
  return load_mlx5();
}

// The folder of the NIC's Data Direct function below `sysfs`; "" for a NIC without one, or a
// library or kernel that knows of none.
Result<std::string> data_direct_folder(const Device& device, const std::string& sysfs) {
  const auto mlx5 = mlx5_of(device);
  if (!mlx5) return std::string();
  std::array<char, PATH_MAX> folder{};
  const int error =
      (*mlx5)->get_data_direct_sysfs_path(device.context(), folder.data(), folder.size());
  if (error == ENODEV || error == EOPNOTSUPP) return std::string();
  if (error != 0)
    return fail(Code::kFailedPrecondition,
                fmt::format("mlx5dv_get_data_direct_sysfs_path: {}", errno_words(error)));
  return resolved(sysfs + folder.data());
}

// Exports the whole GPU buffer as a dma-buf: a file descriptor by which another driver, a NIC's,
// reaches it. The first byte of the buffer is the export's. The owner may close the descriptor once
// it is registered. Errors name the call and its result.
Result<Fd> export_dmabuf(std::string_view gpu, const GpuBuffer& buffer, DmabufMapping mapping) {
  const Cuda& cuda = loaded_cuda();
  if (cuda.mem_get_handle_for_address_range == nullptr)
    return fail(Code::kUnimplemented,
                fmt::format("{}: driver {} (CUDA {}) has no cuMemGetHandleForAddressRange; CUDA "
                            "11.7 or later has it",
                            gpu, cuda.version, cuda_release(cuda.driver_version)));
  const bool is_default = mapping == DmabufMapping::kDefault;
  int fd = -1;
  // Whole GPU pages, so whole pages of any host.
  const cu::Return returned = cuda.mem_get_handle_for_address_range(
      &fd, buffer.data(), buffer.size(), cu::kRangeHandleDmaBufFd,
      is_default ? 0 : cu::kRangeMappingPcie);
  RG_TRY_OK(cuda_status(
      cuda, returned,
      fmt::format("{}: cuMemGetHandleForAddressRange of {}{}", gpu, canonical_bytes(buffer.size()),
                  is_default ? "" : " by the PCIe mapping, which CUDA 12.8 has")));
  return Fd(fd);  // 0 is a descriptor like any other
}

Result<MemoryRegionHandle> register_export(const Device& device, ibv_pd* domain,
                                           const GpuBuffer& buffer, const Fd& exported, int access,
                                           DmabufMapping mapping) {
  const bool is_direct = mapping == DmabufMapping::kDataDirect;
  const Mlx5* mlx5 = is_direct ? RG_TRY(mlx5_of(device)) : nullptr;
  errno = 0;
  MemoryRegionHandle region(is_direct ? mlx5->reg_dmabuf_mr(domain, 0, buffer.size(), buffer.data(),
                                                            exported.get(), access, kMlx5DataDirect)
                                      : loaded_verbs().reg_dmabuf_mr(domain, 0, buffer.size(),
                                                                     buffer.data(), exported.get(),
                                                                     access));
  if (region) return region;
  return fail(Code::kFailedPrecondition,
              fmt::format("{} of {} bytes: {}",
                          is_direct ? "mlx5dv_reg_dmabuf_mr (Data Direct)" : "ibv_reg_dmabuf_mr",
                          buffer.size(), errno_words(errno)));
}

// In the order of preference; with "auto" the second is what follows without Data Direct.
std::vector<MappingChoice> choices_of(const DmabufForm& form, DmabufPaths paths) {
  for (const auto mapping :
       {DmabufMapping::kDefault, DmabufMapping::kPcie, DmabufMapping::kDataDirect})
    if (form.mapping == mapping_words(mapping)) return {{mapping, "the parameter dmabuf_mapping"}};
  std::vector<MappingChoice> choices{choose_dmabuf_mapping(paths)};
  if (std::exchange(paths.direct_shares_bridge, false))
    choices.push_back(choose_dmabuf_mapping(paths));
  return choices;
}

}  // namespace

// The folder of sysfs is the device's own: "/sys/class/infiniband/mlx5_0" in production.
Result<DmabufPaths> read_dmabuf_paths(const Device& device, const gpu::Gpu& gpu) {
  const std::filesystem::path own = device.sysfs_folder();
  const std::string sysfs = own.parent_path().parent_path().parent_path().string();
  const std::string at_gpu = resolved(sysfs + "/bus/pci/devices/" + gpu.pci_address());
  return DmabufPaths{
      .is_coherent = RG_TRY(gpu.attribute(cu::kUsesHostPageTables)) != 0,
      .nic_shares_bridge = share_pci_bridge(resolved(own / "device"), at_gpu),
      .direct_shares_bridge = share_pci_bridge(RG_TRY(data_direct_folder(device, sysfs)), at_gpu)};
}

Result<DmabufRegion> register_dmabuf(const Device& device, ibv_pd* domain, const Memory& memory,
                                     const DmabufForm& form) {
  const Verbs& verbs = loaded_verbs();
  if (verbs.reg_dmabuf_mr == nullptr)
    return fail(
        Code::kUnimplemented,
        fmt::format("{} has no ibv_reg_dmabuf_mr; rdma-core 34 or later has it", verbs.path));
  const gpu::Gpu& gpu = memory.gpu();
  if (RG_TRY(gpu.attribute(cu::kDmaBufSupported)) == 0)
    return fail(Code::kUnimplemented,
                fmt::format("{}: attribute {} (DMA_BUF_SUPPORTED) is 0; the open kernel modules of "
                            "the driver have it",
                            gpu.name(), cu::kDmaBufSupported));
  const auto attempt = [&](DmabufMapping mapping) -> Result<MemoryRegionHandle> {
    // Closed when this returns: the region keeps the buffer alive by itself.
    const Fd exported = RG_TRY(export_dmabuf(gpu.name(), memory.gpu_buffer(), mapping));
    return register_export(device, domain, memory.gpu_buffer(), exported, form.access, mapping);
  };
  DmabufRegion made;
  for (const MappingChoice& choice : choices_of(form, RG_TRY(read_dmabuf_paths(device, gpu)))) {
    auto region = attempt(choice.mapping);
    made.mapping = choice.mapping;
    made.reason = choice.reason;
    if (region) {
      made.region = std::move(*region);
      return made;
    }
    made.refused += fmt::format("{}mapping {}: {}", made.refused.empty() ? "" : "; ",
                                mapping_words(choice.mapping), region.error().message);
  }
  return fail(Code::kFailedPrecondition, made.refused);
}

}  // namespace railgauge::verbs
