// Obstacles between a NIC and a GPU's memory besides the switch: address translation, and how much
// of the memory the BAR shows.
#include <algorithm>
#include <optional>

#include <fmt/ranges.h>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/remedies.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

constexpr double kBytesPerMib = 1024.0 * 1024.0;
// The size of BAR1 without large BAR support.
constexpr std::uint64_t kSmallBarBytes = std::uint64_t{256} << 20U;

// The kernel parameters for pass-through. An AMD IOMMU is on unless it is switched off; Intel's is
// off unless it is requested.
std::string translation_words(const Inventory& node) {
  const std::string vendor = node.cpu.vendor.value_or("");
  return vendor == "GenuineIntel" ? "intel_iommu=on iommu=pt" : "iommu=pt";
}

// GPUs and NICs of the pairs, each once.
std::vector<const PciDevice*> devices_of(const std::vector<GpuNicPair>& pairs) {
  std::vector<const PciDevice*> devices;
  for (const GpuNicPair& pair : pairs)
    for (const PciDevice* device : {pair.gpu_device, pair.nic_device})
      if (std::ranges::find(devices, device) == devices.end()) devices.push_back(device);
  return devices;
}

// A device without a group is not translated. For a device in a group Linux must report the kind of
// translation, which older kernels do not.
bool is_unread(const PciDevice* device) {
  return !device->iommu_group_type.is_known() && !device->iommu_group.is_absent();
}

// Data Direct needs GPU and DMA function in one IOMMU group. Absent if they are, or if no device
// has Data Direct.
std::optional<CheckResult> judge_data_direct(const Inventory& node) {
  for (const PairsOfGpu& one : nearest_by_gpu(node)) {
    if (one.data_direct == nullptr) continue;
    const std::string& gpu = one.pairs.front().gpu->name;
    const Fact<std::uint32_t>& own = one.gpu_device->iommu_group;
    const Fact<std::uint32_t>& other = one.data_direct->iommu_group;
    for (const Fact<std::uint32_t>* group : {&own, &other})
      if (group->is_open())
        return not_known(gpu, "its IOMMU group, and its DMA function's", *group);
    if (own.state == other.state && own.value == other.value) continue;
    const auto words = [](const Fact<std::uint32_t>& group) {
      return group.is_absent() ? std::string("none") : fmt::format("{}", group.value);
    };
    return failed(
        "",
        fmt::format("{} ({}) is in IOMMU group {}, its DMA function {} in {}", gpu,
                    one.gpu_device->address, words(own), one.data_direct->address, words(other)),
        "/sys/bus/pci/devices/*/iommu_group",
        {"# ACS of the ports between them divides the group: railgauge preflight --explain acs "
         "shows the platform's needs"});
  }
  return std::nullopt;
}

// Returns the size of BAR1 from NVML, else from the PCI regions.
Fact<std::uint64_t> bar1_of(const Inventory& node, const GpuFacts& gpu) {
  if (gpu.nvml.bar1_total_bytes.is_known()) return gpu.nvml.bar1_total_bytes;
  const PciDevice* device = node.pci_device(gpu.pci_address);
  if (device == nullptr || !device->bars.is_known())
    return device == nullptr ? gpu.nvml.bar1_total_bytes
                             : device->bars.without_value<std::uint64_t>();
  return Fact<std::uint64_t>::known(memory_window_bytes(device->bars.value), device->bars.source);
}

CheckResult judge_bar1(const Inventory& node, const GpuFacts& gpu) {
  const Fact<std::uint64_t> bar1 = bar1_of(node, gpu);
  if (!bar1.is_known()) return not_known(gpu.name, "the size of BAR1", bar1);
  const Fact<std::uint64_t>& memory = gpu.nvml.memory_total_bytes;
  const std::vector<std::string> remedy{
      "# BIOS: \"Above 4G Decoding\" and \"Resizable BAR\" (or \"Large BAR\") on, then reboot",
      fmt::format("lspci -vv -s {} | grep -i region", gpu.pci_address)};
  const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / kBytesPerMib; };
  std::string text = fmt::format("BAR1 is {:.0f} MiB", mib(bar1.value));
  if (memory.is_known()) text += fmt::format(" of {:.0f} MiB of memory", mib(memory.value));
  if (gpu.nvml.bar1_used_bytes.is_known())
    text += fmt::format(", {:.0f} MiB in use", mib(gpu.nvml.bar1_used_bytes.value));
  if (bar1.value == 0) return failed(gpu.name, "the GPU has no BAR1", bar1, remedy);
  if (bar1.value <= kSmallBarBytes || (memory.is_known() && bar1.value < memory.value))
    return warned(gpu.name,
                  text + ": registrations beyond it fail, and are made and undone all the time",
                  bar1, remedy);
  if (!memory.is_known())
    return unknown(gpu.name, text + "; only NVML reports how much memory there is", bar1,
                   {"nvidia-smi -q -d MEMORY"});
  return passed(gpu.name, text, bar1);
}

}  // namespace

CheckResults judge_iommu(const CheckInput& input) {
  const Inventory& node = input.node;
  if (auto none = no_pairs(node)) return std::move(*none);
  if (node.is_virtual_machine.is(true)) return waived("in a virtual machine its host decides");
  const std::string& source = node.iommus.source;
  const bool none =
      node.iommus.is_absent() || (node.iommus.is_known() && node.iommus.value.empty());
  if (node.iommus.is_open()) return {not_known("", "which IOMMUs are on", node.iommus)};
  const std::vector<const PciDevice*> devices = devices_of(all_pairs(node));
  if (auto split = judge_data_direct(node)) return {std::move(*split)};
  if (!none && (node.cpu.vendor.is("ARM") || is_grace(node)))
    return {passed("", "an SMMU translates, as this platform is meant to run", source)};
  std::vector<std::string> translated;
  for (const PciDevice* device : devices)
    if (const std::string type = device->iommu_group_type.value_or("identity"); type != "identity")
      translated.push_back(fmt::format("{} ({})", device->address, type));
  if (!translated.empty())
    return {failed("", fmt::format("the IOMMU translates for {}", fmt::join(translated, ", ")),
                   "/sys/kernel/iommu_groups/*/type",
                   kernel_argument_commands(node, translation_words(node)))};
  if (const auto unread = std::ranges::find_if(devices, is_unread); unread != devices.end())
    return {not_known("", "how the IOMMU treats GPUs and NICs", (*unread)->iommu_group_type)};
  // A device in a group is behind an IOMMU, even if sysfs names none.
  const bool any_in_group = std::ranges::any_of(
      devices, [](const PciDevice* device) { return device->iommu_group.is_known(); });
  if (none && !any_in_group) return {passed("", "no IOMMU is on", source)};
  return {passed("", "the IOMMU passes GPUs and NICs through", "/sys/kernel/iommu_groups/*/type")};
}

CheckResults judge_bar1_size(const CheckInput& input) {
  CheckResults results;
  for (const GpuFacts& gpu : input.node.gpus)
    if (!is_unified(gpu)) results.push_back(judge_bar1(input.node, gpu));
  return results.empty() ? no_gpu(input.node, "there is no NVIDIA GPU with a BAR") : results;
}

}  // namespace railgauge::agent
