#include "kernels/verbs/transport/addressing.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include <fmt/format.h>

#include "kernels/core/text/text.h"
#include "kernels/verbs/transport/connector.h"
#include "kernels/verbs/transport/words.h"

namespace railgauge::verbs {
namespace {

// Enough routers for any fabric, as Linux' default TTL.
constexpr std::uint8_t kHopLimit = 64;
// A partition key: the top bit is the membership, the rest names the partition.
constexpr std::uint16_t kFullMember = 0x8000;
constexpr std::uint16_t kPartition = 0x7fff;

// Parses "0x8001" and no other notation, so that a series has one name. Returns 0 for any other
// text.
std::uint16_t parse_pkey(std::string_view text) {
  constexpr std::size_t kLength = 6;
  constexpr int kHex = 16;
  std::uint16_t key = 0;
  if (text.size() != kLength || !text.starts_with("0x")) return 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + kLength, key, kHex);
  const bool whole = error == std::errc{} && end == text.data() + kLength;
  return whole && fmt::format("{:#06x}", key) == text ? key : 0;
}

std::string pkey_words(std::uint16_t key) { return fmt::format("{:#06x}", key); }

// Puts the endpoint in front of an error's message.
template <class Value>
Result<Value> at(const Device& device, Result<Value> found) {
  if (!found) found.error().message.insert(0, device.endpoint() + ": ");
  return found;
}

// The entry that gid_index names, or the first that gid_rule allows. Both together contradict each
// other.
Result<GidEntry> gid_by(const Device& device, const Params& params) {
  const std::int64_t index = params.integer("gid_index");
  const std::string& rule = params.text("gid_rule");
  const auto wrong = [&device](std::string message) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: parameter gid_rule: {}", device.endpoint(), message));
  };
  if (rule == "index" && index < 0) return wrong("index needs gid_index; name the entry by it");
  if (rule == "auto" || rule == "index") return device.gid(index);
  if (index >= 0)
    return wrong(fmt::format("{} and gid_index {} exclude each other; leave one out", rule, index));
  const auto entries =
      RG_TRY(at(device, read_gids(device.context(), device.port(),
                                  device.port_attributes().gid_tbl_len, device.sysfs_port())));
  return at(device, choose_gid(entries, gid_rule_of(rule)));
}

// Entry of the partition table, by index or by value. A connection manager chooses the partition
// itself, so the value is refused there.
Status choose_partition(const Device& device, const Params& params, Addressing& chosen) {
  const int length = device.port_attributes().pkey_tbl_len;
  const std::int64_t index = params.integer("pkey_index");
  const std::string& wanted = params.text("pkey");
  const auto wrong = [&device](std::string_view parameter, const std::string& message) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: parameter {}: {}", device.endpoint(), parameter, message));
  };
  if (index >= length)
    return wrong(
        "pkey_index",
        fmt::format("{} is not in the port's table, which has entries 0 to {}", index, length - 1));
  chosen.pkey_index = static_cast<std::uint16_t>(index);
  // Empty where the kernel does not show it: the index then works, the value does not.
  const auto table = read_pkeys_from_sysfs(device.sysfs_port(), length);
  if (!wanted.empty()) {
    if (index != 0)
      return wrong("pkey", fmt::format("{} and pkey_index {} exclude each other; leave one out",
                                       in_quotes(wanted), index));
    if (Connector::is_asked_for(device, params))
      return wrong("pkey",
                   params.text("connection") == "auto"
                       ? "this device's connections are the connection manager's, which chooses "
                         "the partition; leave it out"
                       : "the connection manager chooses the partition; leave it out, or take "
                         "connection exchange");
    chosen.pkey_index = RG_TRY(at(device, find_pkey(table, wanted)));
  }
  if (chosen.pkey_index < table.size()) chosen.pkey = table[chosen.pkey_index];
  return {};
}

}  // namespace

// A table with a missing entry counts as not readable, because positions would shift.
std::vector<std::uint16_t> read_pkeys_from_sysfs(const std::string& sysfs_port, int length) {
  std::vector<std::uint16_t> table;
  for (int i = 0; i < length; ++i) {
    std::ifstream file(fmt::format("{}/pkeys/{}", sysfs_port, i));
    std::string line;
    if (!std::getline(file, line)) return {};
    table.push_back(parse_pkey(line));
  }
  return table;
}

