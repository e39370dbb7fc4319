// NIC ports: up, at their rate, with an MTU and a GID that the fabric can use.
#include <algorithm>
#include <array>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

// The least Ethernet MTU, in bytes, for RoCE's MTU of 4096: the payload and its headers.
constexpr std::uint32_t kNetMtuFor4096 = 4200;
constexpr std::uint32_t kRoceHeaderBytes = 96;
constexpr std::uint32_t kInfinibandMtu = 4096;

const NetDevice* net_of(const Inventory& node, const RdmaDevice& device) {
  for (const std::string& name : device.netdevs)
    if (const NetDevice* net = node.net(name); net != nullptr) return net;
  return nullptr;
}

// The fastest port of the same board on this node.
double best_rate(const Inventory& node, const RdmaDevice& device) {
  double best = 0;
  if (!device.board_id.is_known() && !device.model.is_known()) return best;  // unknown board
  for (const RdmaDevice& other : node.rdma)
    for (const RdmaPort& port : other.ports)
      if (other.board_id.value_or("") == device.board_id.value_or("") &&
          other.model.value_or("") == device.model.value_or(""))
        best = std::max(best, port.rate_bits_per_second.value_or(0));
  return best;
}

bool any_active(const Inventory& node) {
  return std::ranges::any_of(node.rdma, [](const RdmaDevice& device) {
    return std::ranges::any_of(device.ports,
                               [](const RdmaPort& port) { return port.state.is("active"); });
  });
}

// Judges a port that is down: an unplugged port is no fault, except on a NIC beside a GPU, where a
// rail is lost.
CheckResult judge_down(const Inventory& node, const RdmaDevice& device, const RdmaPort& port) {
  const std::string gpus = gpus_beside(node, device);
  const bool other_port = std::ranges::any_of(
      device.ports, [](const RdmaPort& each) { return each.state.is("active"); });
  const bool lost_rail = !gpus.empty() && !other_port;
  const std::string text = fmt::format(
      "{}, {}{}{}", port.state.value, port.phys_state.value_or("physical state unknown"),
      lost_rail ? ": no port of this NIC is up, which is the rail of " : "", lost_rail ? gpus : "");
  const std::string net = device.netdevs.empty() ? "" : device.netdevs.front();
  std::vector<std::string> remedy;
  if (port.state.is("init"))
    remedy.emplace_back("# the link is up and no subnet manager answered: systemctl status opensm");
  if (!net.empty()) remedy.push_back(fmt::format("ip link set {} up && ethtool {}", net, net));
  remedy.push_back(fmt::format("mlxlink -d {} -p {} -m", device.name, port.port));
  remedy.emplace_back("# check cable and transceiver, then the switch's port");
  const bool fails = lost_rail || !any_active(node);
  return (fails ? failed : warned)(name_of(device, port), text, port.state.source,
                                   std::move(remedy));
}

CheckResult judge_port(const Inventory& node, const RdmaDevice& device, const RdmaPort& port) {
  const std::string name = name_of(device, port);
  if (!port.state.is_known()) return not_known(name, "the port's state", port.state);
  if (port.state.value != "active") return judge_down(node, device, port);
  if (!port.rate_bits_per_second.is_known())
    return not_known(name, "the port's rate", port.rate_bits_per_second);
  const double rate = port.rate_bits_per_second.value;
  const std::string text = fmt::format("active, {:g} Gb/s, {}", rate / 1e9,
                                       port.link_layer.value_or("link layer unknown"));
  const double best = best_rate(node, device);
  if (rate < best)
    return failed(name, fmt::format("{}; its sisters run at {:g} Gb/s", text, best / 1e9),
                  port.rate_bits_per_second,
                  {fmt::format("mlxlink -d {} -p {} -m -c", device.name, port.port),
                   "# retrain the link or replace cable or transceiver; compare the switch port's "
                   "speed"});
  return passed(name, text, port.state);
}

// Judges the MTU that the port negotiated with the subnet manager; the partition bounds it, not an
// interface.
CheckResult judge_infiniband_mtu(const RdmaDevice& device, const RdmaPort& port) {
  const std::string name = name_of(device, port);
  const Fact<std::uint32_t>& mtu = port.active_mtu_bytes;
  if (!mtu.is_known())
    return not_known(name, "the active MTU, which is in no file for InfiniBand,", mtu,
                     {fmt::format("ibv_devinfo -d {} -i {} | grep mtu", device.name, port.port)});
  const std::uint32_t most = port.max_mtu_bytes.value_or(0);
  if (mtu.value >= kInfinibandMtu || mtu.value == most)
    return passed(name, fmt::format("{} of {}", mtu.value, most), mtu);
  return warned(
      name,
      fmt::format("{} where {} is possible: each message costs more packets", mtu.value, most), mtu,
      {"# on the subnet manager's host, in the partition (opensm: partitions.conf, "
       "Default=0x7fff,ipoib,mtu=5: ALL=full), then:",
       "systemctl restart opensm"});
}

