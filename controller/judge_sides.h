// From what the store holds of an upgrade's two sides to what the pure judge wants. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/analysis/causes.h"
#include "controller/analysis/verdict.h"
#include "controller/store/judge_rows.h"

namespace railgauge {

// A node's stack on both sides.
struct NodeStacks {
  store::StackParts before{};
  store::StackParts after{};
  std::vector<std::string> changes{};  // "linux_kernel 6.1 -> 6.5"
  bool hardware_replaced = false;      // since the before side
};

struct Sides {
  store::UpgradeRow upgrade{};
  std::map<std::string, NodeStacks> stacks{};        // by node
  std::vector<store::EndpointStateRow> endpoints{};  // of the changed nodes, now
  std::map<std::int64_t, store::SeriesRow> series{};
  std::vector<store::SidePointRow> before{};
  std::vector<store::SidePointRow> after{};
  std::vector<store::SideTaskRow> tasks_before{};
  std::vector<store::SideTaskRow> tasks_after{};
};

inline constexpr std::size_t kRunsASide = 5;
inline constexpr std::size_t kHistoryRunsASide = 3;  // nights are few

// Changed nodes, and controls whose stack did not change in between; other nodes are neither.
std::set<std::string> changed_nodes(const Sides& sides);
std::set<std::string> control_nodes(const Sides& sides);

// Everything that either side measured, on the nodes of the two kinds.
analysis::UpgradeRuns runs_of(const Sides& sides);

// Which nodes have which changes, without Railgauge's own version, which is never blamed.
std::vector<analysis::ExposedNode> exposure_of(const Sides& sides,
                                               const std::set<std::string>& worse);

// The part of "linux_kernel 6.1 -> 6.5": "linux_kernel".
std::string part_of(const std::string& change);
// What a series measures, without where: "verbs.write_lat latency_ns 8 B".
std::string metric_text(const store::SeriesRow& series, const std::string& statistic);

}  // namespace railgauge
