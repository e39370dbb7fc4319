// The PCIe links of GPUs and NICs: speed, width, error counters, and the kernel's message about
// them.
#include <algorithm>
#include <optional>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

// A width of all ones: no device drives the bus.
constexpr std::uint32_t kNoAnswer = 63;
// Corrected errors since boot that are a finding; a good link has none or a few.
constexpr std::uint64_t kManyCorrected = 1000;

// The port that the device is connected to; nullptr: not known.
const PciDevice* port_above(const Inventory& node, const PciDevice& device) {
  return device.bridges.empty() ? nullptr : node.pci_device(device.bridges.back());
}

// "16 GT/s x16".
std::string link_text(double gigatransfers, std::uint32_t width) {
  return fmt::format("{} GT/s x{}", gigatransfers, width);
}

// Returns the steps to inspect a link and to reseat the card.
std::vector<std::string> reseat(const std::string& address, const std::string& port) {
  return {fmt::format("lspci -vv -s {} | grep -E 'LnkCap|LnkSta'", address),
          fmt::format("# power off, reseat the card (or its riser or cable) below port {}; check "
                      "the BIOS' lane split of that slot",
                      port.empty() ? address : port)};
}

// In a guest the port above a device is emulated, and a virtual function shows no link. Only the
// device's own registers count, and a lower value is no proof of a fault.
CheckResult judge_guests_link(const LinkedDevice& linked) {
  const PciDevice& device = *linked.device;
  const std::string& source = device.link_width.source;
  const bool is_told = device.link_width.value_or(0) > 0 && device.max_link_width.is_known() &&
                       device.link_gigatransfers.is_known() &&
                       device.max_link_gigatransfers.is_known();
  const std::vector<std::string> remedy{
      "# on the host: lspci -vv of the physical function, LnkCap against LnkSta"};
  if (!is_told)
    return unknown(linked.subject, "the hypervisor shows no link of this device", source, remedy);
  const std::string now = link_text(device.link_gigatransfers.value, device.link_width.value);
  if (device.link_width.value < device.max_link_width.value ||
      device.link_gigatransfers.value < device.max_link_gigatransfers.value)
    return unknown(
        linked.subject,
        fmt::format("{} where the card could {}: whether slot, card or hypervisor bounds "
                    "it, only its host reports",
                    now,
                    link_text(device.max_link_gigatransfers.value, device.max_link_width.value)),
        source, remedy);
  return passed(linked.subject, now + ", as the hypervisor shows it", source);
}

// The link must have the width and speed that device and port both support. An idle GPU lowers its
// speed, so a low speed alone proves nothing there. A slot below the card's ability is a warning.
CheckResult judge_link(const Inventory& node, const LinkedDevice& linked) {
  const PciDevice& device = *linked.device;
  if (device.physical_function.is_known())
    return waived(linked.subject, "a virtual function has its physical function's link",
                  device.physical_function);
  if (device.link_width.is(kNoAnswer))
    return failed(linked.subject, "the device does not answer: it has fallen off the bus",
                  device.link_width,
                  {"# power the machine off and on; reseat or replace the card if it comes again"});
  if (node.is_virtual_machine.is(true)) return judge_guests_link(linked);
  if (!device.link_width.is_known() || !device.max_link_width.is_known())
    return not_known(linked.subject, "the link's width",
                     device.link_width.is_known() ? device.max_link_width : device.link_width);
  if (!device.link_gigatransfers.is_known() || !device.max_link_gigatransfers.is_known())
    return not_known(linked.subject, "the link's speed",
                     device.link_gigatransfers.is_known() ? device.max_link_gigatransfers
                                                          : device.link_gigatransfers);
  const PciDevice* port = port_above(node, device);
  const std::string port_name = port == nullptr ? "" : port->address;
  std::uint32_t best_width = device.max_link_width.value;
  double best_speed = device.max_link_gigatransfers.value;
  if (port != nullptr) {
    best_width = std::min(best_width, port->max_link_width.value_or(best_width));
    best_speed = std::min(best_speed, port->max_link_gigatransfers.value_or(best_speed));
  }
  const std::string& source = device.link_width.source;
  const std::string now = link_text(device.link_gigatransfers.value, device.link_width.value);
  const std::string best = link_text(best_speed, best_width);
  if (device.link_width.value < best_width)
    return failed(linked.subject, fmt::format("{} where {} is possible", now, best), source,
                  reseat(device.address, port_name));
  if (device.link_gigatransfers.value < best_speed) {
    if (linked.gpu != nullptr)
      return unknown(linked.subject,
                     fmt::format("{} where {} is possible: idle GPUs lower their links, so only a "
                                 "look under load shows",
                                 now, best),
                     source,
                     {"# under load: nvidia-smi --query-gpu=pcie.link.gen.current --format=csv"});
    return failed(linked.subject, fmt::format("{} where {} is possible", now, best), source,
                  reseat(device.address, port_name));
  }
  if (best_speed < device.max_link_gigatransfers.value || best_width < device.max_link_width.value)
    return warned(
        linked.subject,
        fmt::format("{}: the slot ({}) gives less than the card could use ({})", now, port_name,
                    link_text(device.max_link_gigatransfers.value, device.max_link_width.value)),
        source, {"# move the card to a slot of its own generation and width, if any"});
  return passed(linked.subject, now, source);
}

