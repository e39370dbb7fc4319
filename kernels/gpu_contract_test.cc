// What every catalogued GPU kernel must keep, on the fakes: call number N of a vendor library
// fails, for N = 1, 2, 3 ... until the task succeeds; each error is one clear line and nothing
// leaks. What a machine lacks waives. A kernel that can reach GPU memory in several ways (parameter
// `backend`) is walked on each.
#include <gmock/gmock.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <ostream>
#include <string_view>

#include "kernels/catalog.h"
#include "kernels/contract.h"
#include "kernels/core/outcome.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/gdrapi.h"
#include "kernels/dl/nvml.h"
#include "kernels/dl/vulkan.h"
#include "kernels/fakes/fake_cuda.h"
#include "kernels/fakes/fake_gdrapi.h"
#include "kernels/fakes/fake_nvml.h"
#include "kernels/fakes/fake_vulkan.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
namespace {

using fake::cuda_control;
using fake::gdrapi_control;
using fake::nvml_control;
using fake::RankResult;
using fake::vulkan_control;
using ::testing::HasSubstr;

constexpr std::uint64_t kMaxCalls = 5000;
// How often a call between the same neighbours is walked: the rest of a loop tells little new, and
// some tasks make thousands of calls.
int alike_walked() {
  const char* full = std::getenv("RAILGAUGE_CHECK_FULL");
  return full != nullptr && std::string_view(full) == "1" ? 5 : 1;
}

// A kernel and the way by which it reaches GPU memory ("" where it has no choice).
struct Way {
  std::string kernel;
  std::string backend;
};
void PrintTo(const Way& way, std::ostream* out) { *out << way.kernel << " " << way.backend; }

class EveryGpuKernel : public ::testing::TestWithParam<Way> {
 protected:
  static void SetUpTestSuite() {
    setenv("RAILGAUGE_FAKE_CUDA", "driver_version=13030", 1);  // the first that maps a dma-buf
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
    setenv(kNvmlLibraryVariable, RAILGAUGE_FAKE_LIBNVML, 1);
    setenv(kGdrapiLibraryVariable, RAILGAUGE_FAKE_LIBGDRAPI, 1);
    setenv(kVulkanLibraryVariable, RAILGAUGE_FAKE_LIBVULKAN, 1);
  }
  void SetUp() override {
    reset();
    descriptors_ = open_descriptors();
  }

  // The fakes as this way needs them.
  static void reset() {
    cuda_control().reset();
    nvml_control().reset();
    gdrapi_control().reset();
    vulkan_control().reset();
    cuda_control().dmabuf_mmap = GetParam().backend == "dmabuf" ? 1 : 0;
    cuda_control().coherent = GetParam().backend == "coherent" ? 1 : 0;
  }
  static const KernelRow& row() { return *find_kernel(GetParam().kernel); }
  static bool of_several() { return row().info().endpoint_kind() != "gpu"; }

  // As short as the kernel can be: each failed call costs a whole task.
  static std::map<std::string, std::string> shortest() {
    return fake::declared_among(
        row().info(), {{"sizes", "4KiB"}, {"iterations", "2"}, {"backend", GetParam().backend}});
  }
  static RankResult run(const std::map<std::string, std::string>& parameters,
                        const std::string& endpoint = "gpu0") {
    return fake::run_solo(row(), {.parameters = parameters,
                                  .endpoint = of_several() ? "" : endpoint,
                                  .deadline_seconds = 20});
  }
  static RankResult run() { return run(shortest()); }

  static std::ptrdiff_t open_descriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  }
  void expect_nothing_left(std::uint64_t call) const {
    EXPECT_TRUE(fake::cuda_idle(5)) << "call " << call;
    EXPECT_EQ(cuda_control().live_handles(), 0) << "call " << call;
    EXPECT_EQ(nvml_control().live_handles, 0) << "call " << call;
    EXPECT_EQ(gdrapi_control().live_handles, 0) << "call " << call;
    EXPECT_EQ(vulkan_control().live_handles, 0) << "call " << call;
    EXPECT_EQ(open_descriptors(), descriptors_) << "call " << call;
  }
  // Not measured, for a reason that is no fault, in one line; nothing is left.
  void expect_waived(const RankResult& result, const std::string& part) const {
    expect_nothing_left(0);
    ASSERT_FALSE(result.status) << "it measured";
    expect_clear(result.status, 0);
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << result.status.error().message;
    EXPECT_THAT(result.status.error().message, HasSubstr(part));
  }

