// Reads a bounded file as a whole.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/core/base/result.h"

namespace railgauge {

// Reads a file. kInvalidArgument, with the path: not readable, or larger than `max_bytes`.
Result<std::string> read_whole_file(const std::string& path, std::size_t max_bytes);

}  // namespace railgauge
