// The content of a pair matrix as the store compressed it. Pure; thread safe.
#pragma once

#include <string_view>

#include "controller/api/archive.pb.h"
#include "kernels/core/base/result.h"

namespace railgauge::cli {

// Fills nodes and values. `endpoints` and `body` are one or more frames of zstd: texts, one a line,
// and little-endian float32, from-major, NaN where a pair was not measured. kDataLoss: damaged, or
// the sizes do not fit. Endpoints are shown as nodes where each node has one.
Status fill_matrix(api::PairMatrix& matrix, std::string_view endpoints, std::string_view body);

}  // namespace railgauge::cli
