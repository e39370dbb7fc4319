// Elements of a scenario's lists.
#include <array>
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
  // Both cross a spine alone.
  if ((fault.part == Part::kUplink || fault.part == Part::kSpine) && sizes.leaves == 1)
    value.problem("no task crosses a spine, since fabric has 1 leaf; allowed: another kind");
  read_key(map, kFaultKeys, "direction", fault.direction);
  fault.when = read_extent(map, fabric.scenario);
  fault.harm = read_harm(value, map, kFaultKeys);
  read_key(map, kFaultKeys, "hits", fault.hits);
  read_days(map, "spell", fault.spell_ns);
  return fault;
}

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
  read_key(of_effect, kEffectKeys, "memory", change.memory);
  return change;
}

LostFunction read_loss(const YamlValue& value, const ReadFabric& fabric) {
  LostFunction lost;
  const YamlMap map = map_of(value, kLossKeys);
  lost.nodes = read_nodes(map, kLossKeys, fabric);
  lost.when = read_extent(map, fabric.scenario);
  lost.kernels = read_kernels(map);
  read_key(map, kLossKeys, "memory", lost.memory);
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
