// The database as a file: is it sound, where its bytes are, copies of it, and what is taken away
// when it is old.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/store/rows.h"
#include "controller/store/sqlite.h"
#include "kernels/core/result.h"

namespace railgauge::store {

inline constexpr double kDaySeconds = 86'400;

// One line for each problem; empty when the file is sound. Reads every page.
Result<std::vector<std::string>> find_problems(Connection& connection);

// Where the bytes are: tables and indexes, the largest first.
Result<SpaceRow> read_space(Connection& connection);

// Copies the database to `target` while others write to it: a snapshot, compacted, on the disk when
// this returns. kAlreadyExists: `target` is there; it is never overwritten.
Status back_up(const std::string& database, const std::string& target);

// Puts a backup in the database's place, offline; what stood there is kept beside it and named in
// the answer ("" when there was nothing). kFailedPrecondition: a program has the database open, or
// the backup is newer than this program; kDataLoss: the backup is not sound.
Result<std::string> restore(const std::string& backup, const std::string& database);

// --- retention, inside the writer's transactions
// --------------------------------------------------

enum class PruneLevel : std::uint8_t { kRawSamples = 1, kDistributions = 2, kPoints = 3 };

// Runs that were created before `before` and have more than that level leaves; the oldest first.
Result<std::vector<std::int64_t>> runs_to_prune(Connection& connection, PruneLevel level,
                                                double before);
// A run's ranks, ascending.
Result<std::vector<std::int64_t>> ranks_of_run(Connection& connection, std::int64_t run);
// Of these ranks; points go into the roll-up by days first. The answer is the rows taken.
Result<std::int64_t> prune_ranks(Connection& connection, PruneLevel level,
                                 std::span<const std::int64_t> ranks);
// When all its ranks are done.
Status mark_pruned(Connection& connection, PruneLevel level, std::int64_t run);

}  // namespace railgauge::store
