// The database from inside: is it sound, where its bytes are, and what is taken away when it is
// old.
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

// One line for each problem; empty when the file is sound. Reads every page.
Result<std::vector<std::string>> find_problems(Connection& connection);

// Where the bytes are: tables and indexes, the largest first.
Result<SpaceRow> read_space(Connection& connection);

// --- retention, inside the writer's transactions
// --------------------------------------------------

enum class PruneLevel : std::uint8_t { kRawSamples = 1, kDistributions = 2, kPoints = 3 };

// Runs that were created before `before`, have more than that level leaves, and of which nothing up
// to `now` says that they are younger; the oldest first.
Result<std::vector<std::int64_t>> runs_to_prune(Connection& connection, PruneLevel level,
                                                double before, double now);
// All ended runs that have more than that level leaves.
Result<double> count_prunable_runs(Connection& connection, PruneLevel level);
// A run's ranks, ascending.
Result<std::vector<std::int64_t>> ranks_of_run(Connection& connection, std::int64_t run);
// Deletes rows of these ranks; points go into the roll-up by days first. Returns the rows deleted.
Result<std::int64_t> prune_ranks(Connection& connection, PruneLevel level,
                                 std::span<const std::int64_t> ranks);
// When all its ranks are done.
Status mark_pruned(Connection& connection, PruneLevel level, std::int64_t run);

}  // namespace railgauge::store
