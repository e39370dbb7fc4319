// Whether a record is sound by itself: finite figures, known words, bounded texts. Pure.
#pragma once

#include <optional>
#include <string>

#include "kernels/core/base/record.pb.h"

namespace railgauge::store {

// Why it is not; absent when it is.
std::optional<std::string> fault_of(const Record& record);

}  // namespace railgauge::store
