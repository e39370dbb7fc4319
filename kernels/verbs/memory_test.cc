// Every memory kind of every verbs kernel, on the fake libibverbs and the fake CUDA driver: the
// path and its fallbacks, the proof of the data, and call number N of either library that fails.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "kernels/catalog.h"
#include "kernels/contract.h"
#include "kernels/core/outcome.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/fake_cuda.h"
#include "kernels/fakes/fake_verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
namespace {

using fake::cuda_control;
using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

constexpr std::uint64_t kMaxCalls = 3000;

void expect_passed(const std::array<RankResult, 2>& results, const std::string& what) {
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << what << ": " << result.status.error().message;
}

class Memories : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1);
    setenv(kCudaLibraryVariable, RAILGAUGE_FAKE_LIBCUDA, 1);
  }
  void SetUp() override { reset(); }
  void TearDown() override {
    reset();
    expect_nothing_left("at the end");
  }
  static void reset() {
    verbs_control().reset();
    cuda_control().reset();
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
  // A kernel takes of `wanted` what it declares.
  static auto run(std::string_view kernel, Parameters wanted) {
    wanted.emplace("stall_timeout", "2s");
    wanted.emplace("iterations", "50");
    wanted.emplace("sizes", "4KiB");
    const KernelRow& row = *find_kernel(kernel);
    return run_pair(row, {.parameters = fake::declared_among(row.info(), wanted)});
  }

  // The walk of kernel_contract_test with GPU memory: call number N of either library fails, for N
  // = 1, 2, 3 ... until the task succeeds.
  static void walk(const std::string& kernel, const Parameters& shortest) {
    for (const bool of_cuda : {false, true}) {
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
        if (made >= call) continue;
        expect_passed(results, what);
        break;
      }
      EXPECT_GT(call, 20U) << kernel;
      EXPECT_LT(call, kMaxCalls) << kernel;
    }
  }
};

bool chooses_memory(const KernelInfo& info) {
  return std::ranges::any_of(info.parameters(),
                             [](const auto& parameter) { return parameter.name() == "memory"; });
}

std::vector<std::string> verbs_kernels() {
  std::vector<std::string> names;
  for (const KernelRow& row : catalog())
    if (row.info().name().starts_with("verbs.") && chooses_memory(row.info()))
      names.push_back(row.info().name());
  return names;
}

// What a kernel that takes no staged memory, or no GPU's, says of it.
bool takes(std::string_view kernel, std::string_view kind) {
  if (kind == "cuda") return kernel != "verbs.write_lat";
  const bool fetches = kernel.starts_with("verbs.read") || kernel.starts_with("verbs.atomic");
  return kind != "staged" || !fetches;
}

class MemoryMatrix : public Memories, public ::testing::WithParamInterface<std::string> {};

TEST_P(MemoryMatrix, EachSideHasItsOwnMemoryAndTheResultSaysWhich) {
  const std::string& kernel = GetParam();
  for (const char* here : {"host", "cuda"}) {
    for (const char* there : {"host", "cuda"}) {
      const std::string what = kernel + " " + here + " to " + there;
      const auto results = run(kernel, {{"memory", here}, {"target_memory", there}});
      if (!takes(kernel, here) || !takes(kernel, there)) {
        for (const RankResult& result : results) {
          ASSERT_FALSE(result.status) << what;
          EXPECT_EQ(outcome_of(result.status.error().code), kWaived) << what;
          expect_clear(result.status, 0);
        }
        continue;
      }
      expect_passed(results, what);
      const auto path = [](std::string_view kind) { return kind == "cuda" ? "dma-buf" : "host"; };
      EXPECT_EQ(results[0].facts.at("memory"), here) << what;
      EXPECT_EQ(results[0].facts.at("path"), path(here)) << what;
      EXPECT_EQ(results[0].facts.at("peer_memory"), there) << what;
      EXPECT_EQ(results[1].facts.at("path"), path(there)) << what;
      EXPECT_FALSE(results[0].facts.contains("path_refused")) << what;
      ASSERT_FALSE(results[0].points.empty()) << what;
      for (const Point& point : results[0].points) {
        EXPECT_TRUE(point.synthetic()) << what;
        EXPECT_TRUE(point.verified()) << what;
      }
      expect_nothing_left(what);
    }
  }
}

TEST_P(MemoryMatrix, OneWrongByteInGpuMemoryFailsBothRanks) {
  const std::string& kernel = GetParam();
  if (!takes(kernel, "cuda")) return;
  verbs_control().flip_byte = 1;
  for (const RankResult& result : run(kernel, {{"memory", "cuda"}})) {
    ASSERT_FALSE(result.status) << kernel;
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    EXPECT_TRUE(result.points.empty());
  }
}

