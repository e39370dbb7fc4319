// For tests of collectives on the fakes: resets them before, and checks for live handles
// afterwards.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/nccl.h"
#include "kernels/dl/nvml.h"
#include "kernels/fakes/cuda/fake_cuda.h"
#include "kernels/fakes/nccl/fake_nccl.h"
#include "kernels/fakes/nvml/fake_nvml.h"
#include "kernels/fakes/ranks.h"
#include "kernels/testing/contract.h"

namespace railgauge::nccl {

class OnFakeRanks : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
    setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1);
    // A program may have chosen another fake before.
    setenv(kNcclLibraryVariable, RAILGAUGE_FAKE_LIBNCCL, 0);
    setenv("RAILGAUGE_FAKE_CUDA", "gpus=8", 1);
  }
  void SetUp() override { reset_fakes(); }
  static void reset_fakes() {
    fake::cuda_control().reset();
    fake::nvml_control().reset();
    fake::nccl_control().reset();
    fake::nvml_control().gpus = 8;
  }
  void TearDown() override {
    settle();
    EXPECT_TRUE(fake::cuda_idle(5));
    EXPECT_EQ(fake::cuda_control().live_handles(), 0);
    EXPECT_EQ(fake::nvml_control().live_handles, 0);
    EXPECT_EQ(fake::nccl_control().live_handles(), 0);
  }

  // Releases abandoned calls and waits until their resources are free: in production the end of the
  // process does that.
  static void settle() {
    EXPECT_TRUE(fake::nccl_release(10));
    const auto alive = [] {
      return fake::cuda_control().live_handles() + fake::nccl_control().live_handles() +
             fake::nvml_control().live_handles;
    };
    for (int look = 0; alive() != 0 && look < 1000; ++look)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  using Parameters = std::map<std::string, std::string>;
  static std::vector<fake::RankResult> run(const std::string& kernel, std::uint32_t ranks,
                                           Parameters parameters) {
    parameters.insert({{"iterations", "3"}, {"sizes", "4KiB"}, {"proof_time", "0s"}});
    return fake::run_ranks(*find_kernel(kernel), {.parameters = parameters, .ranks = ranks});
  }
  static void expect_passed(const std::vector<fake::RankResult>& results) {
    for (std::size_t rank = 0; rank < results.size(); ++rank)
      EXPECT_TRUE(results[rank].status) << rank << ": " << results[rank].status.error().message;
  }
};

inline std::vector<std::string> collectives() {
  std::vector<std::string> names;
  for (const KernelRow& row : catalog())
    if (const std::string name = row.info().name();
        name.starts_with("nccl.") && name != "nccl.init" && !name.starts_with("nccl.gin_"))
      names.push_back(name);
  return names;
}

// The kernels whose calls are sends and receives alone.
inline bool is_exchange(const std::string& kernel) {
  return kernel == "nccl.all_to_all_v" || kernel == "nccl.hypercube" || kernel == "nccl.pairwise" ||
         kernel == "nccl.send_recv";
}
// Whether it can have so many ranks, and a number of ranks above two, odd where it may be.
inline bool can_have(const std::string& kernel, std::uint32_t ranks) {
  return kernel != "nccl.hypercube" || (ranks & (ranks - 1)) == 0;
}
inline std::uint32_t several(const std::string& kernel) { return can_have(kernel, 3) ? 3 : 4; }

inline std::string name_of_kernel(const ::testing::TestParamInfo<std::string>& info) {
  return info.param.substr(info.param.find('.') + 1);
}

}  // namespace railgauge::nccl
