// Writes and reads upgrades, what their sides measured, and baselines. The writers run inside the
// writer's transaction, the readers inside a snapshot.
#pragma once

#include <string_view>
#include <vector>

#include "controller/store/rows/judge_rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// The number of newest points whose median is a level.
inline constexpr std::uint32_t kBaselinePoints = 20;

// kAlreadyExists: the id is taken; kNotFound: no such node or run.
Status write_upgrade(Connection& connection, const UpgradeRow& upgrade);
// A run of the after side. `anew`: those before it do not count any more. The nodes' present stacks
// become what they have after. kNotFound.
Status write_upgrade_after(Connection& connection, std::string_view upgrade_id,
                           std::string_view run_id, bool anew);
// Verdict, kind, reason, time and report of `upgrade`, which is judged then. kNotFound.
Status write_upgrade_verdict(Connection& connection, const UpgradeRow& upgrade);

// Newest first, with nodes and runs, without reports.
Result<std::vector<UpgradeRow>> read_upgrades(Connection& connection, std::uint32_t limit);
// kNotFound: there is none.
Result<UpgradeRow> read_upgrade(Connection& connection, std::string_view upgrade_id);

// The parts of one stack, which outlive the epochs that had it. kNotFound.
Result<StackParts> read_stack_parts(Connection& connection, std::int64_t stack);
// The exact text of the run's suite. kNotFound.
Result<std::string> read_suite_text(Connection& connection, std::string_view run_id);
// Newest first. kNotFound: no such node.
Result<std::vector<EpochRow>> read_epochs(Connection& connection, std::string_view node_id,
                                          std::uint32_t limit);
// NIC ports and GPUs of the nodes.
Result<std::vector<EndpointStateRow>> read_endpoint_states(
    Connection& connection, const std::vector<std::string>& node_ids);
// Runs that one of the nodes took part in, created from `from` on and ended before `until`, the
// newest `limit`, oldest first.
Result<std::vector<std::string>> read_runs_of_nodes(Connection& connection,
                                                    const std::vector<std::string>& node_ids,
                                                    double from, double until, std::uint32_t limit);
// Points of attempts that count and passed, by series, then by time. With `node_ids` only those of
// tasks that no other node took part in, because nights measure the whole fabric.
Result<std::vector<SidePointRow>> read_side_points(Connection& connection,
                                                   const std::vector<std::string>& run_ids,
                                                   const std::vector<std::string>& node_ids = {});
Result<std::vector<SideTaskRow>> read_side_tasks(Connection& connection,
                                                 const std::vector<std::string>& run_ids,
                                                 const std::vector<std::string>& node_ids = {});

// Replaces what was set before. `level` of 0 is the median of the series' newest kBaselinePoints.
// kNotFound: no such series, or no points.
Status write_baseline(Connection& connection, const BaselineRow& baseline);
// All of them or none. Among several, a series without points is left out.
Status write_baselines(Connection& connection, const std::vector<BaselineRow>& baselines);
// By series, golden before accepted; "" is any kind.
Result<std::vector<BaselineRow>> read_baselines(Connection& connection, std::string_view kind);

}  // namespace railgauge::store
