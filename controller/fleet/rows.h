// A node of the contract as the store keeps it and the planner takes it. Pure.
#pragma once

#include "controller/plan/planner.h"
#include "controller/store/rows.h"

namespace railgauge::fleet {

struct NodeState;

store::NodeRow row_of(const NodeState& node);
plan::PlanNode plan_node_of(const NodeState& node);

}  // namespace railgauge::fleet
