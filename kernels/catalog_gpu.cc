// What catalog.h offers of the GPU layer.
#include "kernels/catalog.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/reuse.h"

namespace railgauge {

Result<int> count_gpus() { return gpu::Gpu::count(); }

std::shared_ptr<void> keep_gpus_warm() { return std::make_shared<gpu::KeepWarm>(); }

}  // namespace railgauge