  // Lets call number 1, 2, 3 ... of a library fail until none is left to fail.
  template <class Control>
  std::uint64_t walk(Control& control) const {
    std::uint64_t call = 1;
    for (; call < kMaxCalls; ++call) {
      reset();
      control.fail_call = call;
      const RankResult result = run();
      expect_nothing_left(call);
      expect_clear(result.status, call);
      if (control.calls < call) {
        EXPECT_TRUE(result.status) << result.status.error().message;
        break;
      }
    }
    return call;
  }

  std::ptrdiff_t descriptors_ = 0;
};

// The calls of a clean task, but for those deep in its loops.
std::vector<std::uint64_t> calls_worth_failing(const std::vector<std::string>& names) {
  std::vector<std::uint64_t> calls;
  const int alike = alike_walked();
  std::map<std::array<std::string, 3>, int> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& before = i > 0 ? names[i - 1] : "";
    const std::string& after = i + 1 < names.size() ? names[i + 1] : "";
    if (seen[{before, names[i], after}]++ < alike) calls.push_back(i + 1);
  }
  calls.push_back(names.size() + 1);  // none fails: the task succeeds
  return calls;
}

TEST_P(EveryGpuKernel, MeasuresAndSaysThatItIsSynthetic) {
  const RankResult result = run();
  ASSERT_TRUE(result.status) << result.status.error().message;
  ASSERT_FALSE(result.points.empty());
  const KernelInfo info = row().info();
  for (const Point& point : result.points) {
    EXPECT_TRUE(point.synthetic()) << point.metric();
    EXPECT_GT(point.median(), 0) << point.metric();
    EXPECT_THAT(info.metrics(), ::testing::Contains(point.metric()));
    EXPECT_EQ(point.facts().count("throttle_reasons"), 1U) << "not reported by the session";
  }
  expect_nothing_left(0);
}

TEST_P(EveryGpuKernel, SurvivesAFailureOfEachCudaCallWithoutALeak) {
  const RankResult clean = run();
  ASSERT_TRUE(clean.status) << clean.status.error().message;
  const std::vector<std::string> names = cuda_control().call_names();
  EXPECT_GT(names.size(), 20U) << "the walk never met the calls of a task";
  for (const std::uint64_t call : calls_worth_failing(names)) {
    reset();
    cuda_control().fail_call = call;
    const RankResult result = run();
    SCOPED_TRACE(call <= names.size() ? names[call - 1] : "no call");
    expect_nothing_left(call);
    expect_clear(result.status, call);
    if (cuda_control().calls < call) {
      EXPECT_TRUE(result.status) << result.status.error().message;
    } else if (!result.status) {
      EXPECT_NE(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    }
  }
}

TEST_P(EveryGpuKernel, WaivesWhenTheDriverHasNoMemoryToGive) {
  const RankResult clean = run();
  ASSERT_TRUE(clean.status) << clean.status.error().message;
  const std::vector<std::string> names = cuda_control().call_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != "cuMemAlloc_v2" && names[i] != "cuMemHostAlloc") continue;
    reset();
    cuda_control().fail_call = i + 1;
    cuda_control().fail_error = cu::kOutOfMemory;
    expect_waived(run(), "CUDA_ERROR_OUT_OF_MEMORY");
  }
}

TEST_P(EveryGpuKernel, SurvivesAFailureOfEachCallOfTheMappingsLibrary) {
  if (GetParam().backend == "gdrdrv") {
    EXPECT_GT(walk(gdrapi_control()), 4U);
  } else if (GetParam().backend == "vulkan") {
    EXPECT_GT(walk(vulkan_control()), 6U);
  }
}

TEST_P(EveryGpuKernel, WaivesForAGpuThatIsNotThere) {
  auto parameters = shortest();
  if (of_several()) parameters["gpus"] = "0,9";
  expect_waived(run(parameters, "gpu9"), "gpu9: open: CUDA shows 2 GPUs");
}

