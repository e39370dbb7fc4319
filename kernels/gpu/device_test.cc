#include "kernels/gpu/device.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "kernels/fakes/gpu_fixture.h"
#include "kernels/gpu/slice.h"

namespace railgauge::gpu {
namespace {

using fake::cuda_control;
using ::testing::HasSubstr;

class GpuDevice : public OnFakes {
 protected:
  static Error error_of(std::string_view endpoint) {
    const auto gpu = Gpu::open(endpoint);
    EXPECT_FALSE(gpu);
    return gpu ? Error{} : gpu.error();
  }
};

TEST_F(GpuDevice, OpensByItsNumberWithItsFacts) {
  const auto gpu = Gpu::open("gpu1");
  ASSERT_TRUE(gpu) << gpu.error().message;
  EXPECT_EQ(gpu->index(), 1);
  EXPECT_EQ(gpu->name(), "gpu1");
  EXPECT_EQ(gpu->model(), "Railgauge fake");
  EXPECT_EQ(gpu->pci_address(), "0000:e1:00.0");
  EXPECT_EQ(gpu->uuid(), "GPU-66616b65-0000-4000-8000-726700000001");
  EXPECT_EQ(gpu->capability(), 90);
  EXPECT_EQ(cuda_control().contexts, 1);
  fake::RankResult told;
  fake::Recorder recorder(told);
  gpu->report_facts(recorder);
  EXPECT_EQ(told.facts["cuda_release"], "13.0");
  EXPECT_EQ(told.facts["compute_capability"], "9.0");
}

TEST_F(GpuDevice, NoEndpointIsTheFirstGpu) { EXPECT_EQ(Gpu::open("")->name(), "gpu0"); }

TEST_F(GpuDevice, OpenAllOpensEachAndLeavesTheFirstCurrent) {
  const auto gpus = Gpu::open_all();
  ASSERT_TRUE(gpus);
  ASSERT_EQ(gpus->size(), 2U);
  EXPECT_EQ(gpus->back().name(), "gpu1");
  EXPECT_TRUE(gpus->front().free_bytes());
}

TEST_F(GpuDevice, AnIndexOutOfRangeWaivesAndSaysHowManyThereAre) {
  const Error error = error_of("gpu2");
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_EQ(error.message, "gpu2: open: CUDA shows 2 GPUs (gpu0 to gpu1)");
  cuda_control().gpus = 1;
  EXPECT_EQ(error_of("gpu1").message, "gpu1: open: CUDA shows 1 GPU (gpu0)");
}

TEST_F(GpuDevice, WhatIsNoGpuIsWrongUse) {
  for (const char* bad : {"mlx5_0:1", "gpu", "gpux", "gpu-1", "gpu1 ", "GPU0"}) {
    const Error error = error_of(bad);
    EXPECT_EQ(error.code, Code::kInvalidArgument) << bad;
    EXPECT_THAT(error.message, HasSubstr("a GPU is gpu0, gpu1"));
  }
}

TEST_F(GpuDevice, WithoutAGpuItWaives) {
  cuda_control().gpus = 0;
  const Error error = error_of("");
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_EQ(error.message, "CUDA driver: count the GPUs: there is none");
}

TEST_F(GpuDevice, ASliceOfAPartitionedGpuWaives) {
  cuda_control().mig = 1;
  const Error error = error_of("gpu0");
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, HasSubstr("slice of a partitioned GPU (Railgauge fake MIG 1g.18gb)"));
  EXPECT_THAT(error.message, HasSubstr("measure with MIG off"));
}

TEST_F(GpuDevice, ASliceIsTakenWhereItMayBe) {
  cuda_control().mig = 1;
  const auto gpu = Gpu::open("gpu0", Slices::kTake);
  ASSERT_TRUE(gpu) << gpu.error().message;
  EXPECT_EQ(gpu->slice(), "1g.18gb");
  EXPECT_EQ(slice_uuid(*gpu).value(), "MIG-66616b65-0001-4000-8000-726700000000");
  cuda_control().mig = 2;
  const auto second = Gpu::open("gpu0", Slices::kTake);
  EXPECT_EQ(slice_uuid(*second).value(), "MIG-66616b65-0002-4000-8000-726700000000");
  EXPECT_EQ(second->uuid(), gpu->uuid()) << "both are of one GPU";
  cuda_control().mig = 0;
  EXPECT_EQ(Gpu::open("gpu0")->slice(), "");
  EXPECT_EQ(slice_uuid(*Gpu::open("gpu0")).value(), "");
}

TEST_F(GpuDevice, ASliceThatTheDriverDoesNotNameHasNoFigures) {
  cuda_control().mig = 1;
  const auto gpu = Gpu::open("gpu0", Slices::kTake);
  ASSERT_TRUE(gpu) << gpu.error().message;
  cuda_control().fail_call = cuda_control().calls + 1;
  const auto unnamed = slice_uuid(*gpu);
  ASSERT_FALSE(unnamed);
  EXPECT_EQ(unnamed.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(unnamed.error().message, HasSubstr("does not name the slice"));
}

TEST_F(GpuDevice, ACallThatFailsIsNamedWithTheDriversWords) {
  cuda_control().reset();
  cuda_control().fail_call = 3;  // count, get, name
  const Error error = error_of("gpu0");
  EXPECT_EQ(error.code, Code::kInternal);
  EXPECT_EQ(error.message, "gpu0: ask its name: CUDA_ERROR_UNKNOWN (999): unknown error");
}

TEST_F(GpuDevice, TheNodeIsWhatSysfsSays) {
  const auto root = std::filesystem::path(::testing::TempDir()) /
                    ("gpu_device_sysfs_" + std::to_string(getpid()));
  const auto folder = root / "bus/pci/devices/0000:e0:00.0";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "numa_node") << "1\n";
  const auto gpus = Gpu::open_all();
  EXPECT_EQ(gpus->front().numa_node(root.string()), 1);
  EXPECT_EQ(gpus->back().numa_node(root.string()), -1);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace railgauge::gpu
