// All-pairs matrices: one compressed blob of float32 for each (run, rail, kernel, metric, size),
// with only the outlier pairs as rows: a full sweep over 1,000 nodes would be 4 million points.
// Beside them are the levels of the fabric's parts that were made of a run's matrices: one
// compressed blob for each (run, kernel, metric, meaning, size).
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// Bound of a matrix: 576 MiB before compression, in memory while it is stored or read as a whole.
inline constexpr std::size_t kMaxMatrixEndpoints = 12'288;

// Rows of a matrix with an overview that are compressed together.
inline constexpr std::size_t kRowsOfFrame = 64;

// Receives each measured figure: the matrix (without values), row, column and figure.
using PairVisitor = std::function<void(const PairMatrixRow&, std::size_t, std::size_t, float)>;

// Stores a matrix inside the writer's transaction. kInvalidArgument: sizes that do not fit.
// kNotFound: no such run.
Status write_pair_matrix(Connection& connection, const PairMatrixRow& matrix);
// Replaces all matrices of a run. Errors: those of write_pair_matrix().
Status write_pair_matrices(Connection& connection, std::string_view run_id,
                           const std::vector<PairMatrixRow>& matrices);
Result<PairMatrixRow> read_pair_matrix(Connection& connection, const PairMatrixKey& key);
// Visits a matrix's figures row after row, with 16 MiB of the matrix in memory at a time.
// kDataLoss: the blob is damaged; the sound figures before the damage were visited.
Status visit_pair_matrix(Connection& connection, const PairMatrixKey& key,
                         const PairVisitor& visit);
// Reads what the matrix has in front of its figures. kNotFound: there is no such matrix, or it has
// nothing there.
Result<std::string> read_matrix_overview(Connection& connection, const PairMatrixKey& key);
// Reads the figures of a block of a matrix with an overview, row after row; only the stored frames
// of kRowsOfFrame rows that hold the block are loaded. NaN: not measured. kInvalidArgument: the
// matrix has no such rows or columns. kNotFound: as read_matrix_overview().
Result<std::vector<float>> read_matrix_block(Connection& connection, const PairMatrixKey& key,
                                             const MatrixBlock& block);
// Lists a run's matrices with their keys, units and directions only.
Result<std::vector<PairMatrixRow>> list_pair_matrices(Connection& connection,
                                                      std::string_view run_id);

// Replaces all levels of the run. kNotFound: no such run.
Status write_part_levels(Connection& connection, std::string_view run_id,
                         const std::vector<PartLevelsRow>& levels);
// Reads the levels of the run's series and those of earlier runs of the same suite, the oldest
// first, at most `limit`, the run's own the last. Runs with less than half or more than twice as
// many nodes are left out, and so are damaged blobs of earlier runs. Only the series of `key` is
// read from it. Empty: the run has none. kDataLoss: the run's own blob is damaged.
Result<std::vector<PartLevelsRow>> read_part_levels(Connection& connection,
                                                    const PartLevelsRow& key, std::uint32_t limit);

// Reads levels of the series of `key` by runs before key.run_id, of any suite, the oldest first, at
// most `limit`: the newest that a schedule started, then the newest others. Proofs are left out,
// whose few nodes are no picture of the site, and so are damaged blobs.
Result<std::vector<PartLevelsRow>> read_earlier_part_levels(Connection& connection,
                                                            const PartLevelsRow& key,
                                                            std::uint32_t limit);

// Adds the SQL function matrix_endpoint(id, endpoints, index) to the connection. It returns the
// endpoint's text from a matrix's blob of endpoints, or NULL when the blob is damaged.
Status add_matrix_endpoint(Connection& connection);

}  // namespace railgauge::store
