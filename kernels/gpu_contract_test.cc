// The contract of every catalogued GPU kernel, on the fakes: call number N of a vendor library
// fails, for N = 1, 2, 3 ... until the task succeeds; each error is one clear line and nothing
// leaks. A lack of the machine waives. A kernel that can reach GPU memory in several ways
// (parameter `backend`) is walked on each. gpu_combinations_test.cc has further combinations.
#include "kernels/testing/gpu_contract.h"

namespace railgauge {
namespace {

using fake::cuda_control;
using fake::gdrapi_control;
using fake::nvml_control;
using fake::RankResult;
using fake::vulkan_control;

constexpr std::uint64_t kMaxCalls = 5000;

class EveryGpuKernel : public OnFakeGpus {
 protected:
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
};

TEST_P(EveryGpuKernel, MeasuresAndSaysThatItIsSynthetic) { expect_measured(); }

// The ways of a kernel share most calls: the short check skips calls between neighbours that an
// earlier way of the kernel had.
TEST_P(EveryGpuKernel, SurvivesAFailureOfEachCudaCallWithoutALeak) {
  static std::map<std::string, std::set<Neighbours>> by_kernel;
  std::set<Neighbours>& walked = by_kernel[GetParam().kernel];
  const RankResult clean = run();
  ASSERT_TRUE(clean.status) << clean.status.error().message;
  const std::vector<std::string> names = cuda_control().call_names();
  EXPECT_GT(names.size(), 20U) << "the walk never met the calls of a task";
  expect_survived(calls_worth_failing(names, full_check() ? std::set<Neighbours>() : walked));
  walked.merge(neighbours_among(names));
}

TEST_P(EveryGpuKernel, WaivesWhenTheDriverHasNoMemoryToGive) {
  std::set<Neighbours> known;
  EXPECT_GT(expect_waived_without_memory(known), 0) << "no allocation was looked at";
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

// Two slices of one GPU differ in the fact that the runner makes identity.
TEST_P(EveryGpuKernel, NamesTheSliceThatItMeasures) {
  std::set<std::string> names;
  for (const std::uint64_t slice : {1U, 2U}) {
    reset();
    cuda_control().mig = slice;
    nvml_control().mig = 1;
    auto parameters = shortest();
    parameters["slices"] = "measure";
    const RankResult result = run(parameters);
    ASSERT_TRUE(result.status) << result.status.error().message;
    names.insert(result.facts.at("gpu_slice_uuid"));
  }
  EXPECT_EQ(names.size(), 2U);
}

TEST_P(EveryGpuKernel, WaivesWithBothFiguresWhenLessMemoryIsFreeThanAsked) {
  cuda_control().free_bytes = 1;
  expect_waived(run(), ": 1 of its ");
}

TEST_P(EveryGpuKernel, WaivesWhenAnotherProcessUsesTheGpu) {
  nvml_control().busy_pid = 999'999'999;
  expect_waived(run(), "gpu0: it is in use by pid 999999999");
}

// The first look at the GPU's processes is before the session's contexts, the second at the end of
// the first point; a process's first session looks once more, so it is not that one.
TEST_P(EveryGpuKernel, WaivesWhenAnotherProcessComesWhileItMeasures) {
  if (GetParam().kernel.starts_with("nccl.")) return;  // its other ranks may come
  ASSERT_TRUE(run().status);
  reset();
  nvml_control().busy_pid = 999'999'999;
  nvml_control().busy_after = 1;
  expect_waived(run(), "gpu0: pid 999999999 (1.2 GB) came to use it while it was measured");
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
  if (!GetParam().backend.empty()) return;  // copied by the CPU: wrong_bytes_test.cc of kernels/bar
  expect_wrong_byte_found();
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

// A catalog without GPU kernels is a build on the way to them.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(EveryGpuKernel);
INSTANTIATE_TEST_SUITE_P(Catalog, EveryGpuKernel, ::testing::ValuesIn(ways_of_gpu_kernels()),
                         test_name);

}  // namespace
}  // namespace railgauge
