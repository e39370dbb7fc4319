#include "agent/busy/gpu_reader.h"

#include "kernels/dl/nvml_devices.h"

namespace railgauge::agent {

bool GpuReader::is_ours(unsigned pid, std::size_t& unseen_left, OwnProcesses& own) const {
  const int number = static_cast<int>(pid);
  if (own.owns(number)) return true;
  if (own.shows(number) || strangers_.contains(pid) || unseen_left == 0) return false;
  --unseen_left;
  return true;
}

Result<std::vector<GpuUse>> GpuReader::look(OwnProcesses& own, double now_seconds) {
  if (!use_) use_ = RG_TRY(use_nvml());
  const Nvml& nvml = loaded_nvml();
  auto gpus = nvml_gpus(nvml);
  if (!gpus) {
    release();  // after a driver change, NVML must be loaded anew
    gpus.error().message += "; after a change of the driver railgauge-agent must be started again";
    return tl::unexpected(gpus.error());
  }
  std::vector<GpuUse> uses;
  std::set<unsigned> unseen;
  const bool lately = own.ran_lately(now_seconds);
  if (own.runners() > 0) runners_lately_ = own.runners();
  for (const NvmlGpu& gpu : *gpus) {
    GpuUse& use = uses.emplace_back();
    use.gpu = gpu.pci_address;
    const auto processes = processes_on(nvml, gpu.device);
    use.told = processes.has_value();
    std::size_t unseen_left = lately ? runners_lately_ : 0;
    for (const ml::Process& process : processes.value_or(std::vector<ml::Process>{})) {
      const int number = static_cast<int>(process.pid);
      const bool ours = is_ours(process.pid, unseen_left, own);
      if (!ours && !own.shows(number)) unseen.insert(process.pid);
      use.processes.push_back({process.pid, own.name_of(number), ours});
    }
    ml::Utilization utilization{};
    if (nvml.device_get_utilization(gpu.device, &utilization) == ml::kSuccess)
      use.utilization_percent = utilization.gpu_percent;
  }
  if (!lately) strangers_ = std::move(unseen);
  return uses;
}

void GpuReader::release() { use_.reset(); }

}  // namespace railgauge::agent
