// The parts of the fabric that a task's data crosses. Pure; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/fleet/scenario/kernel_shapes.h"
#include "agent/fleet/scenario/scenario.h"

namespace railgauge::fleet {

// An end of data: a NIC of a node, and the GPU whose memory it uses; -1: the host's memory.
struct Place {
  std::uint32_t node = 0;
  std::int32_t nic = 0;
  std::int32_t gpu = -1;
  bool operator==(const Place&) const = default;
};

// Data in one direction.
struct Flow {
  Place from{};
  Place to{};
  // False: it stays inside a node and meets no NIC.
  bool on_wire = true;
  // Spine that it takes between two leaves.
  std::uint32_t spine = 0;
};

// The flows of a task with these ranks, in rank order. `root`: of the routes that have one; `seed`
// draws the spine of each flow. Empty for kAllToAll, whose flows crosses_all() knows.
std::vector<Flow> flows_of(const Scenario& scenario, Route route, std::span<const Place> ranks,
                           std::uint32_t root, std::uint64_t seed);

// Whether the flow crosses the fault's part in a direction that is faulty.
bool crosses(const Scenario& scenario, const Fault& fault, const Flow& flow);
// The same for a flow from each of the ranks to each other one.
bool crosses_all(const Scenario& scenario, const Fault& fault, std::span<const Place> ranks);

// Whether a flow of the task is between two leaves.
bool leaves_leaf(const Scenario& scenario, const Flow& flow);

}  // namespace railgauge::fleet
