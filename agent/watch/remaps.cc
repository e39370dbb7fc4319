#include "agent/watch/remaps.h"

#include <unistd.h>

#include "kernels/dl/nvml_devices.h"

namespace railgauge::agent {

std::vector<Reading> RemapReader::look(const std::string& proc_root) {
  std::vector<Reading> readings;
  if (::access((proc_root + "/driver/nvidia/version").c_str(), F_OK) != 0) {
    use_.reset();  // an open NVML would block the driver's removal
    return readings;
  }
  if (!use_) {
    auto use = use_nvml();
    if (!use) return readings;
    use_ = std::move(*use);
  }
  const Nvml& nvml = loaded_nvml();
  const auto gpus = nvml_gpus(nvml);
  if (!gpus) use_.reset();
  if (!gpus || nvml.device_get_remapped_rows == nullptr) return readings;
  for (const NvmlGpu& gpu : *gpus) {
    unsigned correctable = 0;
    unsigned uncorrectable = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (nvml.device_get_remapped_rows(gpu.device, &correctable, &uncorrectable, &pending,
                                      &failed) != ml::kSuccess)
      continue;
    readings.push_back({gpu.pci_address, "row_remap_correctable", correctable});
    readings.push_back({gpu.pci_address, "row_remap_uncorrectable", uncorrectable});
    readings.push_back({gpu.pci_address, "row_remap_pending", pending});
    readings.push_back({gpu.pci_address, "row_remap_failed", failed});
  }
  return readings;
}

}  // namespace railgauge::agent
