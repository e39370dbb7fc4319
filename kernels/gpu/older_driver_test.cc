// A driver older than the code's target. The driver's release is read once a process, so this is a
// separate program.
#include <array>

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/timing.h"

namespace railgauge::gpu {
namespace {

constexpr std::array<unsigned char, 2> kBytes{'x', 0};
constexpr std::array kCubins{CubinImage{90, kBytes}};

class OlderDriver : public OnFakes {
 protected:
  static void SetUpTestSuite() {
    setenv("RAILGAUGE_FAKE_CUDA", "driver_version=11040", 1);  // CUDA 11.4
    OnFakes::SetUpTestSuite();
  }
  static DeviceCode code(int ptx_version) {
    return {.name = "kernels/gpu/test.cu",
            .cubins = kCubins,
            .ptx = kBytes,
            .ptx_version = ptx_version,
            .ptx_capability = 30,
            .toolkit_version = 13000};
  }
};

TEST_F(OlderDriver, GetsPtxThoughThereIsMachineCodeForItsGpu) {
  const Gpu gpu = *Gpu::open("");
  const auto loaded = LoadedCode::load(gpu, code(32));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->image(), "ptx 3.2 for 3.0, compiled by the driver");
}

TEST_F(OlderDriver, WaivesAndNamesTheDriverThatCouldReadThePtx) {
  const Gpu gpu = *Gpu::open("");
  const auto loaded = LoadedCode::load(gpu, code(78));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kUnimplemented);
  EXPECT_EQ(loaded.error().message,
            "gpu0: load device code: driver unknown (CUDA 11.4) cannot read it; driver 520.61 "
            "(CUDA 11.8) or later can");
}

// As its module is loaded by default.
TEST_F(OlderDriver, HoldsNoStreamAndNamesTheOptionThatLetsIt) {
  fake::cuda_control().no_stream_memops = 1;
  const Gpu gpu = *Gpu::open("");
  auto gate = StreamGate::create(gpu);
  ASSERT_TRUE(gate);
  const Stream stream = *make_stream(gpu);
  const Status held = gate->hold(gpu, stream.get());
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::kUnimplemented);
  EXPECT_EQ(held.error().message,
            "gpu0: hold a stream: stream memory operations are off, as driver unknown (CUDA 11.4) "
            "has them by default; load the module nvidia with NVreg_EnableStreamMemOPs=1, or "
            "install a driver of CUDA 11.7 or later");
}

}  // namespace
}  // namespace railgauge::gpu
