// Settings that firmware and boot scripts make in a NIC's PCIe control word, and an upgrade resets.
#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

// MaxReadReq below this fails; below kGoodReadRequestBytes it warns.
constexpr std::uint32_t kLeastReadRequestBytes = 512;
constexpr std::uint32_t kGoodReadRequestBytes = 4096;

std::vector<std::string> read_request_remedy(const std::string& address) {
  return {fmt::format("setpci -s {} CAP_EXP+8.w=5000:7000", address),
          "# to last: NIC firmware (mlxconfig MAX_READ_REQ where it has it), or at each boot:",
          fmt::format("echo 'ACTION==\"add\", SUBSYSTEM==\"pci\", KERNEL==\"{0}\", "
                      "RUN+=\"/usr/bin/env setpci -s {0} CAP_EXP+8.w=5000:7000\"' > "
                      "/etc/udev/rules.d/70-railgauge-{0}.rules",
                      address)};
}

// A port above with another MaxPayload, which would drop the other side's packets; "" if there is
// none.
std::string unequal_port(const Inventory& node, const PciDevice& device) {
  const std::uint32_t own = device.config.pcie.value.max_payload_bytes;
  for (const std::string& address : device.bridges) {
    const PciDevice* bridge = node.pci_device(address);
    if (bridge == nullptr || !bridge->config.pcie.is_known()) continue;
    const std::uint32_t most = bridge->config.pcie.value.max_payload_bytes;
    if (most != own)
      return fmt::format("port {} {} packets ({} bytes)", address,
                         most < own ? "takes smaller" : "sends larger", most);
  }
  return "";
}

// MaxReadReq bounds the size of the NIC's DMA reads; MaxPayload must be equal on the path.
CheckResult judge_read_request(const Inventory& node, const RdmaDevice& nic,
                               const PciDevice& device) {
  const Fact<PcieControl>& control = device.config.pcie;
  if (!control.is_known())
    return not_known(nic.name, "MaxReadReq and MaxPayload", control,
                     config_space_remedy(device.address));
  const std::string text =
      fmt::format("MaxReadReq {}, MaxPayload {}", control.value.max_read_request_bytes,
                  control.value.max_payload_bytes);
  if (const std::string port = unequal_port(node, device); !port.empty())
    return failed(nic.name, fmt::format("{}, but {}", text, port), control,
                  {"# boot with pci=pcie_bus_safe, so that Linux sets one MaxPayload on the path"});
  if (control.value.max_read_request_bytes < kLeastReadRequestBytes)
    return failed(nic.name, text, control, read_request_remedy(device.address));
  if (control.value.max_read_request_bytes < kGoodReadRequestBytes)
    return warned(nic.name,
                  fmt::format("{}; {} is normal for a fabric NIC", text, kGoodReadRequestBytes),
                  control, read_request_remedy(device.address));
  return passed(nic.name, text, control);
}

// Relaxed ordering lets the NIC's writes overtake each other. Without it they queue on AMD
// processors and towards GPUs.
CheckResult judge_ordering(const Inventory& node, const RdmaDevice& nic, const PciDevice& device) {
  const Fact<PcieControl>& control = device.config.pcie;
  if (!control.is_known())
    return not_known(nic.name, "relaxed ordering", control, config_space_remedy(device.address));
  if (control.value.relaxed_ordering)
    return passed(nic.name, "the NIC may order its writes loosely", control);
  const bool matters = node.cpu.vendor.is("AuthenticAMD") || !node.gpus.empty();
  if (!matters)
    return passed(nic.name, "off, which costs nothing without GPUs on this CPU", control);
  return warned(nic.name, "off: each write waits for the one before it", control,
                {fmt::format("setpci -s {} CAP_EXP+8.w=0010:0010", device.address),
                 "# applications ask for it key by key (IBV_ACCESS_RELAXED_ORDERING); only where "
                 "they cannot:",
                 fmt::format("mlxconfig -d {} set PCI_WR_ORDERING=1 && reboot", device.address)});
}

// `judge` of each fabric NIC with a known PCI device.
template <class Judge>
CheckResults for_each_function(const Inventory& node, Judge judge) {
  return for_each_nic(node, [judge](const Inventory& all, const RdmaDevice& nic) {
    const PciDevice* device = all.pci_device(nic.pci_address);
    return device == nullptr ? unknown(nic.name, "its PCI device was not read")
                             : judge(all, nic, *device);
  });
}

}  // namespace

CheckResults judge_pcie_read_request(const CheckInput& input) {
  return for_each_function(input.node, judge_read_request);
}

CheckResults judge_relaxed_ordering(const CheckInput& input) {
  return for_each_function(input.node, judge_ordering);
}

}  // namespace railgauge::agent
