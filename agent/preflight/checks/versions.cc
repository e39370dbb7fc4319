// Versions: the installed ones, the agreement of the NICs, and the minimum for GPUDirect RDMA.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/ranges.h>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"
#include "agent/preflight/rules/version.h"

namespace railgauge::agent {
namespace {

constexpr const char* kLeastDriver = "418.40";
constexpr const char* kLeastCuda = "10.0";
constexpr const char* kLeastOfed = "4.5";
constexpr std::uint32_t kLeastCapability = 35;
constexpr std::uint32_t kMellanox = 0x15b3;
constexpr const char* kLeastGdrdrv = "2.0";      // GDRCopy 2 loads no older module
constexpr std::uint32_t kConnectX3Vf = 0x1004;   // the Pro's virtual functions have it too
constexpr std::uint32_t kConnectX3Pro = 0x1007;  // device ids grow with the generation
constexpr std::uint32_t kLastConnectX = 0x1fff;

CheckResult judge_least(const std::string& what, const Fact<std::string>& have, const char* least,
                        const std::string& remedy) {
  if (have.is_absent()) return waived(what, fmt::format("{} is not installed", what), have);
  if (!have.is_known()) return not_known(what, "its version", have);
  if (version_of(have.value).empty())
    return in_error(what, fmt::format("\"{}\" is no version", have.value), have.source);
  const bool enough = at_least(have.value, least);
  return (enough ? passed : failed)(
      what, fmt::format("{}; at least {} is needed", have.value, least), have.source,
      enough ? std::vector<std::string>{} : std::vector<std::string>{remedy});
}

// Judges the GPU driver, without which no NIC reaches a GPU's memory. A GPU of a guest needs none
// here.
CheckResult judge_gpu_driver(const Inventory& node) {
  const std::string install = fmt::format("# install GPU driver {} or later", kLeastDriver);
  if (!node.gpu_driver.is_absent())
    return judge_least("GPU driver", node.gpu_driver, kLeastDriver, install);
  std::string drivers;
  bool all_given_away = true;
  for (const GpuFacts& gpu : node.gpus) {
    const PciDevice* device = node.pci_device(gpu.pci_address);
    const std::string driver = device == nullptr ? "" : device->driver.value_or("");
    all_given_away = all_given_away && device != nullptr && is_given_away(*device);
    drivers += fmt::format("{}{} {}", drivers.empty() ? "" : ", ", gpu.name,
                           driver.empty() ? "by none" : "by " + driver);
  }
  if (all_given_away)
    return waived(
        "GPU driver",
        fmt::format("the GPUs are kept for virtual machines ({}): preflight them there", drivers),
        node.gpu_driver);
  return failed("GPU driver",
                fmt::format("NVIDIA's driver is not loaded; the GPUs are driven: {}", drivers),
                node.gpu_driver, {install, "modprobe nvidia  # if it is installed"});
}

CheckResult judge_gpu_class(const GpuFacts& gpu) {
  if (!gpu.model.is_known()) return not_known(gpu.name, "the GPU's model", gpu.model);
  const std::string& model = gpu.model.value;
  const Fact<std::uint32_t>& capability = gpu.nvml.compute_capability;
  if (capability.is_known() && capability.value < kLeastCapability)
    return failed(gpu.name,
                  fmt::format("{} has compute capability {}.{}, 3.5 is needed", model,
                              capability.value / 10, capability.value % 10),
                  capability, {"# GPUDirect RDMA needs Kepler GK110 or later"});
  for (const char* consumer : {"GeForce", "TITAN"})
    if (model.find(consumer) != std::string::npos)
      return failed(
          gpu.name,
          fmt::format("{}: GPUDirect RDMA is for data centre and workstation GPUs", model),
          gpu.model,
          {"# measure this node in host memory (memory=host) or staged (memory=staged)"});
  return passed(gpu.name, model, gpu.model);
}

CheckResult judge_nic_class(const Inventory& node, const RdmaDevice& nic) {
  const PciDevice* device = node.pci_device(nic.pci_address);
  if (device == nullptr || !device->vendor.is_known() || !device->device.is_known())
    return unknown(nic.name, "the model of this NIC is not reported", "/sys/bus/pci/devices");
  const bool is_connectx = device->device.value <= kLastConnectX;
  const std::string text = fmt::format("{} ({:04x}:{:04x})", nic.model.value_or("NIC"),
                                       device->vendor.value, device->device.value);
  if (device->vendor.value != kMellanox || device->device.value == kConnectX3Vf)
    return unknown(nic.name, text + ": whether it reaches GPU memory is documented nowhere",
                   device->device, {"railgauge preflight --probe"});
  if (is_connectx && device->device.value < kConnectX3Pro)
    return failed(nic.name, text + " is older than ConnectX-3 Pro", device->device,
                  {"# a NIC of ConnectX-3 Pro or later is needed"});
  return passed(nic.name, text, device->device);
}

// Judges GDRCopy's driver itself. Its needs of GPU driver and GPU are below those of their own
// rows.
CheckResult judge_gdrdrv(const Inventory& node) {
  if (!node.loaded_modules.is_known())
    return not_known("gdrdrv", "the list of loaded modules", node.loaded_modules);
  if (!node.is_loaded("gdrdrv"))
    return waived("gdrdrv", "gdrdrv is not loaded: BAR copies go other ways", "/proc/modules");
  return judge_least("gdrdrv", node.module("gdrdrv")->version, kLeastGdrdrv,
                     fmt::format("# install GDRCopy's driver {} or later for the running kernel: "
                                 "its package gdrdrv-dkms",
                                 kLeastGdrdrv));
}

std::string version_text(const char* name, const Fact<std::string>& fact) {
  if (fact.is_absent()) return fmt::format("no {}", name);
  return fmt::format("{} {}", name, fact.is_known() ? fact.value : std::string("?"));
}

// The text for the NIC's configuration, which every stack lists as unknown, with the way to read
// it.
constexpr const char* kConfigurationUnknown =
    "; its configuration is unknown: reading it takes root and writes to the NIC's registers "
    "(mlxconfig query), which neither the agent nor its helper does";
}  // namespace

CheckResults judge_nic_firmware(const CheckInput& input) {
  std::set<std::string> configured_by_mlxconfig;                                  // boards
  std::map<std::string, std::map<std::string, std::vector<std::string>>> boards;  // to firmware
  CheckResults results;
  for (const RdmaDevice& nic : input.node.rdma) {
    if (is_software(nic)) continue;
    const std::string board = nic.board_id.value_or(nic.model.value_or(""));
    if (nic.driver.starts_with("mlx")) configured_by_mlxconfig.insert(board);
    if (nic.firmware.is_known())
      boards[board][nic.firmware.value].push_back(nic.name);
    else
      results.push_back(not_known(nic.name, "the NIC's firmware", nic.firmware));
  }
  for (const auto& [board, versions] : boards) {
    std::string text;
    for (const auto& [version, nics] : versions)
      text += fmt::format("{}{} on {}", text.empty() ? "" : ", ", version, fmt::join(nics, " "));
    if (versions.size() == 1)
      results.push_back(passed(
          board, text + (configured_by_mlxconfig.contains(board) ? kConfigurationUnknown : ""),
          "/sys/class/infiniband/*/fw_ver"));
    else
      results.push_back(warned(
          board, text, "/sys/class/infiniband/*/fw_ver",
          {"# bring them to one version, in a maintenance window:", "mlxfwmanager --online -u"}));
  }
  return results.empty() ? no_rdma(input.node) : results;
}

CheckResults judge_versions(const CheckInput& input) {
  const Inventory& node = input.node;
  std::string text =
      fmt::format("{}, {}, {}, {}, {}, {}", version_text("Linux", node.kernel_release),
                  version_text("GPU driver", node.gpu_driver), version_text("OFED", node.ofed),
                  version_text("rdma-core", node.rdma_core), version_text("NCCL", node.nccl),
                  version_text("CUDA", node.cuda));
  for (const auto& [what, fact] : {std::pair{"the Linux kernel's release", &node.kernel_release},
                                   std::pair{"the GPU driver's version", &node.gpu_driver}}) {
    const bool is_linux = fact == &node.kernel_release;  // there is always one
    const bool needed = is_linux || (!node.gpus.empty() && !fact->is_absent());
    if (needed && !fact->is_known()) return {not_known("", what, *fact)};
  }
  return {passed("", std::move(text), "/proc, /sys, package lists")};
}

CheckResults judge_minimum_versions(const CheckInput& input) {
  const Inventory& node = input.node;
  if (node.gpus.empty()) return no_gpu(node);
  CheckResults results;
  results.push_back(judge_gpu_driver(node));
  results.push_back(judge_least("CUDA", node.cuda, kLeastCuda,
                                fmt::format("# install CUDA {} or later", kLeastCuda)));
  if (!node.ofed.is_absent())
    results.push_back(
        judge_least("OFED", node.ofed, kLeastOfed,
                    fmt::format("# install MLNX_OFED {} or later, or DOCA-OFED", kLeastOfed)));
  results.push_back(judge_gdrdrv(node));
  for (const GpuFacts& gpu : node.gpus) results.push_back(judge_gpu_class(gpu));
  bool any_nic = false;
  for (const RdmaDevice& nic : node.rdma) {
    if (is_software(nic)) continue;
    any_nic = true;
    results.push_back(judge_nic_class(node, nic));
  }
  if (!any_nic)
    results.push_back(no_rdma(node,
                              "no NIC here has RDMA: GPUDirect RDMA cannot be, and TCP over these "
                              "NICs is measured")
                          .front());
  return results;
}

}  // namespace railgauge::agent
