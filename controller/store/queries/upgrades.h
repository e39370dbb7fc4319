// Writes and reads upgrades, the figures of their sides, and baselines. The writers run inside the
// writer's transaction, the readers inside a snapshot.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/store/rows/judge_rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

inline constexpr std::uint32_t kBaselinePoints = 20;  // newest points whose median is a level

// Stores a new upgrade. kAlreadyExists: the id is taken. kNotFound: no such node or run.
Status write_upgrade(Connection& connection, const UpgradeRow& upgrade);
// Adds a run to the after side; with `anew`, earlier runs of that side no longer count. The nodes'
// present stacks become their stacks of the after side. kNotFound: no such upgrade or run.
Status write_upgrade_after(Connection& connection, std::string_view upgrade_id,
                           std::string_view run_id, bool anew);
// The same, with the text of the terms by which the after side is judged as the upgrade's report
// until its verdict.
Status write_upgrade_after_on(Connection& connection, std::string_view upgrade_id,
                              std::string_view run_id, bool anew, const std::string& terms);
// Replaces the terms of an after side that has no verdict yet.
Status write_upgrade_terms(Connection& connection, std::string_view upgrade_id,
                           const std::string& terms);
// Stores verdict, kind, reason, time and report of `upgrade` and marks it as judged. kNotFound: no
// such upgrade.
Status write_upgrade_verdict(Connection& connection, const UpgradeRow& upgrade);

// Returns upgrades, newest first, with nodes and runs, without reports.
Result<std::vector<UpgradeRow>> read_upgrades(Connection& connection, std::uint32_t limit);
Result<UpgradeRow> read_upgrade(Connection& connection, std::string_view upgrade_id);  // kNotFound

// Returns the parts of one stack; they outlive its epochs. kNotFound: no such stack.
Result<StackParts> read_stack_parts(Connection& connection, std::int64_t stack);
// Returns the exact text of the run's suite. kNotFound: no such run.
Result<std::string> read_suite_text(Connection& connection, std::string_view run_id);
// Returns the ids of the nodes whose stack became another one at `since` or later; unix seconds.
// Mostly none: who looks at all nodes' stacks asks first. Each cause counts, also Railgauge's own
// new version and hardware that was replaced.
Result<std::set<std::string>> read_changed_nodes(Connection& connection, double since);
// Returns the node's epochs, newest first. kNotFound: no such node.
Result<std::vector<EpochRow>> read_epochs(Connection& connection, std::string_view node_id,
                                          std::uint32_t limit);
// Returns the states of the nodes' NIC ports and GPUs.
Result<std::vector<EndpointStateRow>> read_endpoint_states(
    Connection& connection, const std::vector<std::string>& node_ids);
// Returns the newest `limit` runs with at least one of the nodes, oldest first; they were created
// at or after `from` and ended before `until` (unix seconds).
Result<std::vector<std::string>> read_runs_of_nodes(Connection& connection,
                                                    const std::vector<std::string>& node_ids,
                                                    double from, double until, std::uint32_t limit);
// Returns points of attempts that count and passed, sorted by series, then by time. With
// `node_ids`, only points of tasks among these nodes: nightly runs measure the whole fabric.
Result<std::vector<SidePointRow>> read_side_points(Connection& connection,
                                                   const std::vector<std::string>& run_ids,
                                                   const std::vector<std::string>& node_ids = {});
Result<std::vector<SideTaskRow>> read_side_tasks(Connection& connection,
                                                 const std::vector<std::string>& run_ids,
                                                 const std::vector<std::string>& node_ids = {});

// Sets a series' baseline, in place of an earlier one. A `level` of 0 becomes the median of the
// series' newest kBaselinePoints; kNotFound: such a series has no points, or does not exist.
Status write_baseline(Connection& connection, const BaselineRow& baseline);
// Sets all baselines or none. Among several, a series without points is left out.
Status write_baselines(Connection& connection, const std::vector<BaselineRow>& baselines);
// Returns baselines of a kind ("": any), by series, golden before accepted.
Result<std::vector<BaselineRow>> read_baselines(Connection& connection, std::string_view kind);

}  // namespace railgauge::store
