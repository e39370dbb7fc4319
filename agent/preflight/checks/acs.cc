// ACS on the ports between a GPU and a NIC only, where a redirect sends their traffic through the
// root complex. With Data Direct (ConnectX-8 on Grace) the NIC's own function is on another root
// port; the checked ports are between the GPU and the NIC's DMA function, with the patterns of
// rdma-core's rdma_topo.
#include <algorithm>
#include <array>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/remedies.h"
#include "agent/preflight/rules/results.h"
#include "kernels/core/pci_distance.h"

namespace railgauge::agent {
namespace {

constexpr const char* kDevices = "/sys/bus/pci/devices";

// The required bits of a port's control word under `mask`; the rest is free.
struct Pattern {
  std::uint16_t mask = 0;
  std::uint16_t value = 0;
  const char* name = "";
  bool needs_acs = false;  // a port without ACS fails
};
constexpr Pattern kPlain{
    kAcsRequestRedirect | kAcsCompletionRedirect | kAcsUpstreamForwarding | kAcsEgressControl, 0,
    "no redirect"};
constexpr std::uint16_t kDirectMask =
    kAcsSourceValidation | kAcsRequestRedirect | kAcsCompletionRedirect | kAcsUpstreamForwarding;
constexpr Pattern kTowardDma{kDirectMask,
                             kAcsSourceValidation | kAcsCompletionRedirect | kAcsUpstreamForwarding,
                             "Data Direct, toward the DMA function", true};
constexpr Pattern kTowardGpu{kDirectMask,
                             kAcsSourceValidation | kAcsRequestRedirect | kAcsUpstreamForwarding,
                             "Data Direct, toward the GPU", true};
// Without source validation all functions below the port form one IOMMU group, as Data Direct
// requires.
constexpr Pattern kDirectRoot{kDirectMask,
                              kAcsRequestRedirect | kAcsCompletionRedirect | kAcsUpstreamForwarding,
                              "Data Direct, above GPU and DMA function", true};
// Ports further down, of the GPU's own switch: as Linux sets them.
constexpr Pattern kIsolated{kDirectMask, kDirectMask, "Data Direct, below the shared switch"};

struct WantedPort {
  std::string port;
  Pattern pattern;
};

std::vector<WantedPort> plain_ports(const GpuNicPair& pair) {
  std::vector<WantedPort> ports;
  for (std::string& port : pair.ports_between()) ports.push_back({std::move(port), kPlain});
  return ports;
}

std::vector<WantedPort> direct_ports(const PciDevice& gpu, const PciDevice& dma) {
  std::vector<WantedPort> ports{{gpu.bridges.front(), kDirectRoot}};
  const auto apart = std::ranges::mismatch(gpu.bridges, dma.bridges);
  for (auto port = apart.in1; port != gpu.bridges.end(); ++port)
    ports.push_back({*port, port == apart.in1 ? kTowardGpu : kIsolated});
  for (auto port = apart.in2; port != dma.bridges.end(); ++port)
    ports.push_back({*port, port == apart.in2 ? kTowardDma : kIsolated});
  return ports;
}

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

// Returns the functions that are reserved for virtual machines, "0000:17:00.0"; "" for none.
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

std::string config_acs_of_all(const std::vector<Wrong>& wrong) {
  std::string argument;
  for (const Wrong& each : wrong) argument += (argument.empty() ? "" : ";") + config_acs(each);
  return argument;
}

// Sets the bits by the kernel's command line, not by setpci: the boot forms the IOMMU groups, which
// must contain GPU and DMA function together, from these bits.
std::vector<std::string> data_direct_remedy(const Inventory& node,
                                            const std::vector<Wrong>& wrong) {
  std::vector<std::string> remedy{
      "# cost: all below this root port is one IOMMU group and cannot be given to different "
      "tenants or virtual machines",
      "# from Linux 6.11 on, in force from the next boot and at each one after it (rdma-core's "
      "rdma_topo write-grub-acs writes the same):"};
  const std::string argument = config_acs_of_all(wrong);
  const Family family = family_of(node);
  // GRUB reads an unquoted semicolon as the end of the command.
  const auto commands =
      family == Family::kDebian || family == Family::kSuse
          ? kernel_argument_commands(node, fmt::format(R"(pci=config_acs=\\"{}\\")", argument))
          : std::vector<std::string>{
                fmt::format("# add pci=config_acs=\"{}\" to the kernel's command line in "
                            "the boot loader, reboot",
                            argument)};
  remedy.insert(remedy.end(), commands.begin(), commands.end());
  return remedy;
}

std::vector<std::string> acs_remedy(const Inventory& /*node*/, const std::vector<Wrong>& wrong) {
  std::vector<std::string> commands;
  for (const Wrong& each : wrong) {
    const unsigned want = (each.acs.control & ~unsigned{each.pattern.mask}) |
                          (unsigned{each.pattern.value} & each.pattern.mask);
    commands.push_back(fmt::format("setpci -s {} ECAP_ACS+6.w={:04x}", each.port, want));
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
                  config_acs_of_all(wrong)));
  return remedy;
}

// Judges `ports`. `remedy` returns the commands that correct wrong ports; `fine` is the text if
// none is wrong.
CheckResult judge_ports(const Inventory& node, const std::string& subject,
                        const std::vector<WantedPort>& ports, const std::string& fine,
                        std::vector<std::string> (*remedy)(const Inventory&,
                                                           const std::vector<Wrong>&)) {
  std::vector<Wrong> wrong;
  std::string seen;
  std::string source;
  for (const auto& [port, pattern] : ports) {
    const PciDevice* bridge = node.pci_device(port);
    if (bridge == nullptr)
      return unknown(subject, fmt::format("port {} was not read", port), kDevices);
    const Fact<PciAcs>& acs = bridge->config.acs;
    if (acs.is_absent() && pattern.needs_acs)
      return failed(subject, fmt::format("port {} has no ACS, needs {}", port, pattern.name), acs,
                    {"# the BIOS or the switch's firmware hides ACS: update it"});
    if (acs.is_absent()) continue;  // an upstream port, or a switch without ACS
    if (!acs.is_known())
      return not_known(subject, fmt::format("ACS of port {}", port), acs,
                       config_space_remedy(port));
    source = acs.source;
    if ((acs.value.control & pattern.mask) != pattern.value) {
      wrong.push_back({port, acs.value, pattern});
      seen += fmt::format("{}{} has {}, needs {}", seen.empty() ? "" : "; ", port,
                          bits_text(acs.value.control), pattern.name);
    }
  }
  if (wrong.empty())
    return passed(subject, fine, source.empty() ? "/sys/bus/pci/devices/*/config" : source);
  if (const std::string given = guests_devices(node); !given.empty())
    return warned(subject, seen + ", as a virtual machine host must", source, host_remedy(given));
  return failed(subject, seen, source, remedy(node, wrong));
}

CheckResult judge_pair(const Inventory& node, const GpuNicPair& pair) {
  if (pair.distance == kUnknownDistance)
    return unknown(pair.subject(), "where GPU and NIC hang on PCIe is not known", kDevices);
  if (!pair.shares_a_bridge())
    return waived(pair.subject(),
                  fmt::format("{}: they talk through the root complex, which no ACS bit of a "
                              "switch changes",
                              pair.distance),
                  kDevices);
  return judge_ports(node, pair.subject(), plain_ports(pair), "no port between them redirects",
                     acs_remedy);
}

// Judges the ports between a GPU and the DMA function beside it, whichever NIC the function belongs
// to.
CheckResult judge_data_direct(const Inventory& node, const PairsOfGpu& one) {
  return judge_ports(node, one.pairs.front().gpu->name,
                     direct_ports(*one.gpu_device, *one.data_direct),
                     fmt::format("each port to its DMA function {} is as Data Direct needs it",
                                 one.data_direct->address),
                     data_direct_remedy);
}

}  // namespace

CheckResults judge_acs(const CheckInput& input) {
  const Inventory& node = input.node;
  CheckResults results;
  if (node.kernel_command_line.value_or("").find("pcie_acs_override") != std::string::npos)
    results.push_back(warned(
        "",
        "pcie_acs_override is on the command line: a patched kernel whose IOMMU groups claim an "
        "isolation that is not there; it changes the grouping, not the ACS bits",
        node.kernel_command_line,
        {"# take pcie_acs_override=... out of the kernel's command line, reboot"}));
  if (auto none = no_pairs(node)) {
    if (results.empty()) return std::move(*none);
    return results;
  }
  if (node.is_virtual_machine.is(true)) {
    results.push_back(waived("",
                             "in a virtual machine the ports belong to its host, which must keep "
                             "ACS; peers meet there by ATS",
                             node.is_virtual_machine));
    return results;
  }
  for (const PairsOfGpu& one : nearest_by_gpu(node)) {
    if (one.data_direct != nullptr) {
      results.push_back(judge_data_direct(node, one));
      continue;
    }
    for (const GpuNicPair& pair : one.pairs) results.push_back(judge_pair(node, pair));
  }
  return results;
}

}  // namespace railgauge::agent
