// The PCI tree: GPUs, NICs and the bridges between them and the host.
#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include <fmt/format.h>

#include "agent/inventory/facts/distances.h"
#include "agent/inventory/facts/files.h"
#include "agent/inventory/sources/sources.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices/";
constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kMellanox = 0x15b3;
constexpr std::size_t kMostConfigBytes = 4096;
constexpr std::size_t kMostBars = 6;
constexpr std::uint64_t kBarIsIo = 0x100;  // bits of a line in "resource" (linux/ioport.h)
constexpr std::uint64_t kBarIsPrefetchable = 0x2000;
constexpr std::uint64_t kBarIs64Bit = 0x100000;

// GPUs, adapters, NVSwitches and what is theirs; bridges come along as somebody's parents.
bool is_wanted(std::uint32_t class_code, std::uint32_t vendor) {
  const std::uint32_t base = class_code >> 16U;
  return base == 0x02 || (vendor == kNvidia && (base == 0x03 || base == 0x06 || base == 0x12)) ||
         (class_code >> 8U) == 0x0c06;  // InfiniBand as a serial bus
}

// Place, class, driver, NUMA node and IOMMU group of a function; reads no register.
PciDevice read_place(const NodeFiles& files, const std::string& address) {
  const std::string folder = std::string(kDevices) + address;
  PciDevice device;
  device.address = address;
  const PciPlace place = place_of(files.on_disk("/sys/"), address);
  device.host_bridge = place.host_bridge;
  device.bridges = place.bridges;
  device.class_code = files.small(folder + "/class");
  device.vendor = files.small(folder + "/vendor");
  device.device = files.small(folder + "/device");
  device.subsystem_vendor = files.small(folder + "/subsystem_vendor");
  device.subsystem_device = files.small(folder + "/subsystem_device");
  device.driver = files.link(folder + "/driver");
  const Fact<std::string> numa = files.line(folder + "/numa_node");
  device.numa_node = numa.without_value<int>();
  if (numa.is_known()) {
    const char* end = numa.value.data() + numa.value.size();
    if (std::from_chars(numa.value.data(), end, device.numa_node.value).ptr != end)
      device.numa_node = Fact<int>::error(
          numa.source, fmt::format("{}: {} is no number", numa.source, in_quotes(numa.value)));
  }
  device.local_cpus = files.line(folder + "/local_cpulist");
  const Fact<std::string> group = files.link(folder + "/iommu_group");
  device.iommu_group = group.without_value<std::uint32_t>();
  std::uint64_t number = 0;
  if (group.is_known() && parse_number(group.value, number)) {
    device.iommu_group =
        Fact<std::uint32_t>::known(static_cast<std::uint32_t>(number), group.source);
    device.iommu_group_type = files.line("/sys/kernel/iommu_groups/" + group.value + "/type");
  } else {
    device.iommu_group_type = group.without_value<std::string>();
  }
  device.physical_function = files.link(folder + "/physfn");
  device.virtual_functions = files.small(folder + "/sriov_numvfs");
  device.max_virtual_functions = files.small(folder + "/sriov_totalvfs");
  return device;
}

// "16.0 GT/s PCIe"; "Unknown" of a virtual function, or where the device does not answer.
Fact<double> read_speed(const NodeFiles& files, const std::string& path) {
  const Fact<std::string> text = files.line(path);
  Fact<double> speed = text.without_value<double>();
  if (!text.is_known()) return speed;
  if (text.value.starts_with("Unknown"))
    return Fact<double>::unknown(path, path + ": the device tells no speed");
  const char* end = text.value.data() + text.value.size();
  const auto [rest, error] = std::from_chars(text.value.data(), end, speed.value);
  if (error == std::errc() && std::string_view(rest, end).starts_with(" GT/s")) return speed;
  return Fact<double>::error(
      path, fmt::format("{}: {} is no speed of a link", path, in_quotes(text.value)));
}

// The regions with a size, from the file "resource".
Fact<std::vector<PciBar>> read_bars(const NodeFiles& files, const std::string& path) {
  const Fact<std::string> text = files.text(path);
  Fact<std::vector<PciBar>> bars = text.without_value<std::vector<PciBar>>();
  std::string_view rest = text.value;
  for (std::uint32_t index = 0; index < kMostBars && !rest.empty(); ++index) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const auto fields = fields_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::array<std::uint64_t, 3> numbers{};
    bool sound = fields.size() == numbers.size();
    for (std::size_t i = 0; sound && i < numbers.size(); ++i)
      sound = parse_number(fields[i], numbers.at(i));
    const auto [first, last, flags] = numbers;
    if (!sound || last < first)
      return Fact<std::vector<PciBar>>::error(path, path + ": is no list of resources");
    if (last == 0 || (flags & kBarIsIo) != 0) continue;
    bars.value.push_back({.index = index,
                          .bytes = last - first + 1,
                          .is_prefetchable = (flags & kBarIsPrefetchable) != 0,
                          .is_64_bit = (flags & kBarIs64Bit) != 0});
  }
  return bars;
}

