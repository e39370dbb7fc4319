// Which of a node's endpoints the tasks of a stage use. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/plan/planner.h"
#include "controller/plan/suite/suite.h"

namespace railgauge::plan {

// An endpoint for a task, or why there is none.
struct Choice {
  std::string endpoint{};
  std::string gpu{};  // "gpu3": whose memory the ranks on a NIC port use; "" where none is chosen
  std::string distance{};  // between the two: a word of kPciDistances, or "unknown"
  std::string reason{};    // not empty: there is none
  double rate_bits_per_second = 0;
};

// Of the kind that the kernel runs on: one, or with `each` as many as the node has; at least one,
// for the reason. With loopback: all, each: gpu_nic is every GPU with every NIC port, GPU by GPU,
// and gpu every GPU with the nearest active port. Active ones come first, then by slot.
std::vector<Choice> choose_endpoints(const PlanNode& node, const std::string& kind,
                                     const Placement& placement);

}  // namespace railgauge::plan
