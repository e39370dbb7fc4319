// Staged transfers, and how soon a GPU kernel sees a write, on the fakes.
#include <algorithm>
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

// This machine may be busy: then a note of each end says so.
TEST_F(Memories, AStagedTransferHasTheHostsCpuOfEachEnd) {
  const auto results = run("verbs.write_bw", {{"memory", "staged"},
                                              {"iterations", "0"},
                                              {"host_cpu", "true"},
                                              {"least_time", "260ms"},
                                              {"time_cap", "400ms"}});
  expect_passed(results, "staged");
  const auto is_cost = [](const Point& point) { return point.metric() == "host_cpu_ns_per_byte"; };
  const auto is_reason = [](const std::string& note) {
    return note.find("no host_cpu_ns_per_byte") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(results[0].points, is_cost) +
                std::ranges::count_if(results[0].notes, is_reason),
            2);
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
        EXPECT_THAT(results[0].status.error().message, HasSubstr(", expected "));
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
  const auto relaxed = run("verbs.write_bw", {{"memory", "staged"}, {"relaxed_ordering", "on"}});
  ASSERT_FALSE(relaxed[0].status);
  EXPECT_EQ(relaxed[0].status.error().code, Code::kInvalidArgument);
}

TEST_F(Memories, WhatAStagingDoesNotDoIsRefusedByNameAndValue) {
  struct Refusal {
    const char* kernel;
    const char* name;
    const char* value;
    const char* says;
  };
  for (const auto& [kernel, name, value, says] :
       {Refusal{"verbs.write_bw", "qps", "2", "; leave it out or say 1"},
        Refusal{"verbs.write_bw", "duration", "1s", "; leave it out or say 0s"},
        Refusal{"verbs.write_bw", "direction", "both", "; leave it out or say one_way"},
        Refusal{"verbs.write_bw", "signal_every", "4",
                ", where each chunk completes by itself; "
                "leave it out or say 1"},
        Refusal{"verbs.write_lat", "signal_every", "4", "; leave it out"},
        Refusal{"verbs.write_bw", "inline_bytes", "64", "; leave it out or say 0"},
        Refusal{"verbs.send_lat", "inline_bytes", "64", "; leave it out or say 0"},
        Refusal{"verbs.send_bw", "receive_depth", "4", ", where stage_depth receives wait"},
        Refusal{"verbs.send_lat", "poll", "events", "; leave it out or say busy"}}) {
    const auto results = run(kernel, {{"memory", "staged"}, {"iterations", "0"}, {name, value}});
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status) << kernel << " " << name;
      EXPECT_EQ(result.status.error().code, Code::kInvalidArgument) << name;
      EXPECT_THAT(result.status.error().message,
                  AllOf(HasSubstr(std::string("parameter ") + name + ": " + value +
                                  " is not for staged memory"),
                        HasSubstr(says)));
    }
  }
  for (const auto& [name, value] :
       Parameters{{"signal_every", "1"}, {"inline_bytes", "0"}, {"depth", "3"}})
    expect_passed(run("verbs.write_bw", {{"memory", "staged"}, {name, value}}), name);
}

// How far the copies out of the sender's GPU were ahead of those into the receiver's at each write.
std::vector<std::int64_t> ahead_at_each_write(Parameters parameters) {
  std::vector<std::int64_t> ahead;
  verbs_control().on_data_write = [&](std::uint64_t) {
    ahead.push_back(static_cast<std::int64_t>(cuda_control().copies_to_host) -
                    static_cast<std::int64_t>(cuda_control().copies_to_gpu));
  };
  parameters.insert(
      {{"memory", "staged"}, {"iterations", "20"}, {"sizes", "4KiB"}, {"verify", "false"}});
  const KernelRow& row = *find_kernel("verbs.write_bw");
  expect_passed(run_pair(row, {.parameters = parameters}), "depth");
  verbs_control().on_data_write = nullptr;
  return ahead;
}

