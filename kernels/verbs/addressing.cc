#include "kernels/verbs/addressing.h"

#include <fmt/format.h>

#include "kernels/verbs/words.h"

namespace railgauge::verbs {
namespace {

constexpr std::uint8_t kHopLimit = 64;

}  // namespace

std::uint32_t Addressing::flow_label_of(std::size_t lane) const {
  if (flow_label != kEachItsOwn) return static_cast<std::uint32_t>(flow_label);
  // Neighbours differ in all bits of the UDP source port that RoCE v2 folds the label into; never
  // 0, with which the driver chooses.
  constexpr std::uint32_t kGolden = 0x9e3779b1U;
  constexpr unsigned kTo20Bits = 12;
  return (static_cast<std::uint32_t>(lane + 1) * kGolden >> kTo20Bits) | 1U;
}

Result<Addressing> choose_addressing(const Device& device, const Params& params) {
  const ibv_port_attr& port = device.port_attributes();
  Addressing chosen;
  chosen.gid = RG_TRY(device.gid(params.integer("gid_index")));
  // InfiniBand needs the global route where the port says so (RoCE's does always), and across
  // subnets, which a hand-picked GID asks for.
  chosen.is_global = device.is_ethernet() || params.integer("gid_index") >= 0 ||
                     (port.flags & IBV_QPF_GRH_REQUIRED) != 0;
  const std::int64_t pkey_index = params.integer("pkey_index");
  if (pkey_index >= port.pkey_tbl_len)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: parameter pkey_index: {} is not in the port's table, which has "
                            "entries 0 to {}",
                            device.endpoint(), pkey_index, port.pkey_tbl_len - 1));
  chosen.pkey_index = static_cast<std::uint16_t>(pkey_index);
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

void report_addressing(const Addressing& addressing, Reporter& reporter) {
  reporter.fact("gid", gid_words(addressing.gid.gid));
  reporter.fact("gid_index", std::to_string(addressing.gid.index));
  reporter.fact("global_route", addressing.is_global ? "true" : "false");
  const std::uint32_t label = addressing.flow_label_of(0);
  if (!addressing.is_global || label == 0) return;
  reporter.fact("flow_label", std::to_string(label));
  if (addressing.gid.type == IBV_GID_TYPE_ROCE_V2)
    reporter.fact("udp_source_port", std::to_string(ibv_flow_label_to_udp_sport(label)));
}

}  // namespace railgauge::verbs
