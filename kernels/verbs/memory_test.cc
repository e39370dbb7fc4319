// Every memory kind of every verbs kernel, on the fake libibverbs and the fake CUDA driver: the
// path and its fallbacks, the proof of the data, and call number N of either library that fails.
#include "kernels/verbs/testing/memory_fixture.h"

#include <algorithm>

namespace railgauge {
namespace {

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

TEST_F(Memories, DatagramsComeIntoGpuMemoryBehindTheirRoute) {
  const auto results =
      run("verbs.send_bw",
          {{"memory", "cuda"}, {"transport", "UD"}, {"sizes", "64,1KiB"}, {"receive_depth", "64"}});
  expect_passed(results, "UD");
  for (const Point& point : results[0].points) EXPECT_TRUE(point.verified());
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

TEST_F(Memories, HugePagesOrAReason) {
  const auto results = run("verbs.write_bw", {{"huge_pages", "true"}});
  if (results[0].status) return;
  EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
  EXPECT_THAT(results[0].status.error().message, HasSubstr("vm.nr_hugepages"));
}

}  // namespace
}  // namespace railgauge
