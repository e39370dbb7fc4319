// The facts of an upgrade's two sides, and their conversion to the input of the pure judge. Pure;
// thread safe.
#pragma once

#include <functional>
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

// A node's stack on both sides, with the changes between.
struct NodeStacks {
  store::StackParts before{};
  store::StackParts after{};
  std::vector<store::StackChange> changes{};
  // Whether both sides are known; else no statement about changes is possible.
  bool known = false;
  // Whether a device was replaced since the before side.
  bool hardware_replaced = false;
  // The change in the middle of a side, which makes its figures belong to two stacks; "" for none.
  std::string while_measured{};
};

// Preflight's checks of a node on both sides; empty: not known.
struct NodeChecks {
  std::vector<store::CheckRow> before{};
  std::vector<store::CheckRow> after{};
};

// All facts that a verdict rests on, as the store has them.
struct UpgradeData {
  store::UpgradeRow upgrade{};
  // By node name.
  std::map<std::string, NodeStacks> stacks{};
  // Endpoints of the changed nodes as they are now.
  std::vector<store::EndpointStateRow> endpoints{};
  // The series of all points below, by id.
  std::map<std::int64_t, store::SeriesRow> series{};
  std::vector<store::SidePointRow> before{};
  std::vector<store::SidePointRow> after{};
  std::vector<store::SideTaskRow> tasks_before{};
  std::vector<store::SideTaskRow> tasks_after{};
  // By the name of a changed node.
  std::map<std::string, NodeChecks> checks{};
  // Practical bounds that the suite states itself: fractions by statistic.
  std::map<std::string, double> bounds{};
  // The share of the changed pairs that a pass must rest on, 0 to 1.
  double min_coverage = 1;
  // Nights whose levels of parts gave figures of the before side (level_figures.h); 0: none.
  std::size_t nights_of_levels = 0;
  // Whether another after side was measured since the change; a repeated look needs stricter
  // intervals.
  bool tried_before = false;
};

// The two kinds of nodes that a verdict rests on, by name.
struct NodeRoles {
  std::set<std::string> changed{};
  std::set<std::string> controls{};
  [[nodiscard]] bool has(const std::string& node) const {
    return changed.contains(node) || controls.contains(node);
  }
};

// Launches that a side needs for a statement about one pair.
inline constexpr std::size_t kRunsASide = 5;
// Launches that suffice where the suite asks for so few.
inline constexpr std::size_t kLeastRunsASide = 3;
// Launches that the before side needs where it is history. Nights are few: in two weeks a suite
// that measures a seventh of all pairs a night has two of each.
inline constexpr std::size_t kHistoryRunsBefore = 2;

// The stack's part that is Railgauge's own version: it is named and never an upgrade of the node.
inline constexpr std::string_view kOwnPart = "railgauge";

// The suspect that a NIC or GPU is another device than before.
inline constexpr std::string_view kHardwareReplaced = "hardware replaced";

// Reports whether the endpoint cannot be used now: it is not there, or not active.
bool is_away(const store::EndpointStateRow& endpoint);

// The nodes that the upgrade changed; their names, and their ids.
std::vector<std::reference_wrapper<const store::UpgradeNodeRow>> changed_nodes(
    const store::UpgradeRow& upgrade);
std::set<std::string> changed_names(const store::UpgradeRow& upgrade);
std::set<std::string> changed_ids(const store::UpgradeRow& upgrade);

// Nodes that took part on the after side, whose stack did not change in between, and that kept
// working. Other nodes are neither changed nor controls.
std::set<std::string> control_nodes(const UpgradeData& sides);
// Nodes that would be controls but stopped working while the after side was measured.
std::set<std::string> lost_controls(const UpgradeData& sides);
// Nodes without a task on the after side, where that side has any: they were busy or away.
std::set<std::string> absent_nodes(const UpgradeData& sides);

// Reports whether the changed nodes have the stack of the before side again.
bool is_same_stack(const UpgradeData& sides);

// The series' pair without figures, the changed end first; absent where a node has no role.
std::optional<analysis::PairRuns> pair_of(const store::SeriesRow& series, const NodeRoles& roles);

// The revisions of a kernel: the newest of the after side, and the newest other one before.
struct Revisions {
  std::uint32_t before = 0;
  std::uint32_t after = 0;
};
// Kernels that the before side measured by another revision, and by that of the after side too
// seldom to compare, by name. Another revision is another method, so that its figures form other
// series and are not compared.
std::map<std::string, Revisions> revised_kernels(const UpgradeData& sides);

// The judge's input: all that either side measured on nodes with a role, without the figures of
// revised kernels.
analysis::UpgradeRuns runs_of(const UpgradeData& sides);

// The changes without Railgauge's own version.
std::vector<store::StackChange> foreign_changes(std::vector<store::StackChange> changes);

// The changes also without parameters of a module that was loaded or left: the first program that
// needs the module loads it, and the node's stack is the same.
std::vector<store::StackChange> lasting_changes(std::vector<store::StackChange> changes);

// Which nodes have which changes, and whether they are in `worse`. Railgauge's own version is left
// out.
std::vector<analysis::ExposedNode> exposure_of(const UpgradeData& sides,
                                               const std::set<std::string>& worse);

// The part of "linux_kernel 6.1 -> 6.5": "linux_kernel".
std::string part_of(const std::string& change);
}  // namespace railgauge
