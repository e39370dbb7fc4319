// NVLink and the fabric that NVSwitches make of it.
#include <algorithm>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

// States of the NVLink fabric (nvmlGpuFabricState in nvml.h).
constexpr std::uint32_t kFabricNotSupported = 0;
constexpr std::uint32_t kFabricCompleted = 3;
constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kBridgeOther = 0x068000;  // class of an NVSwitch on PCIe
constexpr const char* kManager = "nvidia-fabricmanager";

// The NVLinks of the GPU that are up.
std::size_t active_links(const GpuFacts& gpu) {
  const auto links = gpu.nvml.nvlink_active.value_or({});
  return static_cast<std::size_t>(std::ranges::count(links, true));
}

// Whether the node has NVSwitches on PCIe.
bool has_switches(const Inventory& node) {
  return std::ranges::any_of(node.pci, [](const auto& entry) {
    return entry.second.vendor.is(kNvidia) && entry.second.class_code.is(kBridgeOther);
  });
}

// All links must be up, and the GPU must have joined the fabric. `most` is the largest number of
// active links on the node: a GPU with fewer has a fault.
CheckResult judge_gpu(const Inventory& node, const GpuFacts& gpu, std::size_t most) {
  const Fact<std::vector<bool>>& links = gpu.nvml.nvlink_active;
  if (links.is_absent() || (links.is_known() && links.value.empty()))
    return waived(gpu.name, "this GPU has no NVLink", links);
  if (links.state == FactState::kError) return not_known(gpu.name, "the NVLinks' state", links);
  if (!links.is_known())
    return unknown(gpu.name,
                   fmt::format("only NVML reports the NVLinks' state{}{}",
                               node.nvml_reason.empty() ? "" : ": ", node.nvml_reason),
                   "NVML", {"nvidia-smi nvlink -s"});
  const std::size_t active = active_links(gpu);
  const std::string text = fmt::format("{} of {} links are up", active, links.value.size());
  const Fact<std::uint32_t>& fabric = gpu.nvml.fabric_state;
  const std::vector<std::string> remedy{"systemctl restart nvidia-fabricmanager",
                                        "nvidia-smi nvlink -s",
                                        "# reseat or replace the baseboard if it stays"};
  if (fabric.is_known() && fabric.value != kFabricNotSupported && fabric.value != kFabricCompleted)
    return failed(gpu.name, text + ", and the GPU has not joined the NVLink fabric", fabric,
                  remedy);
  if (fabric.is(kFabricCompleted) && gpu.nvml.fabric_status.value_or(0) != 0)
    return failed(gpu.name,
                  fmt::format("{}, and joining the NVLink fabric failed with {}", text,
                              gpu.nvml.fabric_status.value),
                  gpu.nvml.fabric_status, remedy);
  const bool behind_switches = has_switches(node) || fabric.is(kFabricCompleted);
  if (active < most || (behind_switches && active < links.value.size()))
    return failed(gpu.name, active < most ? fmt::format("{}, on other GPUs {}", text, most) : text,
                  links, remedy);
  if (active == 0) return waived(gpu.name, "no NVLink is connected", links);
  return passed(gpu.name, text, links);
}

}  // namespace

// With NVSwitches the fabric manager must run.
CheckResults judge_nvlink(const CheckInput& input) {
  const Inventory& node = input.node;
  if (node.gpus.empty()) return no_gpu(node);
  CheckResults results;
  const auto manager = node.services.find(kManager);
  if (has_switches(node) && manager != node.services.end() &&
      !manager->second.enablement.is_absent() && manager->second.active.is(false))
    results.push_back(failed(kManager, "there are NVSwitches, and the fabric manager does not run",
                             manager->second.active,
                             {"systemctl enable --now nvidia-fabricmanager"}));
  std::size_t most = 0;
  for (const GpuFacts& gpu : node.gpus) most = std::max(most, active_links(gpu));
  for (const GpuFacts& gpu : node.gpus) results.push_back(judge_gpu(node, gpu, most));
  return results;
}

}  // namespace railgauge::agent