TEST_F(Memories, NoMoreMessagesAreOnTheirWayThanDepthSays) {
  const auto one = ahead_at_each_write({{"depth", "1"}, {"signal_every", "1"}});
  ASSERT_EQ(one.size(), 20U);
  EXPECT_THAT(one, ::testing::Each(one.front())) << "the next only when the last is there";
  // Where the receiver keeps up with every write, none is seen ahead: a few tries.
  std::int64_t spread = 0;
  for (int tries = 0; tries < 20 && spread == 0; ++tries) {
    reset();
    const auto many = ahead_at_each_write({});
    ASSERT_FALSE(many.empty());
    spread = std::ranges::max(many) - std::ranges::min(many);
  }
  EXPECT_GT(spread, 0);
}

TEST_F(Memories, OfShortMessagesAsManyBytesAreOnTheirWayAsOfLongOnes) {
  const auto results = run("verbs.write_bw", {{"memory", "staged"},
                                              {"sizes", "64,4KiB,64KiB"},
                                              {"stage_chunk", "16KiB"},
                                              {"stage_depth", "4"},
                                              {"depth", "32"}});
  expect_passed(results, "bytes in flight");
  std::map<double, std::string> in_flight;
  for (const Point& point : results[0].points)
    in_flight[point.message_bytes()] = point.facts().at("bytes_in_flight");
  EXPECT_EQ(in_flight[64], std::to_string(32 * 64)) << "depth bounds it";
  EXPECT_EQ(in_flight[4096], std::to_string(4 * 16384));
  EXPECT_EQ(in_flight[65536], std::to_string(4 * 16384));
}

TEST_F(Memories, ATwinLeavesTheDirectTransferItsParametersAndSaysSo) {
  const auto results =
      run("verbs.write_bw",
          {{"memory", "cuda"}, {"staged_twin", "true"}, {"signal_every", "4"}, {"sizes", "64"}});
  expect_passed(results, "twin");
  EXPECT_THAT(results[0].notes,
              Contains("staged_twin: signal_every 4 holds for the direct transfer alone"));
}

TEST_F(Memories, AStagedTwinIsMeasuredInTheSameTaskAndTheCrossingIsNamed) {
  for (const char* kernel : {"verbs.write_bw", "verbs.send_lat"}) {
    const auto results = run(kernel, {{"memory", "cuda"},
                                      {"target_memory", "cuda"},
                                      {"staged_twin", "true"},
                                      {"sizes", "64,4KiB,64KiB"}});
    expect_passed(results, kernel);
    EXPECT_EQ(results[0].facts.at("path"), "dma-buf") << kernel;
    std::map<std::string, int> points;
    for (const Point& point : results[0].points) {
      ++points[point.pair()];
      if (point.pair() == "staged") {
        EXPECT_EQ(point.facts().at("path"), "staged");
        EXPECT_EQ(point.facts().at("peer_memory"), "staged");
      }
    }
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

TEST_F(Memories, OnIwarpTheFlagIsReadBackIntoWhatTheOtherSideMayWrite) {
  cuda_control().no_flush = 1;
  verbs_control().iwarp = 1;
  const auto results = run_pair(*find_kernel("verbs.write_visible_lat"),
                                {.parameters = {{"sizes", "8"},
                                                {"iterations", "5"},
                                                {"stall_timeout", "30s"},
                                                {"cm_address", "192.0.2.1"}},
                                 .target_parameters = {{"cm_address", "192.0.2.2"}}});
  expect_passed(results, "iwarp");
  ASSERT_EQ(results[0].points.size(), 3U);
  EXPECT_EQ(results[0].points[2].meaning(), "gpu_visible_read_back");
}

TEST_F(Memories, VisibilitySurvivesAFailureOfEachCallOfEachLibrary) {
  walk("verbs.write_visible_lat",
       {{"sizes", "64KiB"}, {"iterations", "2"}, {"stall_timeout", "100ms"}});
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
