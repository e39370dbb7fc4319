// From what the store holds of an upgrade's two sides to what the pure judge wants. Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/store/rows/judge_rows.h"
#include "controller/store/rows/remark_rows.h"
#include "controller/store/rows/stack_parts.h"
#include "controller/upgrades/series_measure.h"
#include "controller/verdict/causes.h"
#include "controller/verdict/verdict.h"

namespace railgauge {

// A node's stack on both sides.
struct NodeStacks {
  store::StackParts before{};
  store::StackParts after{};
  std::vector<store::StackChange> changes{};
  bool known = false;              // of both sides; else nothing can be said of changes
  bool hardware_replaced = false;  // since the before side
  std::string while_measured{};    // what changed in the middle of a side; "" nothing
};

// Preflight's checks of a node on both sides.
struct NodeChecks {
  std::vector<store::CheckRow> before{};
  std::vector<store::CheckRow> after{};
};

struct UpgradeData {
  store::UpgradeRow upgrade{};
  std::map<std::string, NodeStacks> stacks{};        // by node
  std::vector<store::EndpointStateRow> endpoints{};  // of the changed nodes, now
  std::map<std::int64_t, store::SeriesRow> series{};
  std::vector<store::SidePointRow> before{};
  std::vector<store::SidePointRow> after{};
  std::vector<store::SideTaskRow> tasks_before{};
  std::vector<store::SideTaskRow> tasks_after{};
  std::map<std::string, NodeChecks> checks{};  // by changed node
  std::map<std::string, double> bounds{};      // that the suite states for itself
  double min_coverage = 1;                     // of the changed pairs, that a pass must rest on
  bool tried_before = false;                   // another after side was measured since the change
};

// The two kinds of nodes that a verdict rests on, by name.
struct NodeRoles {
  std::set<std::string> changed{};
  std::set<std::string> controls{};
  [[nodiscard]] bool has(const std::string& node) const {
    return changed.contains(node) || controls.contains(node);
  }
};

inline constexpr std::size_t kRunsASide = 5;
// Nights are few: in two weeks a suite that measures a seventh of all pairs a night has two of
// each.
inline constexpr std::size_t kHistoryRunsBefore = 2;

// Railgauge's own version: named, never an upgrade of the node.
inline constexpr std::string_view kOwnPart = "railgauge";

// A NIC or GPU is another than before: a suspect like a part of the stack.
inline constexpr std::string_view kHardwareReplaced = "hardware replaced";

// Whether the endpoint cannot be used now: it is not there, or not active.
bool is_away(const store::EndpointStateRow& endpoint);

// The names, and the ids, of the nodes that the upgrade changed.
std::set<std::string> changed_names(const store::UpgradeRow& upgrade);
std::set<std::string> changed_ids(const store::UpgradeRow& upgrade);

// Changed nodes, and controls that took part on the after side, whose stack did not change in
// between; other nodes are neither.
std::set<std::string> changed_nodes(const UpgradeData& sides);
// and that kept working.
std::set<std::string> control_nodes(const UpgradeData& sides);
// Controls that would be such, but stopped working while the after side was measured.
std::set<std::string> lost_controls(const UpgradeData& sides);
// Nodes without a task on the after side, where that has any: busy or away at that time.
std::set<std::string> absent_nodes(const UpgradeData& sides);

// Whether the changed nodes have the stack of the before side: it came back.
bool is_same_stack(const UpgradeData& sides);

// The series' pair as the judge wants it, without figures; absent where a node is of neither kind.
std::optional<analysis::PairRuns> pair_of(const store::SeriesRow& series, const NodeRoles& roles);

// Everything that either side measured, on the nodes of the two kinds.
analysis::UpgradeRuns runs_of(const UpgradeData& sides);

// Changes of a stack without Railgauge's own version.
std::vector<store::StackChange> foreign_changes(std::vector<store::StackChange> changes);

// Those also without the parameters of a module that was loaded or left: the first who needs it
// loads it, and the node's stack is the same.
std::vector<store::StackChange> lasting_changes(std::vector<store::StackChange> changes);

// Which nodes have which changes, without Railgauge's own version, which is never blamed.
std::vector<analysis::ExposedNode> exposure_of(const UpgradeData& sides,
                                               const std::set<std::string>& worse);

// The part of "linux_kernel 6.1 -> 6.5": "linux_kernel".
std::string part_of(const std::string& change);
}  // namespace railgauge
