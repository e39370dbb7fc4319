// All-pairs matrices: one compressed blob of float32 for each (run, rail, kernel, metric, size),
// with the outlier pairs as rows, since a full sweep over 1,000 nodes would be 4 million points.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "controller/store/rows/rows.h"
#include "kernels/core/base/result.h"

namespace railgauge::store {

class Connection;

// 576 MiB before compression, in memory while it is stored or read as a whole.
inline constexpr std::size_t kMaxMatrixEndpoints = 12'288;

// Called for each measured figure with the matrix without values, row, column and figure.
using PairVisitor = std::function<void(const PairMatrixRow&, std::size_t, std::size_t, float)>;

// Inside the writer's transaction. kInvalidArgument: sizes that do not fit; kNotFound: no such run.
Status write_pair_matrix(Connection& connection, const PairMatrixRow& matrix);
// All that a run has, in place of what it had.
Status write_pair_matrices(Connection& connection, std::string_view run_id,
                           const std::vector<PairMatrixRow>& matrices);
Result<PairMatrixRow> read_pair_matrix(Connection& connection, const PairMatrixKey& key);
// Its figures, row after row; 16 MiB of it are in memory at a time. kDataLoss comes after those
// that are sound.
Status visit_pair_matrix(Connection& connection, const PairMatrixKey& key,
                         const PairVisitor& visit);
// Their keys, units and directions alone.
Result<std::vector<PairMatrixRow>> list_pair_matrices(Connection& connection,
                                                      std::string_view run_id);

// The SQL function matrix_endpoint(id, endpoints, index) on this connection: the endpoint's text,
// of a matrix's own blob; NULL where that is damaged.
Status add_matrix_endpoint(Connection& connection);

}  // namespace railgauge::store
