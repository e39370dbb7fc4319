// An older driver than the one that the code was built for. The driver's release is read once a
// process, so this is a program of its own.
#include <array>

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/gpu/device_code.h"

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

}  // namespace
}  // namespace railgauge::gpu
