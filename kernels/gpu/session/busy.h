// The parameter `busy`: the reaction to another user of a GPU under measurement.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/info_builder.h"
#include "kernels/core/kernel.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/session/usage.h"

namespace railgauge::gpu {

// The default of `busy`.
enum class WhenBusy : std::uint8_t { kWaive, kMeasure };
// Declares `busy`: waive or measure. Not part of a series' identity.
void add_busy_parameter(InfoBuilder& builder, WhenBusy when = WhenBusy::kWaive);

// Judges by `before`: gpu_usage() from before this process took a context on the GPU. Waives when
// the GPU is partitioned (MIG), or is in use without busy=measure; a measured use becomes a fact
// and a warning. `partners` are processes of the same task. For Kernel::prepare or connect; waits
// up to 1.5 s for recent load to fade. Thread safe.
Status check_busy(const Context& context, const Gpu& gpu, const std::vector<GpuUsage>& before,
                  std::span<const unsigned> partners = {});

// Judges `users` (in words) who came during the measurement: waives, or warns with busy=measure.
Status judge_newcomers(const Context& context, const Gpu& gpu, const std::string& users);

}  // namespace railgauge::gpu
