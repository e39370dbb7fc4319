// Staged transfers, and how soon a GPU kernel sees a write, on the fakes.
#include <vector>

#include "kernels/verbs/testing/memory_fixture.h"

namespace railgauge {
namespace {

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
  const auto relaxed = run("verbs.write_bw", {{"memory", "staged"}, {"relaxed_ordering", "true"}});
  ASSERT_FALSE(relaxed[0].status);
  EXPECT_EQ(relaxed[0].status.error().code, Code::kInvalidArgument);
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
    EXPECT_EQ(point.verified(), point.message_bytes() > 4) << "the flag itself is not compared";
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
  ASSERT_EQ(results[0].points.size(), 3U);
  EXPECT_EQ(results[0].points[2].meaning(), "gpu_visible_read_back");
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

}  // namespace
}  // namespace railgauge