TEST_P(MemoryMatrix, SurvivesAFailureOfEachCallOfEachLibraryWithoutALeak) {
  for (const char* kind : {"cuda", "staged"})
    if (takes(GetParam(), kind))
      walk(GetParam(), {{"memory", kind},
                        {"sizes", "16"},
                        {"iterations", "2"},
                        {"signal_every", "1"},
                        {"receive_depth", "4"},
                        {"stage_depth", "2"},
                        {"stall_timeout", "500ms"}});
}
INSTANTIATE_TEST_SUITE_P(Kernels, MemoryMatrix, ::testing::ValuesIn(verbs_kernels()),
                         [](const auto& param) { return param.param.substr(6); });

TEST_F(Memories, PeermemIsTakenWhereDmaBufIsRefusedAndTheCallAndItsErrnoAreTold) {
  verbs_control().no_dmabuf = EOPNOTSUPP;
  const auto results = run("verbs.write_bw", {{"memory", "cuda"}});
  expect_passed(results, "peermem");
  for (const RankResult& result : results) {
    EXPECT_EQ(result.facts.at("path"), "nvidia-peermem");
    EXPECT_THAT(result.facts.at("path_refused"),
                AllOf(HasSubstr("dma-buf: ibv_reg_dmabuf_mr of "), HasSubstr("(errno 95)")));
    EXPECT_THAT(result.notes, Contains(HasSubstr("nvidia-peermem registers the memory, because")));
  }
}

TEST_F(Memories, WhatTheDriverCannotExportIsTheOtherReasonForAFallback) {
  cuda_control().dmabuf = 0;
  const auto results = run("verbs.write_bw", {{"memory", "cuda"}});
  expect_passed(results, "peermem");
  EXPECT_THAT(results[0].facts.at("path_refused"), HasSubstr("DMA_BUF_SUPPORTED"));
}

TEST_F(Memories, WaivesWithEveryFailingCallWhereNoPathWorks) {
  verbs_control().no_dmabuf = EOPNOTSUPP;
  verbs_control().no_peermem = EFAULT;
  const auto results = run("verbs.send_bw", {{"memory", "cuda"}});
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
    expect_clear(result.status, 0);
    EXPECT_THAT(result.status.error().message,
                AllOf(HasSubstr("register memory of gpu0: dma-buf: ibv_reg_dmabuf_mr of "),
                      HasSubstr("(errno 95); nvidia-peermem: ibv_reg_mr"), HasSubstr("(errno 14)"),
                      HasSubstr("load the module nvidia-peermem")));
  }
}

TEST_F(Memories, AForcedPathIsTheOnlyOneThatIsTried) {
  const auto forced =
      run("verbs.read_lat", {{"memory", "cuda"}, {"registration", "nvidia-peermem"}});
  expect_passed(forced, "forced");
  EXPECT_EQ(forced[0].facts.at("path"), "nvidia-peermem");
  EXPECT_FALSE(forced[0].facts.contains("path_refused"));
  verbs_control().no_dmabuf = EPROTONOSUPPORT;
  const auto refused = run("verbs.read_lat", {{"memory", "cuda"}, {"registration", "dma-buf"}});
  ASSERT_FALSE(refused[0].status);
  EXPECT_EQ(outcome_of(refused[0].status.error().code), kWaived);
  EXPECT_THAT(refused[0].status.error().message,
              AllOf(HasSubstr("(errno 93)"), Not(HasSubstr("nvidia-peermem: "))));
}

TEST_F(Memories, NothingIsSentInlineOutOfGpuMemory) {
  const auto results = run("verbs.send_lat", {{"memory", "cuda"}, {"sizes", "8"}});
  expect_passed(results, "send_lat");
  EXPECT_EQ(results[0].facts.at("inline_bytes"), "0");
  EXPECT_EQ(results[0].points[0].facts().at("sent_inline"), "false");
}

TEST_F(Memories, AGpuIsNamedByItsNumberOrItsUuid) {
  for (const char* gpu : {"1", "gpu1"}) {
    const auto results = run("verbs.write_bw", {{"memory", "cuda"}, {"gpu", gpu}});
    expect_passed(results, gpu);
    EXPECT_EQ(results[0].facts.at("gpu"), "gpu1");
    const std::string uuid = results[0].facts.at("gpu_uuid");
    const auto again = run("verbs.write_bw", {{"memory", "cuda"}, {"gpu", uuid}});
    expect_passed(again, uuid);
    EXPECT_EQ(again[0].facts.at("gpu"), "gpu1");
  }
  for (const char* gpu : {"7", "GPU-nobody"}) {
    const auto results = run("verbs.write_bw", {{"memory", "cuda"}, {"gpu", gpu}});
    ASSERT_FALSE(results[0].status) << gpu;
    EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
  }
}

