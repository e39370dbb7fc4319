// A node of the contract as the store keeps it. Pure.
#pragma once

#include "controller/store/rows/rows.h"

namespace railgauge::fleet {

struct NodeState;

store::NodeRow row_of(const NodeState& node);
// One that is lost, as it was when it was last seen, without what only a plan of one node wants (a
// GPU's distances).
NodeState state_of(const store::NodeRow& row);

}  // namespace railgauge::fleet