// Whether both are the ends of one link: a switch's upstream port is below a port of another
// device. Without its configuration space, the position decides, and equal link values on both.
bool is_link_between(const PciDevice& above, const PciDevice& below, std::size_t place) {
  constexpr std::uint8_t kUpstreamPort = 5;
  if (below.config.pcie.is_known()) return below.config.pcie.value.port_type == kUpstreamPort;
  return place % 2 == 1 && above.link_width.is(below.link_width.value) &&
         above.link_gigatransfers.is(below.link_gigatransfers.value);
}

// A switch on the path whose uplink is slower than both ends support: all devices below share it.
// Absent if all are well or unknown.
std::optional<CheckResult> judge_uplinks(const Inventory& node, const LinkedDevice& linked) {
  const std::vector<std::string>& bridges = linked.device->bridges;
  for (std::size_t place = 1; place < bridges.size(); ++place) {
    const PciDevice* above = node.pci_device(bridges[place - 1]);
    const PciDevice* below = node.pci_device(bridges[place]);
    if (above == nullptr || below == nullptr || !below->link_width.is_known() ||
        !below->link_gigatransfers.is_known() || !is_link_between(*above, *below, place))
      continue;
    const std::uint32_t width = below->link_width.value;
    const double speed = below->link_gigatransfers.value;
    const std::uint32_t best_width =
        std::min(below->max_link_width.value_or(width), above->max_link_width.value_or(width));
    const double best_speed = std::min(below->max_link_gigatransfers.value_or(speed),
                                       above->max_link_gigatransfers.value_or(speed));
    if (width >= best_width && speed >= best_speed) continue;
    return failed(
        linked.subject,
        fmt::format("the switch above it ({}) has {} where {} is possible", below->address,
                    link_text(speed, width), link_text(best_speed, best_width)),
        below->link_width, reseat(below->address, above->address));
  }
  return std::nullopt;
}

// The device's own link, then the uplinks above it.
CheckResult judge_way(const Inventory& node, const LinkedDevice& linked) {
  CheckResult own = judge_link(node, linked);
  if (own.state == CheckState::kFail || own.state == CheckState::kWaived ||
      node.is_virtual_machine.is(true))
    return own;
  return judge_uplinks(node, linked).value_or(std::move(own));
}

// The total of an AER counter group: the kernel's own total, else the sum.
std::uint64_t total_of(const Fact<Counters>& counters, const char* total) {
  if (!counters.is_known()) return 0;
  if (const auto found = counters.value.find(total); found != counters.value.end())
    return found->second;
  std::uint64_t sum = 0;
  for (const auto& [name, count] : counters.value) sum += count;
  return sum;
}

