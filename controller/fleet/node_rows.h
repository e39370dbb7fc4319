// Converts between a live node and its row in the store. Pure.
#pragma once

#include "controller/store/rows/rows.h"

namespace railgauge::fleet {

struct NodeState;

store::NodeRow row_of(const NodeState& node);
// The node as lost, in its last seen state. Data that only a plan of a single node needs (a GPU's
// distances) is absent.
NodeState state_of(const store::NodeRow& row);

}  // namespace railgauge::fleet
