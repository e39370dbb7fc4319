// Shared by the contract tests of GPU kernels: runs a kernel on the fakes and checks the conditions
// after every run. Each test is a separate program, because vendor tables are loaded once a
// process.
#pragma once

#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/dl/nccl.h"
#include "kernels/dl/nvml.h"
#include "kernels/dl/vulkan.h"
#include "kernels/fakes/cuda/fake_cuda.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/fake_vulkan.h"
#include "kernels/fakes/nccl/fake_nccl.h"
#include "kernels/fakes/nvml/fake_nvml.h"
#include "kernels/fakes/solo.h"
#include "kernels/testing/contract.h"

namespace railgauge {

// A kernel, its way to GPU memory ("" without a choice), and all non-default settings.
struct Way {
  std::string kernel{};
  std::string backend{};
  std::string name{};  // of the rest; "" for the defaults
  std::map<std::string, std::string> parameters{};
  std::uint64_t gpus = 2;
  bool coherent = false;  // the GPU's threads reach pageable memory
};
inline void PrintTo(const Way& way, std::ostream* out) {
  *out << way.kernel << " " << way.backend << " " << way.name;
}
inline std::string test_name(const ::testing::TestParamInfo<Way>& info) {
  std::string name = info.param.kernel;
  if (!info.param.backend.empty()) name += "_" + info.param.backend;
  if (!info.param.name.empty()) name += "_" + info.param.name;
  std::ranges::replace(name, '.', '_');
  return name;
}

// Returns every GPU kernel of the catalog, once for each way to GPU memory that it can choose.
std::vector<Way> ways_of_gpu_kernels();

// A call with the calls before and after it: its purpose, as far as names show it.
using Neighbours = std::array<std::string, 3>;

class OnFakeGpus : public ::testing::TestWithParam<Way> {
 protected:
  static void SetUpTestSuite() {
    setenv("RAILGAUGE_FAKE_CUDA", "driver_version=13030", 1);  // the first that maps a dma-buf
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
    setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1);
    setenv(kGdrapiLibraryVariable, RAILGAUGE_FAKE_LIBGDRAPI, 1);
    setenv(kNcclLibraryVariable, RAILGAUGE_FAKE_LIBNCCL, 1);
    setenv(kVulkanLibraryVariable, RAILGAUGE_FAKE_LIBVULKAN, 1);
  }
  void SetUp() override {
    reset();
    descriptors_ = open_descriptors();
  }

  // Resets the fakes to this way's settings.
  static void reset() {
    fake::cuda_control().reset();
    fake::nvml_control().reset();
    fake::gdrapi_control().reset();
    fake::vulkan_control().reset();
    fake::nccl_control().reset();
    const Way& way = GetParam();
    fake::cuda_control().gpus = way.gpus;
    fake::nvml_control().gpus = way.gpus;
    fake::vulkan_control().gpus = way.gpus;
    fake::cuda_control().dmabuf_mmap = way.backend == "dmabuf" ? 1 : 0;
    fake::cuda_control().coherent = way.coherent || way.backend == "coherent" ? 1 : 0;
  }
  static const KernelRow& row() { return *find_kernel(GetParam().kernel); }
  static bool of_several() { return row().info().endpoint_kind() != "gpu"; }

  // Returns the shortest parameters for the kernel's defaults: each failed call costs a whole task.
  // A fan is measured under load; on a busy machine, the threads that simulate it keep up only with
  // larger copies.
  static std::map<std::string, std::string> shortest_defaults() {
    const bool loaded = GetParam().kernel == std::string_view("cuda.fan_copy_bw");
    return fake::declared_among(row().info(), {{"sizes", loaded ? "256KiB" : "4KiB"},
                                               {"iterations", "2"},
                                               {"proof_time", "1ms"},
                                               {"backend", GetParam().backend}});
  }
  static std::map<std::string, std::string> shortest() {
    auto parameters = GetParam().parameters;
    parameters.merge(shortest_defaults());
    return parameters;
  }
  static fake::RankResult run(const std::map<std::string, std::string>& parameters,
                              const std::string& endpoint = "gpu0") {
    return fake::run_solo(row(), {.parameters = parameters,
                                  .endpoint = of_several() ? "" : endpoint,
                                  .deadline_seconds = 20});
  }
  static fake::RankResult run() { return run(shortest()); }

  // Counts open descriptors, without the memory for NCCL's output, which stays open after a
  // process's first such task.
  static std::ptrdiff_t open_descriptors() {
    std::ptrdiff_t open = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;  // the iterator's own
      const std::string target = std::filesystem::read_symlink(entry, gone).string();
      if (target.find("memfd:railgauge-nccl") == std::string::npos) ++open;
    }
    return open;
  }
  void expect_nothing_left(std::uint64_t call) const {
    EXPECT_TRUE(fake::cuda_idle(5)) << "call " << call;
    EXPECT_EQ(fake::cuda_control().live_handles(), 0) << "call " << call;
    EXPECT_EQ(fake::nvml_control().live_handles, 0) << "call " << call;
    EXPECT_EQ(fake::gdrapi_control().live_handles, 0) << "call " << call;
    EXPECT_EQ(fake::vulkan_control().live_handles, 0) << "call " << call;
    EXPECT_EQ(fake::nccl_control().live_handles(), 0) << "call " << call;
    EXPECT_EQ(open_descriptors(), descriptors_) << "call " << call;
  }
  // Expects a waiver with `part` in one line, and no resources left.
  void expect_waived(const fake::RankResult& result, const std::string& part) const {
    expect_nothing_left(0);
    ASSERT_FALSE(result.status) << "it measured";
    expect_clear(result.status, 0);
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << result.status.error().message;
    EXPECT_THAT(result.status.error().message, ::testing::HasSubstr(part));
  }
  void expect_measured() const;
  // Fails each of these calls, one a task.
  void expect_survived(const std::vector<std::uint64_t>& calls) const;
  // Fails each allocation of a task for lack of memory, except for neighbours in `known` (the full
  // check walks all), and adds the failed ones to it. Returns the number of failed or known
  // allocations: a test without any proves nothing.
  [[nodiscard]] int expect_waived_without_memory(std::set<Neighbours>& known) const;
  void expect_wrong_byte_found() const;

  std::ptrdiff_t descriptors_ = 0;
};

std::set<Neighbours> neighbours_among(const std::vector<std::string>& names);

// Returns the numbers of a clean task's calls, without calls deep in loops or in `walked`, and one
// number beyond the last, where no call fails.
std::vector<std::uint64_t> calls_worth_failing(const std::vector<std::string>& names,
                                               const std::set<Neighbours>& walked = {});

}  // namespace railgauge
