// Nodes without their facts and endpoints, which take seconds for thousands of nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/store/rows/stack_parts.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

struct NodeHeadRow {
  std::string name{};
  std::int64_t stack = 0;  // present; 0: it has reported none
};

// By name; of several nodes that had a name, the one seen last.
Result<std::vector<NodeHeadRow>> read_node_heads(Connection& connection);
// Without parts where there is no such stack.
Result<StackParts> read_stack(Connection& connection, std::int64_t stack);

}  // namespace railgauge::store
