// The GPU part of catalog.h.
#include <array>

#include "kernels/catalog.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/reuse.h"

namespace railgauge::gpu {
extern const DeviceCode kPatternCode;
extern const DeviceCode kFlagAnswerCode;
}  // namespace railgauge::gpu
namespace railgauge::cuda {
extern const gpu::DeviceCode kCopyCode;
extern const gpu::DeviceCode kChaseCode;
}  // namespace railgauge::cuda
namespace railgauge::nccl {
extern const gpu::DeviceCode kVerifyCode;
}  // namespace railgauge::nccl

namespace railgauge {

Result<int> count_gpus() { return gpu::Gpu::count(); }

std::shared_ptr<void> keep_gpus_warm() { return std::make_shared<gpu::KeepWarm>(); }

std::string gpu_code_needs() {
  constexpr std::array kCodes{&gpu::kPatternCode, &cuda::kCopyCode, &cuda::kChaseCode,
                              &gpu::kFlagAnswerCode, &nccl::kVerifyCode};
  return gpu::driver_needed(kCodes);
}

}  // namespace railgauge
