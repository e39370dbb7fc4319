// NICs, read from sysfs without opening a device: RDMA devices with their ports, and network
// interfaces.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "agent/inventory/facts/files.h"
#include "agent/inventory/sources/dcb.h"
#include "agent/inventory/sources/sources.h"

namespace railgauge::agent {
namespace {

constexpr const char* kRdma = "/sys/class/infiniband";
constexpr const char* kNets = "/sys/class/net";
constexpr std::uint32_t kMostGids = 4096;
// Reading stops after this many empty entries, since the kernel gives a new GID the first free
// entry. Soft-RoCE has 1,024 entries, and the folder lists them in no order.
constexpr std::uint32_t kEmptyGids = 64;
constexpr std::size_t kMostCounters = 256;
constexpr std::size_t kMostNets = 512;
constexpr std::size_t kMostQosFiles = 128;
constexpr std::string_view kNoGid = "0000:0000:0000:0000:0000:0000:0000:0000";

// "4: ACTIVE" to "active".
Fact<std::string> state_word(const Fact<std::string>& text) {
  return text.as([](const std::string& value) {
    const std::size_t colon = value.find(": ");
    return lower(colon == std::string::npos ? value : value.substr(colon + 2));
  });
}

// Bits per second of "100 Gb/sec (4X EDR)".
std::optional<double> rate_in(const std::string& text) {
  const double gigabits = amount_in(text, " Gb/sec").value_or(0);
  return gigabits > 0 ? std::optional(gigabits * 1e9) : std::nullopt;
}

// Fills in the port's GIDs. Some drivers refuse to read empty entries, which is no error if others
// are readable.
void read_gids(const NodeFiles& files, const std::string& port, RdmaPort& out) {
  std::vector<GidEntry>& gids = out.gids;
  out.gids_told = Fact<bool>::known(true, port + "/gids");
  out.gids_told.spoil_by(files.list(port + "/gids"));
  Fact<bool> refused = out.gids_told;
  bool any = false;
  for (std::uint32_t index = 0, empty = 0; index < kMostGids && empty < kEmptyGids; ++index) {
    const std::string name = std::to_string(index);
    const Fact<std::string> gid = files.line(fmt::format("{}/gids/{}", port, name));
    ++empty;
    any = any || gid.is_known();
    if (gid.state == FactState::kUnknown)
      refused.spoil_by(gid);
    else
      out.gids_told.spoil_by(gid);
    if (!gid.is_known() || gid.value == kNoGid || gid.value.empty()) continue;
    empty = 0;
    gids.push_back({.index = index,
                    .gid = gid.value,
                    .type = files.line(fmt::format("{}/gid_attrs/types/{}", port, name)).value,
                    .netdev = files.line(fmt::format("{}/gid_attrs/ndevs/{}", port, name)).value});
  }
  if (!any) out.gids_told.spoil_by(refused);
}

// The facts of one port from its folder. Counters and GIDs are read as well.
RdmaPort read_port(const NodeFiles& files, const std::string& folder, std::uint32_t number) {
  RdmaPort port;
  port.port = number;
  port.state = state_word(files.line(folder + "/state"));
  port.phys_state = state_word(files.line(folder + "/phys_state"));
  port.rate_bits_per_second = parsed(files.line(folder + "/rate"), "rate", rate_in);
  port.link_layer = files.line(folder + "/link_layer").as(lower);
  port.lid = files.small(folder + "/lid");
  read_gids(files, folder, port);
  port.counters = read_counters(files, folder + "/counters");
  port.hw_counters = read_counters(files, folder + "/hw_counters");
  return port;
}

// The PCI function or "" for a software device.
std::string pci_of(const NodeFiles& files, const std::string& folder) {
  const std::string parent = files.link(folder + "/device").value;
  return is_pci_address(parent) ? parent : "";
}

// The port numbers of a device, ascending.
Fact<std::vector<std::uint32_t>> ports_of(const NodeFiles& files, const std::string& device) {
  const NameList names = files.list(fmt::format("{}/{}/ports", kRdma, device));
  auto ports = names.without_value<std::vector<std::uint32_t>>();
  for (const std::string& name : names.value) {
    const std::uint64_t number = number_in(name).value_or(0);
    if (number > 0 && number <= kMaxNicPorts)
      ports.value.push_back(static_cast<std::uint32_t>(number));
  }
  std::ranges::sort(ports.value);
  return ports;
}

// Returns the uverbsN of a device, from the device's folder or from the files of each uverbsN.
Fact<std::string> uverbs_of(const NodeFiles& files, const std::string& device) {
  const std::string folder = "/sys/class/infiniband_verbs";
  for (const std::string& name : files.names(folder)) {
    const std::string path = fmt::format("{}/{}/ibdev", folder, name);
    if (files.line(path).value == device) return Fact<std::string>::known(name, path);
  }
  return Fact<std::string>::absent(folder);
}

// Files below an interface's folder about quality of service: one level of folders in it.
Facts read_qos(const NodeFiles& files, const std::string& folder) {
  constexpr std::array kFolders{"ecn/roce_np/enable", "ecn/roce_rp/enable", "ecn/roce_np",
                                "ecn/roce_rp", "qos"};
  Facts facts;
  for (const char* part : kFolders)
    for (const std::string& name : files.names(fmt::format("{}/{}", folder, part), kMostQosFiles)) {
      const std::string path = fmt::format("{}/{}/{}", folder, part, name);
      Fact<std::string> text = files.line(path);
      if (facts.size() < kMostQosFiles && text.state != FactState::kError)
        facts[fmt::format("{}/{}", part, name)] = std::move(text);
    }
  return facts;
}

// Traffic class of verbs (the vendor's stack) and of the connection manager (configfs).
Facts read_classes(const NodeFiles& files, const std::string& device,
                   const std::vector<RdmaPort>& ports) {
  Facts facts;
  const auto add = [&](const RdmaPort& port, const char* name, const std::string& path) {
    Fact<std::string> text = files.line(path);
    if (text.is_known()) facts[fmt::format("{}:{}/{}", device, port.port, name)] = std::move(text);
  };
  for (const RdmaPort& port : ports) {
    add(port, "traffic_class", fmt::format("{}/{}/tc/{}/traffic_class", kRdma, device, port.port));
    add(port, "default_roce_tos",
        fmt::format("/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos", device, port.port));
  }
  return facts;
}

// Replaces the device of that name.
template <class Device>
void put_back(std::vector<Device>& devices, const Device& device) {
  const auto found = std::ranges::find(devices, device.name, &Device::name);
  if (found != devices.end()) *found = device;
}

}  // namespace

Fact<Counters> read_counters(const NodeFiles& files, const std::string& folder) {
  const NameList names = files.list(folder, kMostCounters);
  if (names.value.empty())
    return names.is_known() ? Fact<Counters>::absent(folder) : names.without_value<Counters>();
  Fact<Counters> counters = Fact<Counters>::known({}, folder);
  // An unread counter is reported, so that the rest is not taken for all. A counter that the driver
  // refuses (EINVAL) is no loss beside others.
  FactInfo unread = names;
  FactInfo refused = counters;
  for (const std::string& name : names.value) {
    const auto value = files.number(fmt::format("{}/{}", folder, name));
    if (value.is_known()) counters.value[name] = value.value;
    (value.state == FactState::kUnknown ? refused : unread).spoil_by(value);
  }
  if (counters.value.empty()) {
    unread.spoil_by(refused);
    if (unread.is_open()) return {unread, {}};
    return Fact<Counters>::error(folder, folder + ": no counter can be read");
  }
  counters.reason = unread.reason;
  return counters;
}

// The RDMA devices with PCI address and driver; nothing asks a device.
Apply read_rdma_names(const NodeFiles& files) {
  RdmaList list;
  const NameList names = files.list(kRdma, kMaxNicPorts);
  list.rdma_told = names.without_value<bool>();
  for (const std::string& name : names.value) {
    RdmaDevice& device = list.rdma.emplace_back();
    device.name = name;
    const std::string folder = std::string(kRdma) + "/" + name;
    device.pci_address = pci_of(files, folder);
    device.driver = files.link(folder + "/device/driver").value;
    // Software devices have no parent; only their names identify them.
    if (device.pci_address.empty() && name.starts_with("rxe")) device.driver = "rdma_rxe";
    if (device.pci_address.empty() && name.starts_with("siw")) device.driver = "siw";
    device.uverbs = uverbs_of(files, name);
    // The ports stay even if the second wave cannot read the device.
    const auto ports = ports_of(files, name);
    device.ports_told = ports.without_value<bool>();
    for (const std::uint32_t port : ports.value) device.ports.emplace_back().port = port;
  }
  return put(std::move(list));
}

// The ports, firmware and identity of one RDMA device, which its driver may answer slowly.
Apply read_rdma_device(const NodeFiles& files, RdmaDevice device) {
  const std::string folder = std::string(kRdma) + "/" + device.name;
  device.node_guid = files.line(folder + "/node_guid");
  device.node_type = state_word(files.line(folder + "/node_type"));
  device.firmware = files.line(folder + "/fw_ver");
  device.board_id = files.line(folder + "/board_id");
  device.model = files.line(folder + "/hca_type");
  device.netdevs = files.names(folder + "/device/net");
  for (RdmaPort& port : device.ports) {
    const std::string path = fmt::format("{}/ports/{}", folder, port.port);
    port = read_port(files, path, port.port);
    const std::string netdev = files.line(path + "/gid_attrs/ndevs/0").value;
    if (!netdev.empty() && std::ranges::find(device.netdevs, netdev) == device.netdevs.end())
      device.netdevs.push_back(netdev);
  }
  return [device, settings = read_classes(files, device.name, device.ports)](Inventory& inventory) {
    inventory.nic_settings.insert(settings.begin(), settings.end());
    put_back(inventory.rdma, device);
  };
}

// The network interfaces that belong to a device.
Apply read_net_names(const NodeFiles& files) {
  std::vector<NetDevice> devices;
  for (const std::string& name : files.names(kNets, kMostNets)) {
    const std::string folder = std::string(kNets) + "/" + name;
    if (!files.exists(folder + "/device")) continue;  // loopback, bridges, tunnels
    NetDevice& device = devices.emplace_back();
    device.name = name;
    device.pci_address = pci_of(files, folder);
    device.driver = files.link(folder + "/device/driver").value;
  }
  return [devices = std::move(devices)](Inventory& inventory) { inventory.nets = devices; };
}

// MTU and quality-of-service settings of one interface.
Apply read_net_device(const NodeFiles& files, NetDevice device) {
  const std::string folder = std::string(kNets) + "/" + device.name;
  device.mtu_bytes = files.small(folder + "/mtu");
  device.qos = read_qos(files, folder);
  if (files.is_this_machine()) device.qos.merge(read_dcb(device.name));
  return [device](Inventory& inventory) { put_back(inventory.nets, device); };
}

}  // namespace railgauge::agent
