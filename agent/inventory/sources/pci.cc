// The PCI tree: GPUs, NICs and the bridges between them and the host.
#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "agent/inventory/facts/distances.h"
#include "agent/inventory/facts/files.h"
#include "agent/inventory/sources/sources.h"

namespace railgauge::agent {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices/";
constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::uint32_t kMellanox = 0x15b3;
constexpr std::size_t kMostConfigBytes = 4096;
constexpr std::size_t kMostBars = 6;
constexpr std::uint64_t kBarIsIo = 0x100;  // bits of a line in "resource" (linux/ioport.h)
constexpr std::uint64_t kBarIsPrefetchable = 0x2000;

// Whether the inventory lists a function: GPUs, adapters, NVSwitches and their functions. Bridges
// are added as parents of these.
bool is_wanted(std::uint32_t class_code, std::uint32_t vendor) {
  const std::uint32_t base = class_code >> 16U;
  return base == 0x02 || (vendor == kNvidia && (base == 0x03 || base == 0x06 || base == 0x12)) ||
         (class_code >> 8U) == 0x0c06;  // InfiniBand as a serial bus
}

std::optional<int> signed_number_in(const std::string& text) {
  int number = 0;
  const char* const last = text.data() + text.size();
  return std::from_chars(text.data(), last, number).ptr == last ? std::optional(number)
                                                                : std::nullopt;
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
  device.driver = files.link(folder + "/driver");
  device.numa_node = parsed(files.line(folder + "/numa_node"), "number", signed_number_in);
  device.local_cpus = files.line(folder + "/local_cpulist");
  const Fact<std::string> group = files.link(folder + "/iommu_group");
  device.iommu_group = group.without_value<std::uint32_t>();
  if (const auto number = number_in(group.value); group.is_known() && number) {
    device.iommu_group = {group, static_cast<std::uint32_t>(*number)};
    device.iommu_group_type = files.line("/sys/kernel/iommu_groups/" + group.value + "/type");
  } else {
    device.iommu_group_type = group.without_value<std::string>();
  }
  device.physical_function = files.link(folder + "/physfn");
  return device;
}

// "16.0 GT/s PCIe"; "Unknown" of a virtual function, or where the device does not answer.
Fact<double> read_speed(const NodeFiles& files, const std::string& path) {
  const Fact<std::string> text = files.line(path);
  if (text.is_known() && text.value.starts_with("Unknown"))
    return Fact<double>::unknown(path, path + ": the device reports no speed");
  return parsed(text, "speed of a link",
                [](const std::string& value) { return amount_in(value, " GT/s"); });
}

// The regions with a size, from the file "resource".
Fact<std::vector<PciBar>> read_bars(const NodeFiles& files, const std::string& path) {
  const Fact<std::string> text = files.text(path);
  Fact<std::vector<PciBar>> bars = text.without_value<std::vector<PciBar>>();
  auto lines = lines_in(text.value);
  lines.resize(std::min(lines.size(), kMostBars));
  for (const std::string_view line : lines) {
    std::vector<std::uint64_t> numbers;
    for (const std::string_view field : fields_of(line))
      if (const auto number = number_in(field)) numbers.push_back(*number);
    if (fields_of(line).size() != 3 || numbers.size() != 3 || numbers[1] < numbers[0])
      return Fact<std::vector<PciBar>>::error(path, path + ": is no list of resources");
    const std::uint64_t first = numbers[0];
    const std::uint64_t last = numbers[1];
    const std::uint64_t flags = numbers[2];
    if (last == 0 || (flags & kBarIsIo) != 0) continue;
    bars.value.push_back(
        {.bytes = last - first + 1, .is_prefetchable = (flags & kBarIsPrefetchable) != 0});
  }
  return bars;
}

// "RxErr 0" a line.
Fact<Counters> read_aer(const NodeFiles& files, const std::string& path) {
  const Fact<std::string> text = files.text(path);
  Fact<Counters> counters = text.without_value<Counters>();
  for (const std::string_view line : lines_in(text.value)) {
    const auto fields = fields_of(line);
    if (fields.size() != 2) continue;
    if (const auto count = number_in(fields[1])) counters.value[std::string(fields[0])] = *count;
  }
  if (text.is_known() && counters.value.empty())
    return Fact<Counters>::error(path, path + ": counts nothing");
  return counters;
}

PciConfig read_config(const NodeFiles& files, const std::string& path) {
  const Fact<std::string> bytes = files.bytes(path, kMostConfigBytes);
  if (!bytes.is_known()) return config_without_value(bytes);
  const std::vector<std::uint8_t> data(bytes.value.begin(), bytes.value.end());
  return parse_pci_config(data, path);
}

}  // namespace

// All wanted functions and the bridges above them.
Apply read_pci_tree(const NodeFiles& files) {
  PciTree tree;
  std::map<std::string, PciDevice>& devices = tree.pci;
  const NameList names = files.list("/sys/bus/pci/devices");
  tree.pci_told = names.without_value<bool>();
  for (const std::string& name : names.value) {
    if (!is_pci_address(name)) continue;
    const std::string folder = std::string(kDevices) + name;
    const auto class_code = files.small(folder + "/class");
    const auto vendor = files.small(folder + "/vendor");
    // One with a broken class or vendor is listed too, with its error.
    const bool is_broken =
        class_code.state == FactState::kError || vendor.state == FactState::kError;
    for (const auto* kind : {&class_code, &vendor})
      if (kind->is_open())
        tree.pci_told.spoil_by(
            Fact<bool>::unknown(kind->source, fmt::format("{}: {}", name, kind->reason)));
    if (is_broken || is_wanted(class_code.value, vendor.value)) {
      devices[name] = read_place(files, name);
    } else if (vendor.is(kMellanox)) {  // also DMA functions, which have any class
      PciDevice device = read_place(files, name);
      if (device.is_data_direct()) devices[name] = std::move(device);
    }
  }
  std::vector<std::string> parents;
  for (const auto& [address, device] : devices)
    parents.insert(parents.end(), device.bridges.begin(), device.bridges.end());
  for (const std::string& address : parents)
    if (!devices.contains(address)) devices[address] = read_place(files, address);
  return put(std::move(tree));
}

// Link, regions, error counters and registers of one function, which ask the device.
Apply read_pci_device(const NodeFiles& files, PciDevice device) {
  const std::string folder = std::string(kDevices) + device.address;
  device.link_gigatransfers = read_speed(files, folder + "/current_link_speed");
  device.max_link_gigatransfers = read_speed(files, folder + "/max_link_speed");
  device.link_width = files.small(folder + "/current_link_width");
  device.max_link_width = files.small(folder + "/max_link_width");
  device.bars = read_bars(files, folder + "/resource");
  device.aer_correctable = read_aer(files, folder + "/aer_dev_correctable");
  device.aer_nonfatal = read_aer(files, folder + "/aer_dev_nonfatal");
  device.aer_fatal = read_aer(files, folder + "/aer_dev_fatal");
  device.config = read_config(files, folder + "/config");
  return [device](Inventory& inventory) { inventory.pci[device.address] = device; };
}

}  // namespace railgauge::agent
