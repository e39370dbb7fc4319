// Parts of the scenario reader. Each reads one mapping and adds a problem for every value that does
// not fit; scenario.h has the results. One thread reads a scenario.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/fleet/scenario/scenario.h"
#include "agent/fleet/scenario/scenario_keys.h"

namespace railgauge::fleet {

// The part of the whole that the others refer to: the fabric is read before them.
struct ReadFabric {
  const Scenario& scenario;
  // All names, by node.
  std::vector<std::string> names{};
};

// Reads a time: a duration since the begin with the units of suites and d for days, or, where
// `begin_unix_seconds` is given, a date after it. Absent, with a problem, for anything else.
std::optional<Nanoseconds> read_time(const plan::YamlValue& value,
                                     std::optional<double> begin_unix_seconds);
// Sets `to` to the value of a key that is a duration, as read_time() without dates.
void read_days(const plan::YamlMap& map, std::string_view key, Nanoseconds& to);
void read_days(const plan::YamlMap& map, std::string_view key, double& to_ns);

// Reads the keys begin and end. An end that is not after the begin is a problem.
Extent read_extent(const plan::YamlMap& map, const Scenario& scenario);
// Reads the key nodes; all nodes without it.
NodeChoice read_nodes(const plan::YamlMap& map, const plan::KeyTable& table,
                      const ReadFabric& fabric);
// Reads the key kernels; all kernels without it. A word that is none is a problem.
KernelChoice read_kernels(const plan::YamlMap& map);
// Reads the key memory. GPU memory where none of the nodes has a GPU is a problem.
MemoryChoice read_memory(const plan::YamlMap& map, const plan::KeyTable& table,
                         const NodeChoice& nodes, const ReadFabric& fabric);
// Reads the keys of a Harm. None of them, or stall without stall_every, is a problem of `value`; a
// harm of 0 is one of its key.
Harm read_harm(const plan::YamlValue& value, const plan::YamlMap& map, const plan::KeyTable& table);
// Reads the keys versions and settings.
StackParts read_parts(const plan::YamlMap& map);

// Checks the keys that depend on the kind of `value`: those that the kind requires, and those that
// other kinds alone take.
void check_kind(const plan::YamlValue& value, const plan::YamlMap& map,
                std::span<const KindKeys> kinds);

// Read one element of a list.
void read_class(const plan::YamlValue& value, const ReadFabric& fabric, Scenario& scenario,
                std::vector<NodeChoice>& chosen);
Noise read_noise(const plan::YamlValue& value, const ReadFabric& fabric);
Fault read_fault(const plan::YamlValue& value, const ReadFabric& fabric);
StackChange read_change(const plan::YamlValue& value, const ReadFabric& fabric);
LostFunction read_loss(const plan::YamlValue& value, const ReadFabric& fabric);
AgentFault read_agent(const plan::YamlValue& value, const ReadFabric& fabric);
Job read_job(const plan::YamlValue& value, const ReadFabric& fabric);

}  // namespace railgauge::fleet
