// THE list of kernels: what `railgauge-runner --list` prints and what a task may name.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"

namespace railgauge {

// Every kernel of this build, sorted by name. Lives as long as the process.
std::span<const KernelRow> catalog();

// The row of `name` ("verbs.write_lat"), or nullptr.
const KernelRow* find_kernel(std::string_view name);

// The GPUs, for a program that runs several kernels and may not include kernels/gpu itself.

// How many GPUs this process can use; waives as a GPU kernel would where there is none.
Result<int> count_gpus();

// While it lives, contexts and buffers stay from one GPU kernel to the next. At most one at a time,
// in the thread that runs the kernels.
std::shared_ptr<void> keep_gpus_warm();

// The driver that this build's GPU code needs: "driver 346.46 (CUDA 7.0) or later", or "none" and
// the reason.
std::string gpu_code_needs();

}  // namespace railgauge