// "RxErr 0" a line.
Fact<Counters> read_aer(const NodeFiles& files, const std::string& path) {
  const Fact<std::string> text = files.text(path);
  Fact<Counters> counters = text.without_value<Counters>();
  std::string_view rest = text.value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const auto fields = fields_of(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::uint64_t count = 0;
    if (fields.size() == 2 && parse_number(fields[1], count))
      counters.value[std::string(fields[0])] = count;
  }
  if (text.is_known() && counters.value.empty())
    return Fact<Counters>::error(path, path + ": counts nothing");
  return counters;
}

PciConfig read_config(const NodeFiles& files, const std::string& path) {
  const Fact<std::string> bytes = files.bytes(path, kMostConfigBytes);
  if (!bytes.is_known())
    return {.pcie = bytes.without_value<PcieControl>(),
            .acs = bytes.without_value<PciAcs>(),
            .ats_enabled = bytes.without_value<bool>()};
  const std::vector<std::uint8_t> data(bytes.value.begin(), bytes.value.end());
  return parse_pci_config(data, path);
}

}  // namespace

// All wanted functions and the bridges above them.
Apply read_pci_tree(const NodeFiles& files) {
  std::map<std::string, PciDevice> devices;
  const NameList names = files.list("/sys/bus/pci/devices");
  Fact<bool> told = names.without_value<bool>();
  for (const std::string& name : names.value) {
    if (!is_pci_address(name)) continue;
    const std::string folder = std::string(kDevices) + name;
    const auto class_code = files.small(folder + "/class");
    const auto vendor = files.small(folder + "/vendor");
    // One with a broken class or vendor is listed too, with its error.
    const bool is_broken =
        class_code.state == FactState::kError || vendor.state == FactState::kError;
    for (const auto* kind : {&class_code, &vendor})
      if (kind->is_open() && !told.is_open())
        told = Fact<bool>::unknown(kind->source, fmt::format("{}: {}", name, kind->reason));
    if (is_broken || is_wanted(class_code.value, vendor.value)) {
      devices[name] = read_place(files, name);
    } else if (vendor.is(kMellanox)) {  // of whatever class its DMA function has
      PciDevice device = read_place(files, name);
      if (device.is_data_direct()) devices[name] = std::move(device);
    }
  }
  std::vector<std::string> parents;
  for (const auto& [address, device] : devices)
    parents.insert(parents.end(), device.bridges.begin(), device.bridges.end());
  for (const std::string& address : parents)
    if (!devices.contains(address)) devices[address] = read_place(files, address);
  return [devices = std::move(devices), told = std::move(told)](Inventory& inventory) {
    inventory.pci = devices;
    inventory.pci_told = told;
  };
}

// Link, regions, error counters and registers of one function, which ask the device.
Apply read_pci_device(const NodeFiles& files, const std::string& address) {
  const std::string folder = std::string(kDevices) + address;
  PciDevice read;
  read.link_gigatransfers = read_speed(files, folder + "/current_link_speed");
  read.max_link_gigatransfers = read_speed(files, folder + "/max_link_speed");
  read.link_width = files.small(folder + "/current_link_width");
  read.max_link_width = files.small(folder + "/max_link_width");
  read.bars = read_bars(files, folder + "/resource");
  read.power_state = files.line(folder + "/power_state");
  read.reset_method = files.line(folder + "/reset_method");
  read.aer_correctable = read_aer(files, folder + "/aer_dev_correctable");
  read.aer_nonfatal = read_aer(files, folder + "/aer_dev_nonfatal");
  read.aer_fatal = read_aer(files, folder + "/aer_dev_fatal");
  read.config = read_config(files, folder + "/config");
  return [read = std::move(read), address](Inventory& inventory) {
    PciDevice& device = inventory.pci[address];
    device.link_gigatransfers = read.link_gigatransfers;
    device.max_link_gigatransfers = read.max_link_gigatransfers;
    device.link_width = read.link_width;
    device.max_link_width = read.max_link_width;
    device.bars = read.bars;
    device.power_state = read.power_state;
    device.reset_method = read.reset_method;
    device.aer_correctable = read.aer_correctable;
    device.aer_nonfatal = read.aer_nonfatal;
    device.aer_fatal = read.aer_fatal;
    device.config = read.config;
  };
}

}  // namespace railgauge::agent
