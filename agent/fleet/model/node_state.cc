#include "agent/fleet/model/node_state.h"

#include <algorithm>

#include "agent/fleet/model/keyed_random.h"

namespace railgauge::fleet {
namespace {

// The stack of a node whose class names no other.
const StackParts& usual_stack() {
  static const StackParts usual{.versions = {{"bios", "1.0"},
                                             {"cuda", "12.4"},
                                             {"gpu_driver", "550.54.15"},
                                             {"gpu_vbios", "96.00.89.00.01"},
                                             {"linux_kernel", "6.8.0-48-generic"},
                                             {"nccl", "2.21.5"},
                                             {"nic_firmware", "28.39.1002"},
                                             {"ofed", "MLNX_OFED_LINUX-24.10-0.7.0.0"},
                                             {"rdma_core", "2410mlnx54"},
                                             {"ucx", "1.17.0"}},
                                .settings = {{"acs", "0"},
                                             {"kernel_command_line", "iommu=pt"},
                                             {"max_read_request_bytes", "4096"},
                                             {"peermem", "1"},
                                             {"relaxed_ordering", "1"}}};
  return usual;
}

// Newer parts win.
void merge(const StackParts& newer, StackParts& into) {
  for (const auto& [key, value] : newer.versions) into.versions[key] = value;
  for (const auto& [key, value] : newer.settings) into.settings[key] = value;
}

// A stretch in which an agent is away, by its number from 0.
struct Absence {
  std::uint32_t number = 0;
  Nanoseconds end_ns = 0;
  bool is_now = false;
};

// `every_ns` 0: it is away once.
Absence absence(const Extent& when, Nanoseconds away_ns, Nanoseconds every_ns,
                Nanoseconds time_ns) {
  Absence out;
  if (time_ns < when.begin_ns) return out;
  const Nanoseconds last = std::min(time_ns, when.end_ns - 1) - when.begin_ns;
  const Nanoseconds number = every_ns > 0 ? last / every_ns : 0;
  out.number = static_cast<std::uint32_t>(number + 1);
  out.end_ns = when.begin_ns + number * every_ns + away_ns;
  out.is_now = time_ns < out.end_ns;
  return out;
}

// Each reboot before now is one more start of the agent.
void reboot(const Absence& absent, AgentState& state) {
  state.starts += absent.number;
  if (!absent.is_now) return;
  state.is_there = false;
  state.back_at_ns = std::max(state.back_at_ns, absent.end_ns);
}

// One fault of the agent at a time; several add up.
void apply(const AgentFault& fault, Nanoseconds time_ns, AgentState& state) {
  if (fault.kind == AgentKind::kRebooting)
    return reboot(absence(fault.when, fault.by_ns, fault.every_ns, time_ns), state);
  if (!fault.when.covers(time_ns)) return;
  switch (fault.kind) {
    case AgentKind::kLost:
      state.is_there = false;
      state.back_at_ns = std::max(state.back_at_ns, fault.when.end_ns);
      break;
    case AgentKind::kLate:
      state.late_ns += fault.by_ns;
      break;
    case AgentKind::kWedged:
      state.is_wedged = true;
      break;
    case AgentKind::kLying:
      state.flatters *= fault.factor;
      break;
    case AgentKind::kSkewed:
      state.clock_ahead_ns += fault.by_ns;
      break;
    case AgentKind::kRebooting:
      break;
  }
}

}  // namespace

// Changes are sorted by their begin, so that the newest wins.
StackParts stack_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns) {
  StackParts stack = usual_stack();
  const HardwareClass& hardware = scenario.hardware(node);
  stack.settings["mtu_bytes"] = hardware.link_layer == LinkLayer::kEthernet ? "9000" : "4092";
  merge(hardware.stack, stack);
  for (const StackChange& change : scenario.changes)
    if (change.nodes.has(node) && change.when.covers(time_ns)) merge(change.parts, stack);
  return stack;
}

// A change of the stack may have a reboot of its own.
AgentState agent_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns) {
  AgentState state;
  for (const AgentFault& fault : scenario.agents)
    if (fault.nodes.has(node)) apply(fault, time_ns, state);
  for (const StackChange& change : scenario.changes)
    if (change.reboot_ns > 0 && change.nodes.has(node))
      reboot(absence(change.when, change.reboot_ns, 0, time_ns), state);
  return state;
}

std::optional<std::string> job_at(const Scenario& scenario, std::uint32_t node,
                                  Nanoseconds time_ns) {
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const Job& job = scenario.jobs[i];
    if (!job.nodes.has(node) || !job.when.covers(time_ns)) continue;
    const Nanoseconds since = time_ns - job.when.begin_ns;
    if (job.every_ns > 0 && since % job.every_ns >= job.length_ns) continue;
    const std::int64_t occurrence = job.every_ns > 0 ? since / job.every_ns : 0;
    const DrawKey draw = DrawKey(scenario.seed)
                             .with("job")
                             .with(std::uint64_t{i})
                             .with(occurrence)
                             .with(std::uint64_t{node});
    if (draw.uniform() < job.share) return job.name;
  }
  return std::nullopt;
}

// Drawn once a spell: a part that flaps is bad or good for a while, for every task alike.
bool is_there(const Scenario& scenario, std::size_t fault, Nanoseconds time_ns) {
  const Fault& own = scenario.faults[fault];
  if (!own.when.covers(time_ns)) return false;
  if (own.hits >= 1) return true;
  const DrawKey draw =
      DrawKey(scenario.seed).with("fault").with(std::uint64_t{fault}).with(time_ns / own.spell_ns);
  return draw.uniform() < own.hits;
}

bool is_link_down(const Scenario& scenario, std::uint32_t node, std::int32_t nic,
                  Nanoseconds time_ns) {
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    const Fault& fault = scenario.faults[i];
    const bool is_its =
        fault.part == Part::kNode || (fault.part == Part::kPort && fault.nic == nic);
    if (is_its && fault.harm.takes >= 1 && std::cmp_equal(fault.node, node) &&
        is_there(scenario, i, time_ns))
      return true;
  }
  return false;
}

}  // namespace railgauge::fleet
