// Upkeep of the database from inside: integrity, space by table, and deletion of old data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/store/rows/rows.h"
#include "controller/store/sqlite/sqlite.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

inline constexpr double kDaySeconds = 86'400;

// One line for each problem; empty if the file is sound. Reads every page.
Result<std::vector<std::string>> find_problems(Connection& connection);

// The bytes of each table and index, the largest first.
Result<SpaceRow> read_space(Connection& connection);

// --- retention, inside the writer's transactions -----------------------------------------------

// The data that a pruning deletes, in the order of age.
enum class PruneLevel : std::uint8_t { kRawSamples = 1, kDistributions = 2, kPoints = 3 };

// Runs that were created before `before`, that have more data than the level keeps, and that have
// no newer data up to `now`; the oldest first.
Result<std::vector<std::int64_t>> runs_to_prune(Connection& connection, PruneLevel level,
                                                double before, double now);
// All ended runs that have more data than the level keeps.
Result<double> count_prunable_runs(Connection& connection, PruneLevel level);
// A run's ranks, ascending.
Result<std::vector<std::int64_t>> ranks_of_run(Connection& connection, std::int64_t run);
// Deletes rows of these ranks of a run, ascending from call to call. Points go into the roll-up by
// days first, once. Returns the number of deleted rows.
Result<std::int64_t> prune_ranks(Connection& connection, PruneLevel level, std::int64_t run,
                                 std::span<const std::int64_t> ranks);
// Call it when all ranks of the run are done. The levels of the run's parts go with its
// distributions.
Status mark_pruned(Connection& connection, PruneLevel level, std::int64_t run);

}  // namespace railgauge::store
