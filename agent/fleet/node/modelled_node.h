// A node of a scenario as an agent would describe it: its inventory, from which the agents' own
// code makes hello, stack and preflight. All of it is marked synthetic. Pure; thread safe.
#pragma once

#include <cstdint>

#include "agent/fleet/scenario/scenario.h"
#include "agent/inventory/facts/inventory.h"
#include "controller/api/agent.pb.h"

namespace railgauge::fleet {

// The word that marks what a modelled node says.
inline constexpr const char* kSynthetic = "synthetic";

// The facts of a node at a time. GPU g and NIC g * nics / gpus are below one PCIe switch. Facts
// that a scenario does not declare are those of a healthy node.
agent::Inventory inventory_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns);

// The node's own clock, in seconds since 1970: an agent whose clock is skewed is wrong about it.
double clock_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns);

// Sets `busy` to the job that keeps the node busy, or clears it.
void fill_busy(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns,
               api::BusyState& busy);

// The hello of the node's agent, without kernels, contract version and running tasks. Node id and
// incarnation follow from the seed; a reboot changes the incarnation. The facts `leaf` and `pod`
// are the node's labels too, from which a site profile with `topology: {source: labels}` has the
// leaves.
api::Hello hello_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns);

// The node's answer to a preflight order: all checks on its inventory.
api::PreflightAnswer preflight_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns,
                                  const api::PreflightOrder& order);

}  // namespace railgauge::fleet
