// For tests of GPU code on the fakes: resets every fake, and checks for live handles afterwards.
#pragma once

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <string>

#include "kernels/dl/cuda.h"
#include "kernels/dl/nvml.h"
#include "kernels/fakes/cuda/fake_cuda.h"
#include "kernels/fakes/nvml/fake_nvml.h"
#include "kernels/fakes/recorder.h"

namespace railgauge::gpu {

class OnFakes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
    setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1);
  }
  void SetUp() override {
    fake::cuda_control().reset();
    fake::nvml_control().reset();
  }
  void TearDown() override {
    EXPECT_EQ(fake::cuda_control().live_handles(), 0);
    EXPECT_EQ(fake::nvml_control().live_handles, 0);
  }
};

}  // namespace railgauge::gpu