// Returns the reason why RoCE's rules do not apply to a port, or "" for RoCE and InfiniBand.
std::string why_not_roce(const RdmaDevice& device, const RdmaPort& port) {
  if (is_iwarp(device)) return "iWARP: TCP carries it, and cuts its packets";
  const std::string layer = port.link_layer.value_or("ethernet");
  if (layer == "ethernet" || layer == "infiniband") return "";
  return fmt::format("link layer {}: neither RoCE nor InfiniBand", layer);
}

CheckResult judge_port_mtu(const Inventory& node, const RdmaDevice& device, const RdmaPort& port) {
  const std::string name = name_of(device, port);
  if (const std::string why = why_not_roce(device, port); !why.empty())
    return waived(name, why, port.link_layer);
  if (port.link_layer.is("infiniband")) return judge_infiniband_mtu(device, port);
  const NetDevice* net = net_of(node, device);
  if (net == nullptr)
    return unknown(name, "the port has no network interface here", "/sys/class/net");
  if (!net->mtu_bytes.is_known()) return not_known(name, "the interface's MTU", net->mtu_bytes);
  const std::uint32_t mtu = net->mtu_bytes.value;
  if (mtu >= kNetMtuFor4096)
    return passed(name, fmt::format("{} has {}: RDMA can use 4096", net->name, mtu),
                  net->mtu_bytes);
  constexpr std::array<std::uint32_t, 5> kRdmaMtus{4096, 2048, 1024, 512, 256};
  const auto fits = std::ranges::find_if(
      kRdmaMtus, [&](std::uint32_t each) { return each + kRoceHeaderBytes <= mtu; });
  return warned(name,
                fmt::format("{} has {}: RDMA can use {} bytes alone", net->name, mtu,
                            fits == kRdmaMtus.end() ? 0 : *fits),
                net->mtu_bytes,
                {fmt::format("ip link set {} mtu 9000", net->name),
                 "# and in the network configuration, so that it lasts; the switch's ports first, "
                 "9216 there"});
}

bool is_link_local(const std::string& gid) { return gid.starts_with("fe80"); }

CheckResult judge_port_gid(const Inventory& /*node*/, const RdmaDevice& device,
                           const RdmaPort& port) {
  const std::string name = name_of(device, port);
  const std::string source =
      fmt::format("/sys/class/infiniband/{}/ports/{}/gids", device.name, port.port);
  if (!port.link_layer.is_known()) return not_known(name, "the link layer", port.link_layer);
  if (const std::string why = why_not_roce(device, port); !why.empty())
    return waived(name, why, port.link_layer);
  if (port.link_layer.is("infiniband")) {
    if (port.lid.is_known() && port.lid.value == 0)
      return failed(name, "the port has no LID: no subnet manager has seen it", port.lid,
                    {"systemctl status opensm  # on the subnet manager's host"});
    if (!port.gids.empty()) return passed(name, port.gids.front().gid, source);
    return port.gids_told.is_open() ? not_known(name, "which GIDs it has", port.gids_told)
                                    : failed(name, "the port has no GID", source);
  }
  const GidEntry* best = nullptr;
  bool untold_type = false;
  for (const GidEntry& entry : port.gids) {
    untold_type = untold_type || entry.type.empty();
    if (entry.type.find("v2") == std::string::npos) continue;
    if (best == nullptr || (is_link_local(best->gid) && !is_link_local(entry.gid))) best = &entry;
  }
  const std::string net = device.netdevs.empty() ? "INTERFACE" : device.netdevs.front();
  const std::vector<std::string> remedy{
      fmt::format("ip addr add ADDRESS/PREFIX dev {}  # and in the network configuration", net)};
  if (best == nullptr && port.gids_told.is_open())
    return not_known(name, "which GIDs it has", port.gids_told, {"show_gids"});
  if (port.gids.empty()) return failed(name, "the port has no GID", source, remedy);
  if (best == nullptr && untold_type)
    return unknown(name, "the types of its GIDs are not reported", source, {"show_gids"});
  if (best == nullptr)
    return failed(name, "no GID is of RoCE v2", source,
                  {fmt::format("cma_roce_mode -d {} -p {} -m 2", device.name, port.port)});
  const std::string text = fmt::format("RoCE v2 GID {} at index {}", best->gid, best->index);
  if (is_link_local(best->gid))
    return warned(name, text + " is link-local alone: it crosses no router", source, remedy);
  return passed(name, text, source);
}

}  // namespace

CheckResults judge_port_state(const CheckInput& input) {
  return for_each_port(input.node, {}, "no NIC here has RDMA; TCP over these NICs is measured",
                       judge_port);
}

CheckResults judge_mtu(const CheckInput& input) {
  return for_each_port(input.node, {.active_only = true}, "no RDMA port is active", judge_port_mtu);
}

CheckResults judge_gid(const CheckInput& input) {
  return for_each_port(input.node, {.active_only = true}, "no RDMA port is active", judge_port_gid);
}

}  // namespace railgauge::agent
