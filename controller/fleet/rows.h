// A node of the contract as the store keeps it. Pure.
#pragma once

#include "controller/store/rows.h"

namespace railgauge::fleet {

struct NodeState;

store::NodeRow row_of(const NodeState& node);

}  // namespace railgauge::fleet
