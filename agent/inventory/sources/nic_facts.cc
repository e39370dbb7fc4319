// NICs by the content of sysfs without opening a device: RDMA devices with their ports, and network
// interfaces.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "agent/inventory/facts/files.h"
#include "agent/inventory/facts/nics.h"
#include "agent/inventory/sources/dcb.h"
#include "agent/inventory/sources/sources.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr const char* kRdma = "/sys/class/infiniband";
constexpr const char* kNets = "/sys/class/net";
constexpr std::uint32_t kMostGids = 4096;
// The kernel gives a new GID the first free place, so that behind so many empty ones there is none.
// Soft-RoCE has 1,024 places, and the folder lists them in no order.
constexpr std::uint32_t kEmptyGids = 64;
constexpr std::size_t kMostCounters = 256;
constexpr std::size_t kMostNets = 512;
constexpr std::size_t kMostQosFiles = 128;
constexpr std::string_view kNoGid = "0000:0000:0000:0000:0000:0000:0000:0000";

// "4: ACTIVE" to "active".
Fact<std::string> state_word(Fact<std::string> text) {
  if (!text.is_known()) return text;
  const std::size_t colon = text.value.find(": ");
  text.value = lower(colon == std::string::npos ? text.value : text.value.substr(colon + 2));
  return text;
}

// The known value in lower case.
Fact<std::string> in_lower(Fact<std::string> text) {
  text.value = lower(std::move(text.value));
  return text;
}

// Fills in the port's GIDs. Some drivers refuse empty places, which means nothing beside other
// readable ones.
void read_gids(const NodeFiles& files, const std::string& port, RdmaPort& out) {
  std::vector<GidEntry>& gids = out.gids;
  out.gids_told = Fact<bool>::known(true, port + "/gids");
  out.gids_told.spoil_by(files.list(port + "/gids"));
  Fact<bool> refused = out.gids_told;
  bool any = false;
  for (std::uint32_t index = 0, empty = 0; index < kMostGids && empty < kEmptyGids; ++index) {
    const std::string name = std::to_string(index);
    const Fact<std::string> gid = files.line(port + "/gids/" + name);
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
                    .type = files.line(port + "/gid_attrs/types/" + name).value,
                    .netdev = files.line(port + "/gid_attrs/ndevs/" + name).value});
  }
  if (!any) out.gids_told.spoil_by(refused);
}

// The facts of one port from its folder. Counters and GIDs are read as well.
RdmaPort read_port(const NodeFiles& files, const std::string& folder, std::uint32_t number) {
  RdmaPort port;
  port.port = number;
  port.state = state_word(files.line(folder + "/state"));
  port.phys_state = state_word(files.line(folder + "/phys_state"));
  const Fact<std::string> rate = files.line(folder + "/rate");
  port.rate_bits_per_second = rate.without_value<double>();
  port.rate_bits_per_second.value = parse_rate(rate.value);
  if (rate.is_known() && port.rate_bits_per_second.value == 0)
    port.rate_bits_per_second = Fact<double>::error(
        rate.source, fmt::format("{}: {} is no rate", rate.source, in_quotes(rate.value)));
  port.link_layer = in_lower(files.line(folder + "/link_layer"));
  port.lid = files.small(folder + "/lid");
  port.sm_lid = files.small(folder + "/sm_lid");
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
    std::uint64_t number = 0;
    if (parse_number(name, number) && number > 0 && number <= kMaxNicPorts)
      ports.value.push_back(static_cast<std::uint32_t>(number));
  }
  std::ranges::sort(ports.value);
  return ports;
}

// uverbsN of a device: by its own folder, or by what each of them says.
Fact<std::string> uverbs_of(const NodeFiles& files, const std::string& device) {
  const std::string folder = "/sys/class/infiniband_verbs";
  for (const std::string& name : files.names(folder))
    if (files.line(folder + "/" + name + "/ibdev").value == device)
      return Fact<std::string>::known(name, folder + "/" + name + "/ibdev");
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
  for (const RdmaPort& port : ports) {
    Fact<std::string> text =
        files.line(fmt::format("{}/{}/tc/{}/traffic_class", kRdma, device, port.port));
    if (text.is_known())
      facts[fmt::format("{}:{}/traffic_class", device, port.port)] = std::move(text);
    text = files.line(
        fmt::format("/sys/kernel/config/rdma_cm/{}/ports/{}/default_roce_tos", device, port.port));
    if (text.is_known())
      facts[fmt::format("{}:{}/default_roce_tos", device, port.port)] = std::move(text);
  }
  return facts;
}

}  // namespace

