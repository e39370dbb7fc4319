// The levels of a run's parts as bytes, for the store. Pure.
#pragma once

#include <string>
#include <string_view>

#include "controller/parts/levels.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// The levels as bytes, with a resolution of 0.001 %.
std::string bytes_of_levels(const parts::Levels& levels);
// kDataLoss: no such bytes, or lists that do not fit each other.
Result<parts::Levels> levels_of_bytes(std::string_view bytes);

}  // namespace railgauge
