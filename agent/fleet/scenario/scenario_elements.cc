// Elements of a scenario's lists.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "agent/fleet/scenario/scenario_reader.h"
#include "kernels/core/text/text.h"

namespace railgauge::fleet {

using plan::YamlMap;
using plan::YamlValue;

namespace {

constexpr double kLeastRate = 1e6;
constexpr double kMostRate = 1e13;

// Bytes a second; bits are allowed as the field writes them.
void read_rate_key(const YamlMap& map, std::string_view key, double& to) {
  const YamlValue* value = map.find(key);
  const auto text = value == nullptr ? std::nullopt : value->text("a rate, as in 400Gb/s");
  if (!text) return;
  const auto rate = plan::parse_rate(*text);
  if (rate && *rate >= kLeastRate && *rate <= kMostRate)
    to = *rate;
  else
    value->problem(
        fmt::format("is {}; allowed: 1MB/s to 10TB/s, as in 400Gb/s or 50GB/s", in_quotes(*text)));
}

// The name of a NIC or GPU as the inventory reports it.
void read_model(const YamlMap& map, std::string_view key, std::string& to) {
  if (const YamlValue* value = map.find(key)) to = value->text("a name", 64).value_or(to);
}

// A count that must be below another one of the scenario.
void read_below(const YamlMap& map, std::string_view key, std::uint32_t count, std::string_view of,
                std::int32_t& to) {
  const YamlValue* value = map.find(key);
  if (value == nullptr) return;
  read_key(map, kFaultKeys, key, to);
  if (to < 0 || std::cmp_less(to, count)) return;
  value->problem(count == 0 ? fmt::format("is {}; {}, so none is allowed", to, of)
                            : fmt::format("is {}; allowed: 0 to {}, since {}", to, count - 1, of));
  to = -1;
}

void read_node(const YamlMap& map, std::string_view key, const ReadFabric& fabric,
               std::int32_t& to) {
  const YamlValue* value = map.find(key);
  const auto name = value == nullptr ? std::nullopt : value->text("the name of a node");
  if (!name) return;
  const auto node = node_of_name(fabric.scenario.fabric, *name);
  if (node)
    to = static_cast<std::int32_t>(*node);
  else
    value->problem(fmt::format("{} is no node here; allowed: {} to {}{}", in_quotes(*name),
                               fabric.names.front(), fabric.names.back(),
                               did_you_mean(*name, fabric.names)));
}

// Nodes with a NIC on the rail, by leaf; rail -1: all nodes.
std::vector<std::uint32_t> nodes_by_leaf(const Scenario& scenario, std::int32_t rail) {
  std::vector<std::uint32_t> counts(scenario.fabric.leaves);
  for (std::uint32_t node = 0; node < scenario.fabric.nodes; ++node)
    if (std::cmp_less(rail, scenario.hardware(node).nics)) ++counts[scenario.leaf_of(node)];
  return counts;
}

// Whether a task between two nodes crosses the fault's part on this rail; -1: on any. A part that
// lacks a key is a problem already.
bool is_crossed(const Scenario& scenario, const Fault& fault, std::int32_t rail) {
  const std::vector<std::uint32_t> counts = nodes_by_leaf(scenario, rail);
  const auto leaves = std::ranges::count_if(counts, [](std::uint32_t nodes) { return nodes > 0; });
  const bool has_two = std::accumulate(counts.begin(), counts.end(), 0U) > 1;
  const auto has = [&](std::int32_t leaf) {
    return leaf < 0 || counts[static_cast<std::size_t>(leaf)] > 0;
  };
  const auto has_nic = [&](std::int32_t node) {
    return node < 0 ||
           std::cmp_less(rail, scenario.hardware(static_cast<std::uint32_t>(node)).nics);
  };
  switch (fault.part) {
    case Part::kPort:
    case Part::kNode:
    case Part::kGpu:
      return true;
    case Part::kRail:
      return has_two;
    case Part::kLeaf:
      return has(fault.leaf) && has_two;
    case Part::kTrunk:
      return has(fault.leaf) && has(fault.to_leaf);
    case Part::kUplink:
      return has(fault.leaf) && leaves > 1;
    case Part::kSpine:
      return leaves > 1;
    case Part::kPair:
      return has_nic(fault.node) && has_nic(fault.to_node);
  }
  return true;
}

void check_crossed(const YamlValue& value, const YamlMap& map, const Scenario& scenario,
                   const Fault& fault) {
  if (is_crossed(scenario, fault, fault.rail)) return;
  std::int32_t rails = 0;
  while (rails < fault.rail && is_crossed(scenario, fault, rails)) ++rails;
  const Fabric& sizes = scenario.fabric;
  const bool is_of_spines = fault.part == Part::kUplink || fault.part == Part::kSpine;
  if (rails > 0)
    map.find("rail")->problem(
        fmt::format("is {0}; allowed: 0 to {1}, since the nodes at both ends of it have {2} NIC{3}",
                    fault.rail, rails - 1, rails, rails == 1 ? "" : "s"));
  else if (is_of_spines && sizes.leaves == 1)
    value.problem("no task crosses a spine, since fabric has 1 leaf; allowed: another kind");
  else
    value.problem(fmt::format(
        "no task crosses it, since fabric has {} node{}; allowed: port, node or gpu, or more nodes",
        sizes.nodes, sizes.nodes == 1 ? "" : "s"));
}

// A part that is bad for a share of time is so in spells.
void read_spells(const YamlMap& map, Fault& fault) {
  read_key(map, kFaultKeys, "hits", fault.hits);
  const YamlValue* spell = map.find("spell");
  if (spell == nullptr) return;
  read_days(map, "spell", fault.spell_ns);
  if (fault.hits >= 1)
    spell->key_problem("nothing flaps without hits below 1; allowed with hits from 0.001 to 0.999");
  else if (fault.spell_ns < kLeastSpellNs)
    spell->problem("is below 10s; allowed: 10s or longer");
  fault.spell_ns = std::max(fault.spell_ns, kLeastSpellNs);
}

}  // namespace

void read_class(const YamlValue& value, const ReadFabric& fabric, Scenario& scenario,
                std::vector<NodeChoice>& chosen) {
  HardwareClass read;
  read.nics = fabric.scenario.fabric.rails;
  const YamlMap map = map_of(value, kClassKeys);
  if (const YamlValue* name = map.find("name"))
    read.name = name->text("the class's name", 64).value_or("");
  read_key(map, kClassKeys, "gpus", read.gpus);
  read_key(map, kClassKeys, "nics", read.nics);
  if (read.nics > fabric.scenario.fabric.rails)
    map.find("nics")->problem(fmt::format("is {}; allowed: 1 to {}, since fabric.rails is {}",
                                          read.nics, fabric.scenario.fabric.rails,
                                          fabric.scenario.fabric.rails));
  read_key(map, kClassKeys, "sockets", read.sockets);
  read_key(map, kClassKeys, "link_layer", read.link_layer);
  read_key(map, kClassKeys, "reaches", read.reaches);
  read_rate_key(map, "nic_rate", read.nic_rate);
  read_rate_key(map, "gpu_rate", read.gpu_rate);
  read_rate_key(map, "pcie_rate", read.pcie_rate);
  read_days(map, "latency", read.latency_ns);
  if (const YamlValue* latency = map.find("latency"); latency != nullptr && read.latency_ns <= 0)
    latency->problem("is 0; allowed: more");
  read_model(map, "cpu_model", read.cpu_model);
  read_model(map, "gpu_model", read.gpu_model);
  read_model(map, "nic_model", read.nic_model);
  read.stack = read_parts(map);
  chosen.push_back(read_nodes(map, kClassKeys, fabric));
  scenario.classes.push_back(std::move(read));
}

// The size is a share of the healthy figure, and of a drift a day's change.
Noise read_noise(const YamlValue& value, const ReadFabric& fabric) {
  Noise noise;
  const YamlMap map = map_of(value, kNoiseKeys);
  check_kind(value, map, noise_kinds());
  read_key(map, kNoiseKeys, "kind", noise.kind);
  read_key(map, kNoiseKeys, "size", noise.size);
  if (const YamlValue* size = map.find("size")) {
    if (noise.size < 0 && noise.kind != NoiseKind::kDrift)
      size->problem("is below 0; allowed with kind: drift alone");
    else if (noise.size > 1 && noise.kind == NoiseKind::kQuantised)
      size->problem("is above 1; allowed: 0 to 1, a share of the healthy figure");
  }
  read_days(map, "span", noise.span_ns);
  if (const YamlValue* span = map.find("span"); span != nullptr && noise.span_ns <= 0)
    span->problem("is 0; allowed: more");
  read_key(map, kNoiseKeys, "share", noise.share);
  read_key(map, kNoiseKeys, "among", noise.among);
  noise.nodes = read_nodes(map, kNoiseKeys, fabric);
  noise.kernels = read_kernels(map);
  return noise;
}

// Each number must be of the fabric or of the class of its node.
Fault read_fault(const YamlValue& value, const ReadFabric& fabric) {
  Fault fault;
  const Fabric& sizes = fabric.scenario.fabric;
  const YamlMap map = map_of(value, kFaultKeys);
  check_kind(value, map, fault_kinds());
  read_key(map, kFaultKeys, "kind", fault.part);
  fault.name = read_text(map, kFaultKeys, "name", "a name");
  read_node(map, "node", fabric, fault.node);
  read_node(map, "to_node", fabric, fault.to_node);
  if (fault.node >= 0) {
    const HardwareClass& hardware =
        fabric.scenario.hardware(static_cast<std::uint32_t>(fault.node));
    read_below(map, "nic", hardware.nics,
               fmt::format("class {} has {} NICs", hardware.name, hardware.nics), fault.nic);
    read_below(map, "gpu", hardware.gpus,
               fmt::format("class {} has {} GPUs", hardware.name, hardware.gpus), fault.gpu);
  }
  read_below(map, "rail", sizes.rails, fmt::format("fabric.rails is {}", sizes.rails), fault.rail);
  const std::string leaves = fmt::format("fabric has {} leaves", sizes.leaves);
  read_below(map, "leaf", sizes.leaves, leaves, fault.leaf);
  read_below(map, "to_leaf", sizes.leaves, leaves, fault.to_leaf);
  read_below(map, "spine", sizes.spines, fmt::format("fabric.spines is {}", sizes.spines),
             fault.spine);
  if (fault.part == Part::kTrunk && fault.leaf >= 0 && fault.leaf == fault.to_leaf)
    map.find("to_leaf")->problem("is the leaf itself; allowed: another one");
  if (fault.part == Part::kPair && fault.node >= 0 && fault.node == fault.to_node)
    map.find("to_node")->problem("is the node itself; allowed: another one");
  check_crossed(value, map, fabric.scenario, fault);
  read_key(map, kFaultKeys, "direction", fault.direction);
  fault.when = read_extent(map, fabric.scenario);
  fault.harm = read_harm(value, map, kFaultKeys);
  read_spells(map, fault);
  return fault;
}

// Without `effect` the stack is new and the figures stay.
StackChange read_change(const YamlValue& value, const ReadFabric& fabric) {
  StackChange change;
  const YamlMap map = map_of(value, kChangeKeys);
  change.name = read_text(map, kChangeKeys, "name", "a name");
  change.nodes = read_nodes(map, kChangeKeys, fabric);
  change.when = read_extent(map, fabric.scenario);
  change.parts = read_parts(map);
  if (map.find("versions") == nullptr && map.find("settings") == nullptr)
    value.problem("changes nothing; allowed: versions, settings or both");
  read_days(map, "reboot", change.reboot_ns);
  const YamlValue* effect = map.find("effect");
  if (effect == nullptr) return change;
  const YamlMap of_effect = map_of(*effect, kEffectKeys);
  change.effect = read_harm(*effect, of_effect, kEffectKeys);
  change.kernels = read_kernels(of_effect);
  change.memory = read_memory(of_effect, kEffectKeys, change.nodes, fabric);
  return change;
}

// A function that is gone: its tasks end with the outcome, and measure nothing.
LostFunction read_loss(const YamlValue& value, const ReadFabric& fabric) {
  LostFunction lost;
  const YamlMap map = map_of(value, kLossKeys);
  lost.nodes = read_nodes(map, kLossKeys, fabric);
  lost.when = read_extent(map, fabric.scenario);
  lost.kernels = read_kernels(map);
  lost.memory = read_memory(map, kLossKeys, lost.nodes, fabric);
  constexpr std::array kOutcomes{"waived", "failed", "crashed"};
  if (const YamlValue* outcome = map.find("outcome"))
    if (const auto word = outcome->text("an outcome")) {
      if (std::ranges::count(kOutcomes, *word) == 0)
        outcome->problem(fmt::format("is {}; allowed: waived, failed, crashed", in_quotes(*word)));
      lost.outcome = *word;
    }
  lost.reason = read_text(map, kLossKeys, "reason", "one line");
  return lost;
}

// `behind` turns a clock back in place of forward.
AgentFault read_agent(const YamlValue& value, const ReadFabric& fabric) {
  AgentFault agent;
  const YamlMap map = map_of(value, kAgentKeys);
  check_kind(value, map, agent_kinds());
  read_key(map, kAgentKeys, "kind", agent.kind);
  agent.nodes = read_nodes(map, kAgentKeys, fabric);
  agent.when = read_extent(map, fabric.scenario);
  read_days(map, "by", agent.by_ns);
  read_days(map, "every", agent.every_ns);
  if (const YamlValue* every = map.find("every"); every != nullptr && agent.every_ns <= agent.by_ns)
    every->problem("is not longer than by; allowed: a longer time");
  bool is_behind = false;
  read_key(map, kAgentKeys, "behind", is_behind);
  if (is_behind) agent.by_ns = -agent.by_ns;
  read_key(map, kAgentKeys, "factor", agent.factor);
  return agent;
}

// A job that comes once has neither `every` nor `length`.
Job read_job(const YamlValue& value, const ReadFabric& fabric) {
  Job job;
  const YamlMap map = map_of(value, kJobKeys);
  if (const std::string name = read_text(map, kJobKeys, "name", "a name"); !name.empty())
    job.name = name;
  job.nodes = read_nodes(map, kJobKeys, fabric);
  job.when = read_extent(map, fabric.scenario);
  read_days(map, "every", job.every_ns);
  read_days(map, "length", job.length_ns);
  const bool repeats = map.find("every") != nullptr;
  if (repeats != (map.find("length") != nullptr))
    value.problem("every and length belong together; allowed: both or none");
  else if (repeats && job.length_ns > job.every_ns)
    value.problem("length is above every; allowed: at most every");
  read_key(map, kJobKeys, "share", job.share);
  return job;
}

}  // namespace railgauge::fleet
