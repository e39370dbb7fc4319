// The waivers of every GPU kernel on a machine without a driver, without a GPU, or without the
// library of a mapping. Vendor libraries are loaded once a process, so this is a separate program;
// its tests run in this order.
#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/dl/nccl.h"
#include "kernels/dl/nvml.h"
#include "kernels/dl/vulkan.h"
#include "kernels/fakes/cuda/fake_cuda.h"
#include "kernels/fakes/solo.h"
#include "kernels/testing/contract.h"

namespace railgauge {
namespace {

using fake::cuda_control;
using ::testing::HasSubstr;

constexpr const char* kAbsent = "librailgauge-absent.so.1";

// Every GPU kernel waives, with `part` in its one line.
void expect_all_waive(const std::map<std::string, std::string>& given, const std::string& part) {
  for (const KernelRow& row : catalog()) {
    const KernelInfo info = row.info();
    if (info.endpoint_kind() == "nic" || info.name().starts_with("mpi.")) continue;
    if (info.min_ranks() > 1) continue;  // cuda.rank_copy_bw: rank_copies_test.cc
    const auto parameters = fake::declared_among(info, given);
    if (parameters.size() < given.size()) continue;  // has no such choice
    SCOPED_TRACE(info.name());
    const auto result = fake::run_solo(row, {.parameters = parameters, .endpoint = ""});
    ASSERT_FALSE(result.status);
    expect_clear(result.status, 0);
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
    EXPECT_THAT(result.status.error().message, HasSubstr(part));
    EXPECT_EQ(cuda_control().live_handles(), 0);
  }
}

TEST(Absence, WithoutADriverAllWaiveAndSayWhatToInstall) {
  setenv(kCudaLibraryVariable, kAbsent, 1);
  setenv(kNvmlLibraryVariable, kAbsent, 1);
  setenv(kGdrapiLibraryVariable, kAbsent, 1);
  setenv(kVulkanLibraryVariable, kAbsent, 1);
  setenv(kNcclLibraryVariable, kAbsent, 1);
  expect_all_waive({}, "install the NVIDIA driver");
}

TEST(Absence, WithoutAGpuAllWaive) {
  setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
  cuda_control().gpus = 0;
  expect_all_waive({}, "CUDA_ERROR_NO_DEVICE");
}

TEST(Absence, WithADriverTooOldForDmaBufsThatWayWaivesNamingTheOneThatCan) {
  setenv("RAILGAUGE_FAKE_CUDA", "driver_version=11060", 1);
  cuda_control().reset();
  expect_all_waive({{"backend", "dmabuf"}}, "(CUDA 11.6)");
  expect_all_waive({{"backend", "dmabuf"}}, "13.3");
}

TEST(Absence, WithoutTheVulkanLoaderThatWayWaivesAndSaysWhatToInstall) {
  expect_all_waive({{"backend", "vulkan"}}, "install libvulkan1");
}

TEST(Absence, WithoutGdrcopyThatWayWaivesAndSaysWhatToInstall) {
  expect_all_waive({{"backend", "gdrdrv"}}, "install libgdrapi");
}

TEST(Absence, WithoutNcclItsKernelsWaiveAndSayWhatToInstall) {
  cuda_control().gpus = 2;
  expect_all_waive({{"socket_ifname", ""}}, "install libnccl2");
}

TEST(Absence, WithNoWayAtAllEveryReasonStandsInOneLine) {
  for (const char* part : {"gdrdrv: ", "dmabuf: ", "coherent: ", "vulkan: "})
    expect_all_waive({{"backend", "auto"}}, part);
}

}  // namespace
}  // namespace railgauge
