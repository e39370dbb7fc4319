// What catalog.h offers of the GPU layer.
#include <array>

#include "kernels/catalog.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/reuse.h"
#include "kernels/verbs/registration_probe.h"

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

GpuDirectProbe probe_gpudirect(std::string_view pair) {
  if (const auto parsed = verbs::parse_probe_pair(pair)) return verbs::probe_registration(*parsed);
  GpuDirectProbe wrong;
  wrong.set_state("error");
  wrong.set_text("the pair is not GPU@PCI_ADDRESS+NIC");
  return wrong;
}

}  // namespace railgauge
