// The reaction to another user of a GPU that is to be measured: the parameter `busy`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/session/usage.h"

namespace railgauge::gpu {

// Declares `busy`: waive or measure. It is no part of a series' identity.
void add_busy_parameter(InfoBuilder& builder);

// Judges by `before`, which is gpu_usage() from before this process took a context on the GPU.
// Waives when the GPU is partitioned (MIG), or in use and `busy` is not measure; a use that is
// measured is a fact and a warning. `partners` are processes of the same task. For Kernel::prepare
// or connect; waits up to 1.5 s for the load of a moment ago to fade. Thread safe.
Status check_busy(const Context& context, const Gpu& gpu, const std::vector<GpuUsage>& before,
                  std::span<const unsigned> partners = {});

// The same for `users` (in words) who came during the measurement: waives, or warns.
Status judge_newcomers(const Context& context, const Gpu& gpu, const std::string& users);

}  // namespace railgauge::gpu