// Names the other membership of the same partition, the usual mistake.
Result<std::uint16_t> find_pkey(std::span<const std::uint16_t> table, const std::string& wanted) {
  const std::uint16_t key = parse_pkey(wanted);
  if ((key & kPartition) == 0)
    return fail(Code::kInvalidArgument,
                fmt::format("parameter pkey: {} is no partition key; four hexadecimal digits in "
                            "lower case are needed, as in 0x8001",
                            in_quotes(wanted)));
  if (table.empty())
    return fail(Code::kFailedPrecondition,
                fmt::format("parameter pkey: {}: the kernel does not show the port's partition "
                            "table; name its entry by pkey_index",
                            wanted));
  const auto found = std::ranges::find(table, key);
  if (found != table.end()) return static_cast<std::uint16_t>(found - table.begin());
  std::string held;
  for (const std::uint16_t entry : table)
    if (entry != 0) held += (held.empty() ? "" : ", ") + pkey_words(entry);
  // The same partition with the other membership.
  const std::uint16_t other = key ^ kFullMember;
  const bool is_other_member = std::ranges::find(table, other) != table.end();
  return fail(
      Code::kFailedPrecondition,
      fmt::format("parameter pkey: {} is not in the port's table, which holds {}{}", wanted,
                  held.empty() ? "none" : held,
                  !is_other_member ? ""
                  : (other & kFullMember) != 0
                      ? fmt::format("; {} is that partition's full member", pkey_words(other))
                      : fmt::format("; {} is that partition's limited member", pkey_words(other))));
}

std::uint32_t Addressing::flow_label_of(std::size_t lane) const {
  if (flow_label != kEachItsOwn) return static_cast<std::uint32_t>(flow_label);
  // Neighbours differ in all bits of the UDP source port that RoCE v2 folds the label into; never
  // 0, with which the driver chooses.
  constexpr std::uint32_t kGolden = 0x9e3779b1U;
  constexpr unsigned kTo20Bits = 12;
  return (static_cast<std::uint32_t>(lane + 1) * kGolden >> kTo20Bits) | 1U;
}

// kInvalidArgument also where a field of the global route is given and packets carry none.
Result<Addressing> choose_addressing(const Device& device, const Params& params) {
  const ibv_port_attr& port = device.port_attributes();
  Addressing chosen;
  chosen.gid = RG_TRY(gid_by(device, params));
  // InfiniBand needs the global route where the port says so (RoCE's and EFA's do always), and
  // across subnets, which a hand-picked GID asks for.
  chosen.is_global = port.link_layer != IBV_LINK_LAYER_INFINIBAND ||
                     params.integer("gid_index") >= 0 || (port.flags & IBV_QPF_GRH_REQUIRED) != 0;
  RG_TRY_OK(choose_partition(device, params, chosen));
  chosen.service_level = static_cast<std::uint8_t>(params.integer("service_level"));
  chosen.traffic_class = static_cast<std::uint8_t>(params.integer("traffic_class"));
  chosen.flow_label = params.integer("flow_label");
  if (!chosen.is_global && (chosen.traffic_class != 0 || chosen.flow_label != 0))
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: parameter {}: packets of this port carry no global route; give "
                    "gid_index too, or leave it at 0",
                    device.endpoint(), chosen.traffic_class != 0 ? "traffic_class" : "flow_label"));
  return chosen;
}

// The LID routes inside a subnet; the GRH follows only where the route is global.
ibv_ah_attr path_to(const Addressing& addressing, const Device& device, const PeerAddress& peer,
                    std::size_t lane) {
  ibv_ah_attr path{};
  path.port_num = device.port();
  path.dlid = static_cast<std::uint16_t>(peer.lid());
  path.sl = addressing.service_level;
  if (!addressing.is_global) return path;
  path.is_global = 1;
  path.grh.hop_limit = kHopLimit;
  path.grh.sgid_index = static_cast<std::uint8_t>(addressing.gid.index);
  path.grh.traffic_class = addressing.traffic_class;
  path.grh.flow_label = addressing.flow_label_of(lane);
  peer.gid().copy(reinterpret_cast<char*>(path.grh.dgid.raw), sizeof(ibv_gid));
  return path;
}

// The UDP source port is the kernel's fold of the flow label, which switches hash for ECMP.
void report_addressing(const Addressing& addressing, Reporter& reporter) {
  reporter.fact("gid", gid_words(addressing.gid.gid));
  reporter.fact("gid_index", std::to_string(addressing.gid.index));
  reporter.fact("pkey_index", std::to_string(addressing.pkey_index));
  if (addressing.pkey) reporter.fact("pkey", pkey_words(*addressing.pkey));
  reporter.fact("global_route", addressing.is_global ? "true" : "false");
  const std::uint32_t label = addressing.flow_label_of(0);
  if (!addressing.is_global || label == 0) return;
  reporter.fact("flow_label", std::to_string(label));
  if (addressing.gid.type == IBV_GID_TYPE_ROCE_V2)
    reporter.fact("udp_source_port", std::to_string(ibv_flow_label_to_udp_sport(label)));
}

}  // namespace railgauge::verbs
