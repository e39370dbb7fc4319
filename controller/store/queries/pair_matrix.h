// All-pairs matrices: one compressed blob of float32 for each (run, rail, kernel, metric, size),
// with only the outlier pairs as rows: a full sweep over 1,000 nodes would be 4 million points.
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
// Lists a run's matrices with their keys, units and directions only.
Result<std::vector<PairMatrixRow>> list_pair_matrices(Connection& connection,
                                                      std::string_view run_id);

// Adds the SQL function matrix_endpoint(id, endpoints, index) to the connection. It returns the
// endpoint's text from a matrix's blob of endpoints, or NULL when the blob is damaged.
Status add_matrix_endpoint(Connection& connection);

}  // namespace railgauge::store
