// The name of a slice of a partitioned GPU (MIG).
#pragma once

#include <string>
#include <string_view>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"

namespace railgauge::gpu {

// Formats a UUID as nvidia-smi prints it: `kind` ("GPU-", "MIG-") and groups of 4, 2, 2, 2 and 6
// bytes. Pure.
std::string uuid_text(std::string_view kind, const cu::Uuid& uuid);

// Returns the UUID of the slice that `gpu` is, "MIG-3f1c..."; "" for a whole GPU. Two slices of one
// GPU share its address, its UUID and often their profile. kFailedPrecondition where the driver
// does not name the slice; CUDA 11.4 and later do. Thread safe.
Result<std::string> slice_uuid(const Gpu& gpu);

}  // namespace railgauge::gpu
