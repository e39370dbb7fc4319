// For tests of verbs kernels on GPU memory: resets the fake libibverbs and the fake CUDA driver,
// and checks that no handle is left afterwards.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/nvml.h"
#include "kernels/dl/rdmacm.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/cuda/fake_cuda.h"
#include "kernels/fakes/nvml/fake_nvml.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/solo.h"
#include "kernels/fakes/verbs/fake_verbs.h"
#include "kernels/testing/contract.h"

namespace railgauge {

using fake::cuda_control;
using fake::nvml_control;
using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

inline constexpr std::uint64_t kMaxCalls = 3000;

// Failures after which a task continues, because another path registers the memory, and reports it.
inline constexpr std::array<std::string_view, 5> kCallsWithAnotherPath{
    "ibv_reg_dmabuf_mr", "mlx5dv_reg_dmabuf_mr", "mlx5dv_get_data_direct_sysfs_path",
    "cuMemGetHandleForAddressRange", "cuDeviceGetAttribute"};

// Reports whether a task rightly continues after its CUDA call `call` (from 1) of `names`, or a
// verbs call, failed: a call with another path, a GPU fact that some drivers lack, or the wait at
// the release of a task's streams, after its last copy.
inline bool may_continue(const std::array<RankResult, 2>& results, const std::string& failed,
                         const std::vector<std::string>& names, std::uint64_t call) {
  if (std::ranges::find(kCallsWithAnotherPath, failed) != kCallsWithAnotherPath.end())
    return std::ranges::any_of(
        results, [](const RankResult& result) { return result.facts.contains("path_refused"); });
  if (failed == "cuDeviceGetUuid") return true;
  // After that call neither rank copies or runs anything.
  const auto after = names.begin() + static_cast<std::ptrdiff_t>(std::min(call, names.size()));
  const bool at_the_end = std::none_of(after, names.end(), [](const std::string& name) {
    return name.starts_with("cuMemcpy") || name.starts_with("cuLaunch");
  });
  return failed == "cuStreamSynchronize" && at_the_end;
}

// The verbs kernels that declare a parameter: `memory`, or what only GPU memory has.
inline std::vector<std::string> verbs_kernels_with(std::string_view parameter) {
  std::vector<std::string> names;
  for (const KernelRow& row : catalog()) {
    const KernelInfo info = row.info();
    if (info.name().starts_with("verbs.") &&
        std::ranges::any_of(info.parameters(),
                            [&](const auto& one) { return one.name() == parameter; }))
      names.push_back(info.name());
  }
  return names;
}

// The answer of a kernel that accepts no staged memory, or no GPU memory.
inline bool takes(std::string_view kernel, std::string_view kind) {
  if (kind == "cuda") return kernel != "verbs.write_lat";
  const bool fetches = kernel.starts_with("verbs.read") || kernel.starts_with("verbs.atomic");
  return kind != "staged" || !fetches;
}

inline void expect_passed(const std::array<RankResult, 2>& results, const std::string& what) {
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << what << ": " << result.status.error().message;
}

class Memories : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kRdmacmLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
    setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1);
  }
  void SetUp() override { reset(); }
  void TearDown() override {
    reset();
    expect_nothing_left("at the end");
  }
  static void reset() {
    verbs_control().reset();
    cuda_control().reset();
    nvml_control().reset();
  }
  static void expect_nothing_left(const std::string& when) {
    EXPECT_TRUE(fake::cuda_idle(5)) << when;
    EXPECT_EQ(verbs_control().live_handles, 0) << when;
    EXPECT_EQ(cuda_control().live_handles(), 0) << when;
  }
  static std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  }
  // Runs a kernel with the declared ones of the `wanted` parameters.
  static auto run(std::string_view kernel, Parameters wanted) {
    wanted.emplace("stall_timeout", "30s");
    wanted.emplace("iterations", "50");
    wanted.emplace("sizes", "4KiB");
    const KernelRow& row = *find_kernel(kernel);
    return run_pair(row, {.parameters = fake::declared_among(row.info(), wanted)});
  }

  // Walks as kernel_contract_test does, on GPU memory: call number N of each of `libraries` fails,
  // for N = 1, 2, 3 ... until the task succeeds.
  enum Library : bool { kOfVerbs, kOfCuda };
  static void walk(const std::string& kernel, const Parameters& shortest,
                   const std::vector<Library>& libraries = {kOfVerbs, kOfCuda}) {
    for (const bool of_cuda : libraries) {
      reset();
      expect_passed(run(kernel, shortest), kernel);
      const std::ptrdiff_t descriptors = open_descriptors();
      std::uint64_t call = 1;
      for (; call < kMaxCalls && !HasFailure(); ++call) {
        reset();
        (of_cuda ? cuda_control().fail_call : verbs_control().fail_call) = call;
        const auto results = run(kernel, shortest);
        const std::uint64_t made = of_cuda ? cuda_control().calls : verbs_control().calls;
        const auto names = cuda_control().call_names();
        const std::string what = kernel + (of_cuda ? ", CUDA call " : ", verbs call ") +
                                 std::to_string(call) + " " +
                                 (of_cuda && call <= names.size() ? names[call - 1] : "");
        expect_nothing_left(what);
        EXPECT_EQ(open_descriptors(), descriptors) << what;
        for (const RankResult& result : results) {
          SCOPED_TRACE(what);
          expect_clear(result.status, call);
          EXPECT_TRUE(result.status || result.status.error().code != Code::kDataLoss)
              << result.status.error().message;
        }
        if (made >= call) {
          SCOPED_TRACE(what);
          const auto failed =
              of_cuda ? names.at(call - 1) : std::string(verbs_control().failed_call.load());
          if (!may_continue(results, failed, names, call)) expect_told(results, failed, {});
          continue;
        }
        expect_passed(results, what);
        break;
      }
      EXPECT_GT(call, 20U) << kernel;
      EXPECT_LT(call, kMaxCalls) << kernel;
    }
  }
};

}  // namespace railgauge
