// Shared by the contract tests of the GPU kernels: a way to run one on the fakes, and the
// conditions that hold after every run. A program's own, as the vendor tables are loaded once a
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

// A kernel, the way by which it reaches GPU memory ("" where it has no choice), and what else is
// not its default.
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

// A call and its neighbours: its purpose, as far as names show it.
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

  // The fakes as this way needs them.
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

  // As short as the kernel can be with its defaults: each failed call costs a whole task. A fan is
  // measured under load, which threads that play it on a busy machine keep up with larger copies.
  static std::map<std::string, std::string> shortest_defaults() {
    const bool loaded = GetParam().kernel == std::string_view("cuda.fan_copy_bw");
    return fake::declared_among(row().info(), {{"sizes", loaded ? "256KiB" : "4KiB"},
                                               {"iterations", "2"},
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

  // Without the memory for NCCL's output, which a process has from its first such task on.
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
  // Not measured, for a reason that is no fault, in one line; nothing is left.
  void expect_waived(const fake::RankResult& result, const std::string& part) const {
    expect_nothing_left(0);
    ASSERT_FALSE(result.status) << "it measured";
    expect_clear(result.status, 0);
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << result.status.error().message;
    EXPECT_THAT(result.status.error().message, ::testing::HasSubstr(part));
  }
  void expect_measured() const;
  // Lets the calls with these numbers fail, one a task.
  void expect_survived(const std::vector<std::uint64_t>& calls) const;
  // Lets each allocation of a task find no memory, but for those that `known` has (the full check
  // takes all), and adds them there. Returns how many did or are known: a test that checked none
  // proves nothing.
  [[nodiscard]] int expect_waived_without_memory(std::set<Neighbours>& known) const;
  void expect_wrong_byte_found() const;

  std::ptrdiff_t descriptors_ = 0;
};

std::set<Neighbours> neighbours_among(const std::vector<std::string>& names);

// The numbers of a clean task's calls, but for those deep in its loops and those that `walked` has,
// and one more, so that none fails.
std::vector<std::uint64_t> calls_worth_failing(const std::vector<std::string>& names,
                                               const std::set<Neighbours>& walked = {});

}  // namespace railgauge