// Staged.

const std::vector<const char*> kStagedKernels{"verbs.write_bw",      "verbs.write_imm_bw",
                                              "verbs.send_bw",       "verbs.write_lat",
                                              "verbs.write_imm_lat", "verbs.send_lat"};

TEST_F(Memories, StagedMessagesGoThroughTheHostInChunksAndArriveWhole) {
  for (const char* kernel : kStagedKernels) {
    const auto results = run(kernel, {{"memory", "staged"},
                                      {"sizes", "8,100,4KiB,64KiB"},
                                      {"stage_chunk", "10000"},
                                      {"stage_depth", "3"}});
    expect_passed(results, kernel);
    EXPECT_EQ(results[0].facts.at("memory"), "staged") << kernel;
    EXPECT_EQ(results[0].facts.at("path"), "staged") << kernel;
    EXPECT_EQ(results[0].facts.at("gpu"), "gpu0") << kernel;
    ASSERT_FALSE(results[0].points.empty()) << kernel;
    EXPECT_EQ(results[0].points.back().facts().at("chunks_in_message"), "7") << kernel;
    for (const Point& point : results[0].points) {
      EXPECT_TRUE(point.synthetic()) << kernel;
      EXPECT_TRUE(point.verified()) << kernel;
    }
    EXPECT_GE(cuda_control().copies_to_gpu, 50U * (1 + 1 + 1 + 7)) << kernel;
    expect_nothing_left(kernel);
  }
}

TEST_F(Memories, StagedBandwidthSamplesUntilItsStopRuleSaysSo) {
  const auto results = run(
      "verbs.write_bw",
      {{"memory", "staged"}, {"iterations", "0"}, {"max_samples", "60"}, {"time_cap", "400ms"}});
  expect_passed(results, "adaptive");
  EXPECT_GE(results[0].points[0].sample_count(), 2);
}

TEST_F(Memories, OneSideAloneCanBeStaged) {
  for (const char* kernel : {"verbs.write_bw", "verbs.write_imm_bw", "verbs.write_lat"})
    for (const char* other : {"host", "cuda"})
      for (const bool initiator : {false, true}) {
        const std::string what = std::string(kernel) + " with " + other;
        const auto results = run(kernel, {{"memory", initiator ? "staged" : other},
                                          {"target_memory", initiator ? other : "staged"},
                                          {"sizes", "40000"},
                                          {"stage_chunk", "4KiB"}});
        expect_passed(results, what);
        EXPECT_EQ(results[initiator ? 0 : 1].facts.at("path"), "staged") << what;
        EXPECT_EQ(results[initiator ? 1 : 0].facts.at("memory"), other) << what;
      }
}

TEST_F(Memories, AStagedCopyThatIsNotDoneIsFound) {
  for (const char* kernel : {"verbs.write_bw", "verbs.send_bw", "verbs.send_lat"}) {
    const Parameters way{{"memory", "staged"},
                         {"sizes", "64KiB"},
                         {"stage_chunk", "16KiB"},
                         {"stage_depth", "3"},
                         {"iterations", "20"}};
    reset();
    expect_passed(run(kernel, way), kernel);
    const std::uint64_t to_gpu = cuda_control().copies_to_gpu;
    const std::uint64_t to_host = cuda_control().copies_to_host;
    for (std::uint64_t before_last = 0; before_last < 4; ++before_last) {  // of the last message
      for (const bool down : {false, true}) {
        reset();
        (down ? cuda_control().drop_to_host : cuda_control().drop_to_gpu) =
            (down ? to_host : to_gpu) - before_last;
        const auto results = run(kernel, way);
        ASSERT_FALSE(results[0].status) << kernel << ", " << before_last;
        EXPECT_EQ(results[0].status.error().code, Code::kDataLoss)
            << results[0].status.error().message;
        EXPECT_TRUE(results[0].points.empty());
      }
    }
  }
}