// The port above the device with the most errors: a link has two ends, and errors of the device's
// transmissions are counted at the other end. "" if none counted a relevant number.
std::string sick_port(const Inventory& node, const PciDevice& device, bool& lost_data) {
  std::string worst;
  std::uint64_t most = 0;
  for (const std::string& address : device.bridges) {
    const PciDevice* port = node.pci_device(address);
    if (port == nullptr) continue;
    const std::uint64_t fatal = total_of(port->aer_fatal, "TOTAL_ERR_FATAL");
    const std::uint64_t nonfatal = total_of(port->aer_nonfatal, "TOTAL_ERR_NONFATAL");
    const std::uint64_t corrected = total_of(port->aer_correctable, "TOTAL_ERR_COR");
    const std::uint64_t sum = fatal + nonfatal + corrected;
    if ((fatal + nonfatal == 0 && corrected < kManyCorrected) || sum <= most) continue;
    most = sum;
    lost_data = lost_data || fatal > 0;
    worst = fmt::format("; its port {} {} corrected, {} not fatal, {} fatal", address, corrected,
                        nonfatal, fatal);
  }
  return worst;
}

// Fatal errors fail. Many corrected errors, replays, or errors at a port above warn.
CheckResult judge_errors(const Inventory& node, const LinkedDevice& linked) {
  const PciDevice& device = *linked.device;
  const std::uint64_t replays =
      linked.gpu == nullptr ? 0 : linked.gpu->nvml.pcie_replays.value_or(0);
  if (device.aer_correctable.is_absent() && device.aer_fatal.is_absent())
    return waived(linked.subject, "the kernel counts no PCIe errors here", device.aer_correctable);
  for (const Fact<Counters>* counts :
       {&device.aer_correctable, &device.aer_nonfatal, &device.aer_fatal})
    if (!counts->is_known()) return not_known(linked.subject, "the count of PCIe errors", *counts);
  const std::uint64_t corrected = total_of(device.aer_correctable, "TOTAL_ERR_COR");
  const std::uint64_t nonfatal = total_of(device.aer_nonfatal, "TOTAL_ERR_NONFATAL");
  const std::uint64_t fatal = total_of(device.aer_fatal, "TOTAL_ERR_FATAL");
  std::string text =
      fmt::format("since boot {} corrected, {} not fatal, {} fatal", corrected, nonfatal, fatal);
  if (replays > 0) text += fmt::format(", {} replays", replays);
  bool lost_data = fatal > 0;
  const std::string at_port = sick_port(node, device, lost_data);
  text += at_port;
  const PciDevice* port = port_above(node, device);
  const auto remedy = reseat(device.address, port == nullptr ? "" : port->address);
  if (lost_data) return failed(linked.subject, text, device.aer_fatal, remedy);
  if (nonfatal > 0 || corrected >= kManyCorrected || replays >= kManyCorrected || !at_port.empty())
    return warned(linked.subject, text, device.aer_correctable, remedy);
  return passed(linked.subject, text, device.aer_correctable);
}

// The kernel's message "limited by" at boot names a bottleneck above the NIC.
CheckResult judge_limited(const Inventory& node, const RdmaDevice& nic) {
  const Fact<std::vector<std::string>>& log = node.kernel_log;
  if (!log.is_known()) return not_known(nic.name, "the kernel's log", log, kernel_log_remedy());
  const auto limited = std::ranges::find_if(log.value, [&](const std::string& line) {
    return line.find(nic.pci_address) != std::string::npos &&
           line.find("limited by") != std::string::npos;
  });
  if (limited == log.value.end() && node.kernel_log_is_cut)
    return cut_log(node, nic.name, "limited by");
  if (limited == log.value.end())
    return passed(nic.name, "the kernel's log names no limit of its PCIe bandwidth", log);
  if (node.is_virtual_machine.is(true))
    return unknown(nic.name,
                   *limited +
                       ": the ports above it are the hypervisor's invention, so only the "
                       "host shows what bounds it",
                   log,
                   {"# on the host: dmesg | grep 'limited by'; lspci -vv of the physical function, "
                    "LnkCap against LnkSta"});
  return failed(nic.name, *limited, log,
                {"# move or reseat what the line names: that port is the bottleneck",
                 fmt::format("lspci -t -vv -s {}", nic.pci_address)});
}

}  // namespace

CheckResults judge_pcie_link(const CheckInput& input) {
  return for_each_linked(input.node, judge_way);
}

CheckResults judge_pcie_limited(const CheckInput& input) {
  return for_each_nic(input.node, judge_limited);
}

CheckResults judge_pcie_errors(const CheckInput& input) {
  return for_each_linked(input.node, judge_errors);
}

}  // namespace railgauge::agent
