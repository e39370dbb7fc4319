// The settings that a port agrees on with its switch, and the counters of the link between them.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "agent/preflight/rules/pairs.h"
#include "agent/preflight/rules/results.h"

namespace railgauge::agent {
namespace {

// A counter that stays low on a sound port, and the largest total since the driver's start that is
// no finding.
struct Limit {
  const char* name;
  std::uint64_t most;
};
constexpr std::array kLimits{Limit{"link_downed", 2},
                             Limit{"symbol_error", 120},
                             Limit{"link_error_recovery", 5},
                             Limit{"excessive_buffer_overrun_errors", 0},
                             Limit{"local_link_integrity_errors", 0},
                             Limit{"port_rcv_errors", 100},
                             Limit{"rnr_nak_retry_err", 0}};
// The usual lossless priority of RoCE fabrics, used if the site profile names none.
constexpr std::uint32_t kUsualPriority = 3;
// A 32-bit counter stops at this value.
constexpr std::uint64_t kSaturated = 0xffffffffU;

// A RoCE port with its network interface.
struct Port {
  const RdmaDevice* device;
  const RdmaPort* port;
  const NetDevice* net;  // nullptr: none
  [[nodiscard]] std::string name() const { return name_of(*device, *port); }
};

// judge(port, site) of each active port of RoCE hardware.
template <class Judge>
CheckResults for_each_roce(const CheckInput& input, Judge judge) {
  CheckResults results;
  for (const RdmaDevice& device : input.node.rdma) {
    if (is_software(device) || is_iwarp(device)) continue;
    const NetDevice* net =
        device.netdevs.empty() ? nullptr : input.node.net(device.netdevs.front());
    for (const RdmaPort& port : device.ports)
      if (port.state.is("active") && port.link_layer.is("ethernet"))
        results.push_back(judge(Port{&device, &port, net}, input.site));
  }
  return results.empty() ? no_rdma(input.node, "no port of RoCE hardware is active") : results;
}

// The interface for commands of a remedy; a placeholder if it is not known.
std::string net_name(const Port& port) {
  return port.net == nullptr ? "INTERFACE" : port.net->name;
}

// The first of these settings that the vendor's files or netlink report; nullptr: neither does.
const Fact<std::string>* qos_fact(const Port& port, std::initializer_list<const char*> names) {
  if (port.net == nullptr) return nullptr;
  for (const char* name : names)
    if (const auto found = port.net->qos.find(name); found != port.net->qos.end())
      return &found->second;
  return nullptr;
}

// "0,0,0,1,0,0,0,0" of priority 3.
std::string pfc_words(std::uint32_t priority) {
  std::string words;
  for (std::uint32_t i = 0; i < 8; ++i)
    words += fmt::format("{}{}", i == 0 ? "" : ",", i == priority ? 1 : 0);
  return words;
}

// A lossless fabric needs trust in DSCP marks and priority flow control on the lossless priority.
// With a site profile the priority must be the site's.
CheckResult judge_trust(const Port& port, const SiteRules& site) {
  const std::vector<std::string> look{fmt::format(
      "mlnx_qos -i {0}  # or: dcb pfc show dev {0}; dcb app show dev {0}", net_name(port))};
  const std::uint32_t wanted = site.lossless_priority.value_or(kUsualPriority);
  const std::vector<std::string> remedy{fmt::format(
      "mlnx_qos -i {} --trust dscp --pfc {}  # priority {}{}", net_name(port), pfc_words(wanted),
      wanted, site.lossless_priority ? ", as the site profile has it" : ", or the site's")};
  const Fact<std::string>* trust = qos_fact(port, {"qos/trust", "dcb/trust"});
  const Fact<std::string>* lossless = qos_fact(port, {"dcb/pfc"});
  if (trust == nullptr && lossless == nullptr)
    return unknown(
        port.name(),
        "trust and priority flow control are in no file and no netlink answer of this driver",
        "/sys/class/net/*/qos, netlink DCB", look);
  for (const Fact<std::string>* fact : {trust, lossless})
    if (fact != nullptr && !fact->is_known())
      return not_known(port.name(), "the port's trust or flow control", *fact, look);
  if (trust != nullptr && trust->value != "dscp")
    return warned(
        port.name(),
        fmt::format("trust is {}: marks in the IP header choose no priority", trust->value),
        trust->source, remedy);
  if (lossless != nullptr && lossless->value.empty())
    return warned(port.name(), "no priority has flow control: none is lossless", lossless->source,
                  remedy);
  if (trust == nullptr || lossless == nullptr)
    return unknown(port.name(),
                   trust == nullptr ? "flow control is on, its trust is not reported"
                                    : "trust is dscp, its flow control is not reported",
                   (trust == nullptr ? lossless : trust)->source, look);
  if (site.lossless_priority && lossless->value != std::to_string(wanted))
    return warned(port.name(),
                  fmt::format("flow control is on for priorities {}, the site's lossless one is {}",
                              lossless->value, wanted),
                  lossless->source, remedy);
  return passed(port.name(),
                fmt::format("trust is dscp, flow control is on for priorities {}", lossless->value),
                fmt::format("{}, {}", trust->source, lossless->source));
}

// Priorities whose switch below `folder` is 1; `any` is whether one was read at all.
std::set<std::string> enabled_below(const NetDevice& net, const std::string& folder, bool& any) {
  std::set<std::string> priorities;
  for (const auto& [path, fact] : net.qos) {
    if (!path.starts_with(folder) || !fact.is_known()) continue;
    any = true;
    if (fact.value == "1") priorities.insert(path.substr(folder.size()));
  }
  return priorities;
}

// Congestion control needs both halves for a priority: the notification point (NP) sends CNPs, and
// the reaction point (RP) lowers the rate.
CheckResult judge_ecn(const Port& port, const SiteRules& site) {
  const std::string source = fmt::format("/sys/class/net/{}/ecn", net_name(port));
  bool any = false;
  std::set<std::string> notify;
  std::set<std::string> react;
  if (port.net != nullptr) {
    notify = enabled_below(*port.net, "ecn/roce_np/enable/", any);
    react = enabled_below(*port.net, "ecn/roce_rp/enable/", any);
  }
  if (!any)
    return unknown(port.name(),
                   "whether the NIC heeds congestion marks is in no file of this driver", source,
                   {fmt::format("mlxconfig -d {} query | grep -i ROCE_CC", port.device->name)});
  std::string on;
  std::string half;
  const auto add = [](std::string& list, const std::string& priority) {
    list += (list.empty() ? "" : " ") + priority;
  };
  for (const std::string& priority : notify) add(react.contains(priority) ? on : half, priority);
  for (const std::string& priority : react)
    if (!notify.contains(priority)) add(half, priority);
  const auto remedy = [&](const std::string& priority) {
    return std::vector<std::string>{fmt::format("echo 1 > {}/roce_np/enable/{}", source, priority),
                                    fmt::format("echo 1 > {}/roce_rp/enable/{}", source, priority)};
  };
  if (!half.empty())
    return warned(port.name(), fmt::format("priority {} notifies or reacts, not both", half),
                  source, remedy(half.substr(0, 1)));
  if (on.empty())
    return warned(port.name(), "no priority notifies and reacts", source,
                  remedy(std::to_string(site.lossless_priority.value_or(kUsualPriority))));
  if (const std::string lossless = std::to_string(site.lossless_priority.value_or(kUsualPriority));
      site.lossless_priority && !(notify.contains(lossless) && react.contains(lossless)))
    return warned(
        port.name(),
        fmt::format("on for priorities {}, not for the site's lossless one, {}", on, lossless),
        source, remedy(lossless));
  return passed(port.name(), fmt::format("on for priorities {}", on), source);
}

// The port's priority for a DSCP mark. Its map lists marks whose priority differs from the mark's
// upper three bits: "46:3 48:3".
std::uint32_t priority_of(std::uint32_t dscp, const std::string& map) {
  const std::string words = " " + map;
  const std::string key = fmt::format(" {}:", dscp);
  const std::size_t found = words.find(key);
  const std::size_t at = found == std::string::npos ? found : found + key.size();
  if (at >= words.size() || words[at] < '0' || words[at] > '7') return dscp >> 3U;
  return static_cast<std::uint32_t>(words[at] - '0');
}

// Checks that the site's traffic class maps to its lossless priority. The traffic class is a byte
// of the IP header with the DSCP mark in its upper six bits. A fault is added to the result of the
// port's ECN; an unknown result stays unknown.
CheckResult with_traffic_class(CheckResult ecn, const Port& port, const SiteRules& site) {
  if (!site.lossless_priority || !site.traffic_class) return ecn;
  const Fact<std::string>* map = qos_fact(port, {"dcb/dscp_map"});
  const bool is_told = map != nullptr && map->is_known();
  const std::uint32_t dscp = *site.traffic_class >> 2U;
  const std::uint32_t priority = priority_of(dscp, is_told ? map->value : "");
  if (priority == *site.lossless_priority) return ecn;
  if (ecn.state == CheckState::kPass) ecn.state = CheckState::kWarn;
  ecn.observed += fmt::format(
      "; the site's traffic class {} is DSCP {}, {} priority {}, and its lossless one is {}",
      *site.traffic_class, dscp, is_told ? "here" : "by default", priority,
      *site.lossless_priority);
  ecn.source += is_told ? ", site profile, " + map->source : ", site profile";
  ecn.remedy.emplace_back(
      "# correct traffic_class or lossless_priority in site.yaml, or map that mark:");
  ecn.remedy.push_back(fmt::format("mlnx_qos -i {} --dscp2prio set,{},{}", net_name(port), dscp,
                                   *site.lossless_priority));
  return ecn;
}

// Error counters of a port since the driver's start. A high total warns; only its growth proves a
// fault.
CheckResult judge_counters(const Inventory& /*node*/, const RdmaDevice& device,
                           const RdmaPort& port) {
  const std::string name = name_of(device, port);
  if (!port.counters.is_known() && !port.hw_counters.is_known())
    return port.counters.is_absent() ? waived(name, "this device counts no errors", port.counters)
                                     : not_known(name, "the port's counters", port.counters);
  for (const Fact<Counters>* counters : {&port.counters, &port.hw_counters})
    if (!counters->is_known() && !counters->is_absent())
      return not_known(name, "the port's counters", *counters);
  std::string high;
  std::string stuck;
  const auto look = [&](const Fact<Counters>& counters) {
    if (!counters.is_known()) return;
    for (const auto& [counter, value] : counters.value) {
      const auto limit = std::ranges::find(kLimits, counter, &Limit::name);
      if (limit == kLimits.end() || value <= limit->most) continue;
      auto& text = value == kSaturated ? stuck : high;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", counter, value);
    }
  };
  look(port.counters);
  look(port.hw_counters);
  const std::string& source = port.counters.source;
  for (const Fact<Counters>* counters : {&port.counters, &port.hw_counters})
    if (high.empty() && stuck.empty() && !counters->reason.empty())
      return in_error(name, counters->reason, counters->source);
  if (high.empty() && stuck.empty()) return passed(name, "no error counter stands out", source);
  std::string text = high;
  if (!stuck.empty())
    text += fmt::format("{}{} is at its end and counts no more", text.empty() ? "" : "; ", stuck);
  return warned(name, text + " since the driver started; growth is what counts", source,
                {fmt::format("mlxlink -d {} -p {} -m -c -e", device.name, port.port),
                 "# clean or replace cable and transceiver when it grows",
                 fmt::format("perfquery -R  # on InfiniBand: set the counters to zero")});
}

}  // namespace

CheckResults judge_lossless(const CheckInput& input) { return for_each_roce(input, judge_trust); }

CheckResults judge_congestion_control(const CheckInput& input) {
  return for_each_roce(input, [](const Port& port, const SiteRules& site) {
    return with_traffic_class(judge_ecn(port, site), port, site);
  });
}

CheckResults judge_port_errors(const CheckInput& input) {
  return for_each_port(input.node, {.hardware_only = true}, "no NIC here has RDMA", judge_counters);
}

}  // namespace railgauge::agent
