#include "kernels/gpu/device_code.h"

#include <array>
#include <vector>

#include "kernels/fakes/gpu_fixture.h"

namespace railgauge::gpu {
namespace {

using fake::cuda_control;

constexpr std::array<unsigned char, 2> kBytes{'x', 0};
constexpr std::array kCubins{CubinImage{80, kBytes}, CubinImage{86, kBytes},
                             CubinImage{90, kBytes}};

class GpuCode : public OnFakes {
 protected:
  // As built by CUDA 13.0, with PTX 3.0 for compute capability 3.0.
  static DeviceCode code() {
    return {.name = "kernels/gpu/test.cu",
            .cubins = kCubins,
            .ptx = kBytes,
            .ptx_version = 30,
            .ptx_capability = 30,
            .toolkit_version = 13000};
  }
  static Result<LoadedCode> load(const DeviceCode& what) {
    return LoadedCode::load(*Gpu::open(""), what);
  }
  static std::string image() {
    const Gpu gpu = *Gpu::open("");
    const auto loaded = LoadedCode::load(gpu, code());
    return loaded ? loaded->image() : loaded.error().message;
  }
};

TEST_F(GpuCode, TakesMachineCodeOfTheGpusOwnGeneration) { EXPECT_EQ(image(), "sm_90"); }

TEST_F(GpuCode, TakesTheHighestMachineCodeThatRuns) {
  cuda_control().capability = 89;
  EXPECT_EQ(image(), "sm_86");
  cuda_control().capability = 80;
  EXPECT_EQ(image(), "sm_80");
}

TEST_F(GpuCode, AnotherGenerationGetsPtx) {
  cuda_control().capability = 100;
  EXPECT_EQ(image(), "ptx 3.0 for 3.0, compiled by the driver");
}

TEST_F(GpuCode, AFunctionIsFoundByItsName) {
  const Gpu gpu = *Gpu::open("");
  const auto loaded = LoadedCode::load(gpu, code());
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->function("railgauge_fill"));
  const auto absent = loaded->function("railgauge_nothing");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().message,
            "gpu0: device code kernels/gpu/test.cu: find railgauge_nothing: CUDA_ERROR_NOT_FOUND "
            "(500): named symbol not found");
}

TEST_F(GpuCode, AnOlderGpuThanThePtxWaives) {
  cuda_control().capability = 61;
  DeviceCode newer = code();
  newer.ptx_capability = 70;
  const Gpu gpu = *Gpu::open("");
  const auto loaded = LoadedCode::load(gpu, newer);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kUnimplemented);
  EXPECT_EQ(loaded.error().message,
            "gpu0: load device code: compute capability 6.1 is below 7.0, the lowest that this "
            "build has code for");
}

TEST_F(GpuCode, ABuildWithoutCodeRunsTheTwinsOfTheFakeDriver) {
  const Gpu gpu = *Gpu::open("");
  const auto loaded = LoadedCode::load(gpu, {.name = "kernels/gpu/test.cu",
                                             .cubins = {},
                                             .ptx = {},
                                             .ptx_version = 0,
                                             .ptx_capability = 0,
                                             .toolkit_version = 0});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->image(), "twins of the fake driver");
}

TEST_F(GpuCode, ABuildWithoutCodeWaivesOnAnyOtherDriver) {
  cuda_control().no_twins = 1;
  const Gpu gpu = *Gpu::open("");
  const auto loaded = LoadedCode::load(gpu, {.name = "kernels/gpu/test.cu",
                                             .cubins = {},
                                             .ptx = {},
                                             .ptx_version = 0,
                                             .ptx_capability = 0,
                                             .toolkit_version = 0,
                                             .lacking = "nvcc"});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kUnimplemented);
  EXPECT_EQ(loaded.error().message,
            "gpu0: load device code: this build has none, nvcc was not there; build with the CUDA "
            "toolkit");
}

TEST_F(GpuCode, CodeThatTheDriverRefusesWaivesWithItsWords) {
  cuda_control().no_twins = 1;
  const Gpu gpu = *Gpu::open("");
  const auto loaded = LoadedCode::load(gpu, code());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kUnimplemented);
  EXPECT_EQ(loaded.error().message,
            "gpu0: load device code kernels/gpu/test.cu (sm_90): CUDA_ERROR_NO_BINARY_FOR_GPU "
            "(209): no kernel image is available for execution on the device");
}

TEST(PtxReleases, EachVersionHasTheReleaseThatReadsIt) {
  EXPECT_EQ(cuda_release_of_ptx(30), kOldestCudaRelease) << "the table needs more than the PTX";
  EXPECT_EQ(cuda_release_of_ptx(43), 7050);
  EXPECT_EQ(cuda_release_of_ptx(65), 10020);
  EXPECT_EQ(cuda_release_of_ptx(90), 13000);
  EXPECT_EQ(cuda_release_of_ptx(999), 0);
  EXPECT_EQ(first_driver_of(11000), "450.36");
  EXPECT_EQ(first_driver_of(kOldestCudaRelease), kOldestCudaDriver);
  EXPECT_EQ(first_driver_of(99000), "unknown");
}

TEST(PtxReleases, SeveralCodesNeedTheNewestDriverOfThem) {
  constexpr std::array<unsigned char, 2> kPtx{'x', 0};
  DeviceCode old{"old.cu", {}, kPtx, 32, 30, 13000};
  DeviceCode newer{"newer.cu", {}, kPtx, 60, 30, 13000};
  const DeviceCode none{"none.cu", {}, {}, 0, 0, 0};
  using Codes = std::vector<const DeviceCode*>;
  EXPECT_EQ(driver_needed(Codes{&old}), "driver 346.46 (CUDA 7.0) or later")
      << "PTX 3.2 needs less than our table";
  EXPECT_EQ(driver_needed(Codes{&newer, &old}), "driver 384.81 (CUDA 9.0) or later");
  EXPECT_EQ(driver_needed(Codes{&old, &none}), "none, built without nvcc");
  newer.ptx_version = 999;
  EXPECT_EQ(driver_needed(Codes{&old, &newer}), "driver unknown");
}

}  // namespace
}  // namespace railgauge::gpu