Fact<Counters> read_counters(const NodeFiles& files, const std::string& folder) {
  const NameList names = files.list(folder, kMostCounters);
  if (names.value.empty())
    return names.is_known() ? Fact<Counters>::absent(folder) : names.without_value<Counters>();
  Counters counters;
  // One that was not read, for whoever would call the rest all of them. A driver that has nothing
  // to count for a name of its own (EINVAL) is no loss beside others.
  Fact<bool> unread = Fact<bool>::known(true, folder);
  unread.spoil_by(names);
  Fact<bool> refused = Fact<bool>::known(true, folder);
  for (const std::string& name : names.value) {
    const auto value = files.number(folder + "/" + name);
    if (value.is_known()) counters[name] = value.value;
    (value.state == FactState::kUnknown ? refused : unread).spoil_by(value);
  }
  if (counters.empty()) {
    unread.spoil_by(refused);
    if (unread.is_open()) return unread.without_value<Counters>();
    return Fact<Counters>::error(folder, folder + ": no counter can be read");
  }
  Fact<Counters> known = Fact<Counters>::known(std::move(counters), folder);
  known.reason = unread.reason;
  return known;
}

// The RDMA devices with PCI address and driver; nothing asks a device.
Apply read_rdma_names(const NodeFiles& files) {
  std::vector<RdmaDevice> devices;
  const NameList names = files.list(kRdma, kMaxNicPorts);
  for (const std::string& name : names.value) {
    RdmaDevice& device = devices.emplace_back();
    device.name = name;
    const std::string folder = std::string(kRdma) + "/" + name;
    device.pci_address = pci_of(files, folder);
    device.driver = files.link(folder + "/device/driver").value;
    // Software devices have no parent; only their names identify them.
    if (device.pci_address.empty() && name.starts_with("rxe")) device.driver = "rdma_rxe";
    if (device.pci_address.empty() && name.starts_with("siw")) device.driver = "siw";
    device.uverbs = uverbs_of(files, name);
    // Its ports stay even when nothing more can be had of it.
    const auto ports = ports_of(files, name);
    device.ports_told = ports.without_value<bool>();
    for (const std::uint32_t port : ports.value) device.ports.emplace_back().port = port;
  }
  return [devices = std::move(devices), told = names.without_value<bool>()](Inventory& inventory) {
    inventory.rdma = devices;
    inventory.rdma_told = told;
  };
}

// The ports, firmware and identity of one RDMA device, which its driver may answer slowly.
Apply read_rdma_device(const NodeFiles& files, const std::string& name) {
  const std::string folder = std::string(kRdma) + "/" + name;
  RdmaDevice read;
  read.node_guid = files.line(folder + "/node_guid");
  read.node_type = state_word(files.line(folder + "/node_type"));
  read.firmware = files.line(folder + "/fw_ver");
  read.board_id = files.line(folder + "/board_id");
  read.model = files.line(folder + "/hca_type");
  read.netdevs = files.names(folder + "/device/net");
  for (const std::uint32_t port : ports_of(files, name).value) {
    const std::string path = fmt::format("{}/ports/{}", folder, port);
    read.ports.push_back(read_port(files, path, port));
    const std::string netdev = files.line(path + "/gid_attrs/ndevs/0").value;
    if (!netdev.empty() && std::ranges::find(read.netdevs, netdev) == read.netdevs.end())
      read.netdevs.push_back(netdev);
  }
  const Facts settings = read_classes(files, name, read.ports);
  return [read = std::move(read), settings, name](Inventory& inventory) {
    inventory.nic_settings.insert(settings.begin(), settings.end());
    const auto found = std::ranges::find(inventory.rdma, name, &RdmaDevice::name);
    if (found == inventory.rdma.end()) return;
    found->node_guid = read.node_guid;
    found->node_type = read.node_type;
    found->firmware = read.firmware;
    found->board_id = read.board_id;
    found->model = read.model;
    found->netdevs = read.netdevs;
    found->ports = read.ports;
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

// State, MTU, speed, statistics and quality-of-service settings of one interface.
Apply read_net_device(const NodeFiles& files, const std::string& name) {
  const std::string folder = std::string(kNets) + "/" + name;
  constexpr double kMegabit = 1e6;
  NetDevice read;
  read.mtu_bytes = files.small(folder + "/mtu");
  const Fact<std::uint64_t> speed = files.number(folder + "/speed");  // "-1" while it is down
  read.speed_bits_per_second =
      speed.state == FactState::kError
          ? Fact<double>::unknown(speed.source, speed.source + ": not told while the link is down")
          : speed.without_value<double>();
  read.speed_bits_per_second.value = static_cast<double>(speed.value) * kMegabit;
  read.state = in_lower(files.line(folder + "/operstate"));
  read.hardware_address = files.line(folder + "/address");
  read.carrier_changes = files.number(folder + "/carrier_changes");
  read.statistics = read_counters(files, folder + "/statistics");
  read.qos = read_qos(files, folder);
  if (files.is_this_machine()) read.qos.merge(read_dcb(name));
  return [read = std::move(read), name](Inventory& inventory) {
    const auto found = std::ranges::find(inventory.nets, name, &NetDevice::name);
    if (found == inventory.nets.end()) return;
    found->mtu_bytes = read.mtu_bytes;
    found->speed_bits_per_second = read.speed_bits_per_second;
    found->state = read.state;
    found->hardware_address = read.hardware_address;
    found->carrier_changes = read.carrier_changes;
    found->statistics = read.statistics;
    found->qos = read.qos;
  };
}

}  // namespace railgauge::agent
