// Words about slices of partitioned GPUs (MIG) that programs read too.
#pragma once

#include <string_view>

namespace railgauge {

// The fact that names the slices which a rank uses, by UUID and separated by commas, and the
// parameters of a kernel that measures slices: whether it does, and which. The runner writes the
// slices of all ranks into the last one, which is part of the series' identity.
inline constexpr std::string_view kSliceFact = "gpu_slice_uuid";
inline constexpr std::string_view kSlicesParameter = "slices";
inline constexpr std::string_view kMeasureSlices = "measure";
inline constexpr std::string_view kSliceParameter = "slice_uuid";

}  // namespace railgauge