TEST_F(Memories, WhatCannotBeStagedSaysSo) {
  for (const auto& [kernel, words] : std::map<std::string, std::string>{
           {"verbs.read_bw", "a read names the target's memory"},
           {"verbs.atomic_lat", "a fetch-and-add names the target's memory"}}) {
    const auto results = run(kernel, {{"memory", "staged"}});
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status) << kernel;
      EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
      EXPECT_THAT(result.status.error().message, HasSubstr(words));
    }
  }
  const auto one_side = run("verbs.send_bw", {{"memory", "staged"}, {"target_memory", "host"}});
  EXPECT_EQ(outcome_of(one_side[0].status.error().code), kWaived);
  const auto many = run("verbs.write_bw", {{"memory", "staged"}, {"qps", "2"}});
  ASSERT_FALSE(many[0].status);
  EXPECT_EQ(many[0].status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(many[0].status.error().message, HasSubstr("parameter qps: 2"));
}

TEST_F(Memories, AStagedTwinIsMeasuredInTheSameTaskAndTheCrossingIsNamed) {
  for (const char* kernel : {"verbs.write_bw", "verbs.send_lat"}) {
    const auto results = run(kernel, {{"memory", "cuda"},
                                      {"target_memory", "cuda"},
                                      {"staged_twin", "true"},
                                      {"sizes", "64,64KiB"}});
    expect_passed(results, kernel);
    EXPECT_EQ(results[0].facts.at("path"), "dma-buf") << kernel;
    std::map<std::string, int> points;
    for (const Point& point : results[0].points) ++points[point.pair()];
    EXPECT_EQ(points[""], points["staged"]) << kernel;
    EXPECT_GE(points["staged"], 2) << kernel;
    EXPECT_THAT(results[0].notes, Contains(HasSubstr("GPUDirect and staged"))) << kernel;
  }
  const auto alone = run("verbs.write_bw", {{"staged_twin", "true"}});
  ASSERT_FALSE(alone[0].status);
  EXPECT_EQ(alone[0].status.error().code, Code::kInvalidArgument);
}

// Visibility.

TEST_F(Memories, AGpuKernelSeesEachWriteAndAnswers) {
  verbs_control().delay_ns = 20'000;
  const auto results = run("verbs.write_visible_lat", {{"sizes", "4,4KiB"}});
  expect_passed(results, "visible");
  ASSERT_EQ(results[0].points.size(), 6U);
  const std::array meanings{"completion", "gpu_visible", "gpu_visible_flushed"};
  for (std::size_t i = 0; i < 6; ++i) {
    const Point& point = results[0].points[i];
    EXPECT_EQ(point.metric(), "latency_ns");
    EXPECT_EQ(point.meaning(), meanings.at(i % 3));
    EXPECT_TRUE(point.verified());
    EXPECT_TRUE(point.synthetic());
    EXPECT_GE(point.min(), i % 3 == 0 ? 20'000 : 40'000) << "the way there, and the way back";
  }
  EXPECT_EQ(cuda_control().flushes, 2U * 50);
  EXPECT_EQ(results[0].facts.at("rdma_writes_ordering"), "all_devices");
  EXPECT_EQ(results[0].facts.at("peer_path"), "dma-buf");
  EXPECT_EQ(results[0].facts.at("memory"), "host");
}

TEST_F(Memories, WhereTheHostCannotFlushOnlyThatFigureIsAbsent) {
  cuda_control().no_flush = 1;
  cuda_control().writes_ordering = 0;
  const auto results = run("verbs.write_visible_lat", {{"sizes", "8"}});
  expect_passed(results, "visible");
  EXPECT_EQ(results[0].points.size(), 2U);
  EXPECT_EQ(results[0].facts.at("rdma_writes_ordering"), "none");
  EXPECT_THAT(results[0].notes, Contains(HasSubstr("gpu_visible_flushed is not measured")));
}

TEST_F(Memories, VisibilitySurvivesAFailureOfEachCallOfEachLibrary) {
  walk("verbs.write_visible_lat",
       {{"sizes", "16"}, {"iterations", "2"}, {"stall_timeout", "500ms"}});
}

TEST_F(Memories, AFlagIsReadByOneAccess) {
  for (const char* sizes : {"2", "10"}) {
    const auto results = run("verbs.write_visible_lat", {{"sizes", sizes}});
    ASSERT_FALSE(results[0].status) << sizes;
    EXPECT_EQ(results[0].status.error().code, Code::kInvalidArgument);
  }
}

TEST_F(Memories, HugePagesOrAReason) {
  const auto results = run("verbs.write_bw", {{"huge_pages", "true"}});
  if (results[0].status) return;
  EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
  EXPECT_THAT(results[0].status.error().message, HasSubstr("vm.nr_hugepages"));
}

}  // namespace
}  // namespace railgauge
