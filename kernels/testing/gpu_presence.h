// Whether a test on real GPUs has something to run on. A machine without a GPU waives; one whose
// GPUs the driver's other parts show and CUDA does not is broken, and its tests fail: they would
// pass on it by having tested nothing.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// The sources that show GPUs beside CUDA.
struct GpuEvidence {
  std::size_t listed = 0;          // by NVML
  std::size_t partitioned = 0;     // of those: MIG is on, CUDA shows slices and no others
  std::vector<std::string> nodes;  // the driver's device nodes: "/dev/nvidia0"
};
// `devices` is /dev.
GpuEvidence find_gpu_evidence(const std::string& devices = "/dev");

struct GpuPresence {
  enum class Kind { kUsable, kAbsent, kBroken };
  Kind kind = Kind::kAbsent;
  int count = 0;    // as CUDA shows them; 0 unless usable
  std::string why;  // one line, unless usable
};
// `cuda` is what CUDA counted. Absent: no driver, or no device that anything shows, or whole GPUs
// none (MIG is on and no slice is made). Pure.
GpuPresence judge_gpu_presence(const Result<int>& cuda, const GpuEvidence& seen);
// For this machine; its device nodes count only where CUDA is the driver's own library and not one
// that RAILGAUGE_LIBCUDA names. Initialises CUDA and NVML: not in a process that forks afterwards.
GpuPresence gpu_presence();

// Whether the GPU `index` that CUDA shows is a slice of a partitioned one (MIG); CUDA must be
// loaded. An index that cannot be asked is none.
bool is_gpu_slice(int index);

// In a test's SetUp: skips the test where GPUs are absent, fails it where they are broken.
void need_gpu();
// Also skips it where one of the GPUs is a slice, which kernels waive.
void need_whole_gpus();

}  // namespace railgauge