TEST_P(EveryGpuKernel, WaivesOnASliceOfAPartitionedGpu) {
  cuda_control().mig = 1;
  expect_waived(run(), "measure with MIG off");
  reset();
  nvml_control().mig = 1;
  expect_waived(run(), "measure with MIG off");
}

TEST_P(EveryGpuKernel, WaivesWithBothFiguresWhenLessMemoryIsFreeThanAsked) {
  cuda_control().free_bytes = 1;
  expect_waived(run(), ": 1 of its ");
}

TEST_P(EveryGpuKernel, WaivesWhenAnotherProcessUsesTheGpu) {
  nvml_control().busy_pid = 999'999'999;
  expect_waived(run(), "gpu0: it is in use by pid 999999999");
}

TEST_P(EveryGpuKernel, WaivesSayingWhatItsWayLacks) {
  const std::string& backend = GetParam().backend;
  if (backend == "gdrdrv") {
    gdrapi_control().no_driver = 1;
    expect_waived(run(), "load the module gdrdrv");
  } else if (backend == "dmabuf") {
    cuda_control().dmabuf = 0;
    expect_waived(run(), "DMA_BUF_SUPPORTED");
    cuda_control().dmabuf = 1;
    cuda_control().dmabuf_mmap = 0;
    expect_waived(run(), "DMA_BUF_MMAP_SUPPORTED");
  } else if (backend == "coherent") {
    cuda_control().coherent = 0;
    expect_waived(run(), "coherent");
  } else if (backend == "vulkan") {
    vulkan_control().no_large_bar = 1;
    expect_waived(run(), "vulkan");
    vulkan_control().no_large_bar = 0;
    vulkan_control().other_uuid = 1;
    expect_waived(run(), "vulkan");
  }
}

TEST_P(EveryGpuKernel, FailsWhenOneByteOfACopyIsWrong) {
  if (!GetParam().backend.empty()) return;  // copied by the CPU: the fake has no hand in it
  cuda_control().flip_byte = 1;
  cuda_control().flip_synchronous = row().info().name() == "cuda.copy_latency" ? 1 : 0;
  const RankResult result = run();
  expect_nothing_left(0);
  ASSERT_FALSE(result.status) << "wrong bytes passed";
  EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  EXPECT_TRUE(result.points.empty()) << "a figure over wrong bytes counts";
}

TEST_P(EveryGpuKernel, IsNotTakenInByAMappingOfOtherMemory) {
  if (GetParam().backend != "vulkan") return;
  cuda_control().import_other = 1;
  const RankResult result = run();
  expect_nothing_left(0);
  ASSERT_FALSE(result.status);
  EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  expect_clear(result.status, 0);
}

TEST_P(EveryGpuKernel, MeasuresOrWaivesWhereGpusDoNotReachEachOther) {
  if (!of_several()) return;
  cuda_control().no_peer = 1;
  const RankResult result = run();
  expect_nothing_left(0);
  expect_clear(result.status, 0);
  if (!result.status) {
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << result.status.error().message;
  }
}

TEST_P(EveryGpuKernel, WaivesWithoutStreamMemoryOperationsOrNeedsNone) {
  cuda_control().no_stream_memops = 1;
  const RankResult result = run();
  expect_nothing_left(0);
  expect_clear(result.status, 0);
  if (!result.status) {
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << result.status.error().message;
  }
}

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const KernelRow& row : catalog()) {
    const KernelInfo info = row.info();
    if (info.endpoint_kind() == "nic") continue;
    bool chooses = false;
    for (const ParameterInfo& parameter : info.parameters())
      for (const std::string& choice : parameter.choices()) {
        if (parameter.name() != "backend" || choice == "auto") continue;
        // Where the CPU reaches GPU memory as it is there is nothing to map: it waives.
        if (info.name() != "bar.map_cost" || choice != "coherent")
          all.push_back({info.name(), choice});
        chooses = true;
      }
    if (!chooses) all.push_back({info.name(), ""});
  }
  return all;
}

// A catalog without GPU kernels is a build on the way to them.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryGpuKernel);
INSTANTIATE_TEST_SUITE_P(Catalog, EveryGpuKernel, ::testing::ValuesIn(ways()),
                         [](const auto& param) {
                           std::string name = param.param.kernel;
                           if (!param.param.backend.empty()) name += "_" + param.param.backend;
                           for (char& c : name)
                             if (c == '.') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace railgauge
