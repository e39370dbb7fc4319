// Decides whether a test on real GPUs can run. A machine without a GPU waives. A machine whose GPUs
// are visible to other parts of the driver but not to CUDA is broken, and its tests fail, because
// passing would mean that nothing was tested.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge {

// Sources of GPUs beside CUDA.
struct GpuEvidence {
  std::size_t listed = 0;          // by NVML
  std::size_t partitioned = 0;     // of those: with MIG, where CUDA shows only slices
  std::vector<std::string> nodes;  // the driver's device nodes: "/dev/nvidia0"
};
// Reads NVML and the device nodes; `devices` is /dev.
GpuEvidence find_gpu_evidence(const std::string& devices = "/dev");

struct GpuPresence {
  enum class Kind { kUsable, kAbsent, kBroken };
  Kind kind = Kind::kAbsent;
  int count = 0;    // as CUDA shows them; 0 unless usable
  std::string why;  // one line, unless usable
};
// Judges by `cuda`, CUDA's count, and the other sources. Absent: no driver, no visible device, or
// no whole GPU (MIG is on without slices). Pure.
GpuPresence judge_gpu_presence(const Result<int>& cuda, const GpuEvidence& seen);
// Judges this machine; its device nodes count only when CUDA is the driver's own library, not one
// that RAILGAUGE_LIBCUDA names. Initialises CUDA and NVML: never call before a fork.
GpuPresence gpu_presence();

// Reports whether CUDA's GPU `index` is a slice of a partitioned GPU (MIG); CUDA must be loaded.
// False for an index that cannot be queried.
bool is_gpu_slice(int index);

// For a test's SetUp: skips the test when GPUs are absent, fails it when they are broken.
void need_gpu();
// Also skips the test when a GPU is a slice, which kernels waive.
void need_whole_gpus();

}  // namespace railgauge
