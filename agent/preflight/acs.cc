// ACS on the ports between a GPU and a NIC, and nowhere else: a redirect there sends what the two
// say to each other through the root complex. Patterns of ConnectX-8 Data Direct: what rdma-core's
// rdma_topo demands.
#include <algorithm>
#include <array>

#include "agent/preflight/pairs.h"
#include "agent/preflight/results.h"
#include "kernels/core/pci_distance.h"

namespace railgauge::agent {
namespace {

// What the control word of a port must be under `mask`; the rest is free.
struct Pattern {
  std::uint16_t mask = 0;
  std::uint16_t value = 0;
  const char* name = "";
};
constexpr Pattern kPlain{
    kAcsRequestRedirect | kAcsCompletionRedirect | kAcsUpstreamForwarding | kAcsEgressControl, 0,
    "no redirect"};
constexpr std::uint16_t kDirectMask =
    kAcsSourceValidation | kAcsRequestRedirect | kAcsCompletionRedirect | kAcsUpstreamForwarding;
constexpr Pattern kTowardDma{kDirectMask,
                             kAcsSourceValidation | kAcsCompletionRedirect | kAcsUpstreamForwarding,
                             "Data Direct, toward the DMA function"};
constexpr Pattern kTowardGpu{kDirectMask,
                             kAcsSourceValidation | kAcsRequestRedirect | kAcsUpstreamForwarding,
                             "Data Direct, toward the GPU"};

std::string bits_text(std::uint16_t control) {
  constexpr std::array<const char*, 7> kNames{
      "SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"};
  std::string text;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if ((control >> i & 1U) != 0) text += fmt::format("{}{}+", text.empty() ? "" : " ", kNames[i]);
  return text.empty() ? "nothing set" : text;
}

struct Wrong {
  std::string port;
  PciAcs acs;
  Pattern pattern;
};

// "config_acs=0100x01@0000:17:00.0": bit 6 first, x is left alone (Linux 6.11 and later).
std::string config_acs(const Wrong& wrong) {
  std::string digits;
  for (int bit = 6; bit >= 0; --bit) {
    const unsigned one = 1U << static_cast<unsigned>(bit);
    digits += (wrong.pattern.mask & one) == 0 ? 'x' : (wrong.pattern.value & one) != 0 ? '1' : '0';
  }
  return fmt::format("{}@{}", digits, wrong.port);
}

// At boot: a unit that sets the same words again, port by port.
std::string boot_unit(const std::vector<std::string>& commands) {
  std::string unit = "[Unit]\\nBefore=railgauge-agent.service\\n[Service]\\nType=oneshot\\n";
  for (const std::string& command : commands)
    unit += fmt::format("ExecStart=/usr/bin/env {}\\n", command);
  return fmt::format(
      "printf '{}[Install]\\nWantedBy=multi-user.target\\n' > "
      "/etc/systemd/system/gpudirect-acs.service && systemctl enable gpudirect-acs.service",
      unit);
}

// Functions that this machine gives to virtual machines, "0000:17:00.0"; empty where it hosts none.
std::string guests_devices(const Inventory& node) {
  std::string given;
  for (const auto& [address, device] : node.pci)
    if (is_given_away(device)) given += (given.empty() ? "" : " ") + address;
  if (given.empty() && node.loaded_modules.value_or({}).contains("nvidia_vgpu_vfio"))
    given = "vGPUs";
  return given;
}

// Clearing a bit there would let one guest read another's memory.
std::vector<std::string> host_remedy(const std::string& given) {
  return {
      fmt::format("# leave ACS as it is: this machine gives {} to virtual machines, which it "
                  "keeps apart",
                  given),
      "# in the guest GPU and NIC meet by ATS: NIC firmware (mlxconfig ATS_ENABLED), and direct "
      "translated requests in the ports"};
}

std::vector<std::string> acs_remedy(const std::vector<Wrong>& wrong) {
  std::vector<std::string> commands;
  std::string argument;
  for (const Wrong& each : wrong) {
    const unsigned want = (each.acs.control & ~unsigned{each.pattern.mask}) |
                          (unsigned{each.pattern.value} & each.pattern.mask);
    commands.push_back(fmt::format("setpci -s {} ECAP_ACS+6.w={:04x}", each.port, want));
    argument += (argument.empty() ? "" : ";") + config_acs(each);
  }
  std::vector<std::string> remedy{
      "# cost: devices below these ports can reach each other's memory without the IOMMU; do not "
      "do it where they are given to different tenants or virtual machines"};
  remedy.insert(remedy.end(), commands.begin(), commands.end());
  remedy.emplace_back("# that lasts until the next boot; so do it at each:");
  remedy.push_back(boot_unit(commands));
  remedy.push_back(
      fmt::format("# or the BIOS' ACS setting for these ports, or from Linux 6.11 on the kernel "
                  "argument pci=config_acs={}",
                  argument));
  return remedy;
}

Pattern pattern_of(const Inventory& node, const GpuNicPair& pair, const std::string& port) {
  if (data_direct_function(node, pair) == nullptr) return kPlain;
  const auto& of_gpu = pair.gpu_device->bridges;
  return std::ranges::find(of_gpu, port) != of_gpu.end() ? kTowardGpu : kTowardDma;
}

CheckResult judge_pair(const Inventory& node, const GpuNicPair& pair) {
  if (pair.distance == kUnknownDistance)
    return result(CheckState::kUnknown, pair.subject(),
                  "where GPU and NIC hang on PCIe is not known", "/sys/bus/pci/devices");
  if (!pair.shares_a_bridge())
    return result(CheckState::kWaived, pair.subject(),
                  fmt::format("{}: they talk through the root complex, which no ACS bit of a "
                              "switch changes",
                              pair.distance),
                  "/sys/bus/pci/devices");
  std::vector<Wrong> wrong;
  std::string seen;
  std::string source;
  for (const std::string& port : pair.ports_between()) {
    const PciDevice* bridge = node.pci_device(port);
    if (bridge == nullptr)
      return result(CheckState::kUnknown, pair.subject(), fmt::format("port {} was not read", port),
                    "/sys/bus/pci/devices");
    const Fact<PciAcs>& acs = bridge->config.acs;
    if (acs.is_absent()) continue;  // an upstream port, or a switch without ACS
    if (!acs.is_known())
      return not_known(pair.subject(), fmt::format("ACS of port {}", port), acs,
                       config_space_remedy(port));
    source = acs.source;
    const Pattern pattern = pattern_of(node, pair, port);
    if ((acs.value.control & pattern.mask) != pattern.value) {
      wrong.push_back({port, acs.value, pattern});
      seen += fmt::format("{}{} has {}, needs {}", seen.empty() ? "" : "; ", port,
                          bits_text(acs.value.control), pattern.name);
    }
  }
  if (wrong.empty())
    return result(CheckState::kPass, pair.subject(), "no port between them redirects",
                  source.empty() ? "/sys/bus/pci/devices/*/config" : source);
  if (const std::string given = guests_devices(node); !given.empty())
    return result(CheckState::kWarn, pair.subject(), seen + ", as a virtual machine host must",
                  source, host_remedy(given));
  return result(CheckState::kFail, pair.subject(), seen, source, acs_remedy(wrong));
}

}  // namespace

CheckResults judge_acs(const CheckInput& input) {
  const Inventory& node = input.node;
  CheckResults results;
  if (node.kernel_command_line.value_or("").find("pcie_acs_override") != std::string::npos)
    results.push_back(result(
        CheckState::kWarn, "",
        "pcie_acs_override is on the command line: a patched kernel whose IOMMU groups claim an "
        "isolation that is not there; it changes the grouping, not the ACS bits",
        node.kernel_command_line.source,
        {"# take pcie_acs_override=... out of the kernel's command line, reboot"}));
  if (auto none = no_pairs(node)) {
    if (results.empty()) return std::move(*none);
    return results;
  }
  if (node.is_virtual_machine.is(true)) {
    results.push_back(result(CheckState::kWaived, "",
                             "in a virtual machine the ports belong to its host, which must keep "
                             "ACS; peers meet there by ATS",
                             node.is_virtual_machine.source));
    return results;
  }
  for (const GpuNicPair& pair : nearest_pairs(node)) results.push_back(judge_pair(node, pair));
  return results;
}

}  // namespace railgauge::agent
