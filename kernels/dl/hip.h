// AMD's GPUs behind the driver's table: HIP's functions in the slots of kernels/dl/cuda.h, loaded
// at run time. Most have the same arguments and results; the rest go through small adapters.
// Kernels above the table need no other code: copies, the CPU's mappings and verbs memory are the
// same calls. No device code of this build runs on such a GPU, so what needs threads waives.
#pragma once

#include <array>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"

namespace railgauge {

// The names by which the loader finds HIP's runtime, the newest release first.
inline constexpr std::array kHipLibraries{"libamdhip64.so.7", "libamdhip64.so.6",
                                          "libamdhip64.so.5"};
// Names another file to load instead of any CUDA driver, such as the fake of kernels/fakes.
inline constexpr const char* kHipLibraryVariable = "RAILGAUGE_LIBHIP";
// The fake's marker.
inline constexpr const char* kSyntheticHipMarker = "railgauge_synthetic_hip";

// Fills the table from the library `name`, not initialised. kNotFound: no such library;
// kUnimplemented: a function is missing. One library a process: adapters have its functions.
Result<Cuda> bind_hip(const std::string& name);
// Likewise from the first of kHipLibraries that is here.
Result<Cuda> bind_hip_of_host();

// HIP's number of a device attribute of CUDA's, as far as a kernel asks for it; -1: HIP has none.
// hip_runtime_api.h of 5.2, hipDeviceAttribute_t.
int hip_attribute(int cuda_attribute);

// Formats HIP_VERSION, 60'241'134, as the table's driver_version: 6020 is 6.2.
int release_of_hip(int hip_version);

}  // namespace railgauge
