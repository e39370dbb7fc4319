// The state of a scenario's nodes at a time: stack, agent, jobs, links. Pure; thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/fleet/scenario/scenario.h"

namespace railgauge::fleet {

// All versions and settings of a node: the language's defaults, then those of its class, then the
// changes that hold, in the order of their begins.
StackParts stack_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns);

// How an agent behaves.
struct AgentState {
  // False: it is lost or reboots.
  bool is_there = true;
  // It keeps its stream and does nothing more.
  bool is_wedged = false;
  Nanoseconds late_ns = 0;
  // How far its clock is ahead; negative: behind.
  Nanoseconds clock_ahead_ns = 0;
  // Factor by which the figures that it reports are better than the truth.
  double flatters = 1;
  // Number of its starts before now; the first one is 0.
  std::uint32_t starts = 0;
  // When it comes back, where it reboots.
  Nanoseconds back_at_ns = 0;
};
AgentState agent_at(const Scenario& scenario, std::uint32_t node, Nanoseconds time_ns);

// The job that keeps the node busy; absent for none.
std::optional<std::string> job_at(const Scenario& scenario, std::uint32_t node,
                                  Nanoseconds time_ns);

// Whether the fault is there now. A part that flaps is bad or good for a whole spell, for all
// tasks, events and hellos alike.
bool is_there(const Scenario& scenario, std::size_t fault, Nanoseconds time_ns);

// Whether the link of a NIC is down, by a fault of its port or node that takes all bandwidth.
bool is_link_down(const Scenario& scenario, std::uint32_t node, std::int32_t nic,
                  Nanoseconds time_ns);

}  // namespace railgauge::fleet
