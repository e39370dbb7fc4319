// Every memory kind of every verbs kernel, on the fake libibverbs and the fake CUDA driver: the
// path and its fallbacks, the verification of the data, and failures of call number N of either
// library.
#include "kernels/verbs/testing/memory_fixture.h"

#include <algorithm>
#include <fstream>

#include "kernels/fakes/recorder.h"
#include "kernels/gpu/session/usage.h"
#include "kernels/verbs/memory/gpu_watch.h"

namespace railgauge {
namespace {

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
    EXPECT_THAT(result.status.error().message, HasSubstr(", expected ")) << kernel;
    EXPECT_TRUE(result.points.empty());
  }
}

// The verbs calls of each kernel fail in kernel_contract_test, and memory of another kind adds the
// same ones to each: they fail here in one kernel of each way to bring bytes there. The full check
// takes all kernels.
bool has_verbs_calls_of_its_own(std::string_view kernel) {
  constexpr std::array<std::string_view, 4> kOneOfEachWay{"verbs.write_bw", "verbs.send_bw",
                                                          "verbs.send_lat", "verbs.read_lat"};
  return std::ranges::find(kOneOfEachWay, kernel) != kOneOfEachWay.end() || full_check();
}

TEST_P(MemoryMatrix, SurvivesAFailureOfEachCallOfEachLibraryWithoutALeak) {
  std::vector<Library> libraries{kOfCuda};
  if (has_verbs_calls_of_its_own(GetParam())) libraries.push_back(kOfVerbs);
  for (const std::string_view kind : {"cuda", "staged"}) {
    // A GPU's page has one such message, so that a round of the proof has few calls.
    Parameters shortest{{"memory", std::string(kind)}, {"sizes", kind == "cuda" ? "64KiB" : "1KiB"},
                        {"iterations", "2"},           {"signal_every", "1"},
                        {"stage_depth", "2"},          {"stall_timeout", "100ms"}};
    shortest["depth"] = "2";  // or the ring of a stream has a slot, and two events, for each
    if (kind == "cuda") shortest["receive_depth"] = "4";
    if (takes(GetParam(), kind)) walk(GetParam(), shortest, libraries);
  }
}
INSTANTIATE_TEST_SUITE_P(Kernels, MemoryMatrix, ::testing::ValuesIn(verbs_kernels_with("memory")),
                         [](const auto& param) { return param.param.substr(6); });

TEST_F(Memories, PeermemIsTakenWhereDmaBufIsRefusedAndTheCallAndItsErrnoAreTold) {
  verbs_control().no_dmabuf = EOPNOTSUPP;
  const auto results = run("verbs.write_bw", {{"memory", "cuda"}});
  expect_passed(results, "peermem");
  for (const RankResult& result : results) {
    EXPECT_EQ(result.facts.at("path"), "nvidia-peermem");
    EXPECT_THAT(result.facts.at("path_refused"),
                AllOf(HasSubstr("dma-buf: mapping default: ibv_reg_dmabuf_mr of "),
                      HasSubstr("(errno 95)")));
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
    EXPECT_THAT(
        result.status.error().message,
        AllOf(HasSubstr("register memory of gpu0: dma-buf: mapping default: ibv_reg_dmabuf_mr of "),
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

// These kernels have no series of a slice's own.
TEST_F(Memories, ASliceOfAGpuIsNeverMeasuredAsTheGpu) {
  for (const char* memory : {"cuda", "staged"}) {
    fake::cuda_control().mig = 1;
    const auto results = run("verbs.write_bw", {{"memory", memory}});
    ASSERT_FALSE(results[0].status) << memory;
    EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
    EXPECT_THAT(results[0].status.error().message, HasSubstr("measure with MIG off"));
    fake::cuda_control().mig = 0;
    expect_passed(run("verbs.write_bw", {{"memory", memory}}), memory);
  }
}

// The value of `name` in /proc/meminfo, in its own unit.
std::uint64_t meminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1));
  return 0;
}

TEST_F(Memories, HugePagesWhereLinuxHasSomeFreeElseAReason) {
  constexpr std::uint64_t kHugePageKib = 2048;
  constexpr std::uint64_t kPlenty = 64;  // for both ranks' areas
  std::uint64_t over = 0;
  std::ifstream("/proc/sys/vm/nr_overcommit_hugepages") >> over;
  const bool is_default = meminfo("Hugepagesize") == kHugePageKib;
  const std::uint64_t free = meminfo("HugePages_Free") - meminfo("HugePages_Rsvd");
  if (!is_default || over != 0 || (free != 0 && free < kPlenty))
    GTEST_SKIP() << "what comes is not said by /proc/meminfo: " << free << " free, " << over
                 << " beyond those";
  const auto results = run("verbs.write_bw", {{"huge_pages", "true"}});
  if (free >= kPlenty) {
    expect_passed(results, "huge pages");
    return;
  }
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status) << "no huge page is free";
    EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
  }
  EXPECT_THAT(results[0].status.error().message, HasSubstr("vm.nr_hugepages"));
}

// Somebody else on the GPU.

TEST_F(Memories, AGpuThatIsInUseWaivesUnlessBusySaysToMeasure) {
  for (const auto& [kernel, memory] :
       std::map<std::string, std::string>{{"verbs.write_bw", "cuda"},
                                          {"verbs.send_bw", "staged"},
                                          {"verbs.write_visible_lat", ""}}) {
    nvml_control().busy_pid = 999'999'999;
    const Parameters way{{"memory", memory}};
    for (const RankResult& result : run(kernel, way)) {
      ASSERT_FALSE(result.status) << kernel;
      EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
      EXPECT_THAT(
          result.status.error().message,
          HasSubstr("gpu0: it is in use by pid 999999999 (1.2 GB); wait until it is free, or "
                    "measure beside it with busy=measure"));
    }
    const auto beside = run(kernel, {{"memory", memory}, {"busy", "measure"}});
    expect_passed(beside, kernel);
    EXPECT_EQ(beside[1].facts.at("gpu0_in_use_by"), "pid 999999999 (1.2 GB)") << kernel;
    EXPECT_THAT(beside[1].notes, Contains("gpu0: measured while in use by pid 999999999 (1.2 GB)"));
    nvml_control().busy_gpu = 1;
    expect_passed(run(kernel, way), "another GPU's user");
    nvml_control().busy_gpu = 0;
  }
  expect_passed(run("verbs.write_bw", {}), "host memory has no GPU");
}

TEST_F(Memories, ThePeersOwnProcessIsNoStrangerWhereBothSeeTheSameProcesses) {
  constexpr unsigned kPeer = 4242;
  nvml_control().busy_pid = kPeer;
  const auto before = gpu::gpu_usage();
  const auto gpu = gpu::Gpu::open("gpu0");
  ASSERT_TRUE(gpu) << gpu.error().message;
  RankResult result;
  fake::Recorder recorder(result);
  const auto params = Params::parse(find_kernel("verbs.write_bw")->info(), {});
  ASSERT_TRUE(params);
  const Context context{*params, recorder, fake::test_clock(), "fake0:1", 0, false, 0};
  verbs::GpuWatch watch;
  watch.add(*gpu, before);
  verbs::PeerAddress mine;
  verbs::GpuWatch::describe(mine);
  verbs::PeerAddress peer = mine;
  peer.set_process(kPeer);
  EXPECT_TRUE(watch.check(context, mine, peer));
  peer.set_process(kPeer + 1);
  EXPECT_FALSE(watch.check(context, mine, peer));
  peer.set_process(kPeer);
  peer.set_process_space("another machine's");
  EXPECT_FALSE(watch.check(context, mine, peer));
}

// By the connection manager.

TEST_F(Memories, TheConnectionManagerConnectsGpuMemoryAndStagedMemoryToo) {
  for (const char* kernel : {"verbs.write_bw", "verbs.send_bw", "verbs.send_lat"})
    for (const char* memory : {"cuda", "staged"}) {
      const std::string what = std::string(kernel) + " " + memory;
      const auto results = run(kernel, {{"memory", memory}, {"connection", "rdma_cm"}});
      expect_passed(results, what);
      EXPECT_EQ(results[0].facts.at("connection"), "rdma_cm") << what;
      EXPECT_EQ(results[0].facts.at("memory"), memory) << what;
      EXPECT_TRUE(results[0].points[0].verified()) << what;
      expect_nothing_left(what);
    }
  const auto visible = run("verbs.write_visible_lat", {{"connection", "rdma_cm"}, {"sizes", "8"}});
  expect_passed(visible, "visible");
  EXPECT_EQ(visible[1].facts.at("connection"), "rdma_cm");
}

// 64 MiB are 16,384 messages of 4 KiB.
TEST_F(Memories, AColdStreamMovesThroughMoreThanACacheAndAllOfItIsCompared) {
  for (const char* kernel :
       {"verbs.write_bw", "verbs.write_imm_bw", "verbs.read_bw", "verbs.send_bw"})
    for (const char* memory : {"host", "cuda"}) {
      const std::string what = fmt::format("{} in {}", kernel, memory);
      const Parameters cold{
          {"memory", memory}, {"buffer", "cold"}, {"sizes", "4KiB"}, {"iterations", "20000"}};
      const auto results = run(kernel, cold);
      expect_passed(results, what);
      EXPECT_EQ(results[0].points.at(0).facts().at("buffer"), "cold") << what;
      // The first lap has it, and nothing overwrites it.
      reset();
      verbs_control().flip_write = 10'000;
      for (const RankResult& result : run(kernel, cold)) {
        ASSERT_FALSE(result.status) << what;
        EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
        EXPECT_THAT(result.status.error().message, HasSubstr("verify a 4KiB ")) << what;
      }
      reset();
    }
  const auto hot = run("verbs.write_bw", {{"sizes", "4KiB"}, {"iterations", "100"}});
  EXPECT_EQ(hot[0].points.at(0).facts().at("buffer"), "hot");
}

// The receives of each queue pair, or shared ones, go through all slots. Two sizes: their messages
// have other slots.
TEST_F(Memories, ColdSendsMoveThroughTheReceivesOfEveryTransportAndQueue) {
  for (const Parameters& way : {Parameters{{"qps", "2"}},
                                {{"qps", "2"}, {"srq", "true"}},
                                {{"transport", "UC"}},
                                {{"transport", "UD"}, {"sizes", "2KiB,4KiB"}},
                                {{"direction", "both"}},
                                {{"devices", "fake0:1,fake1:1"}}}) {
    Parameters wanted = way;
    std::string what;
    for (const auto& [name, value] : way) what += name + " " + value + " ";
    wanted["buffer"] = "cold";
    wanted["proof_time"] = "20ms";
    wanted.emplace("sizes", "64KiB,256KiB");
    const bool is_timed = way.contains("direction") || way.contains("devices");
    wanted["iterations"] = is_timed ? "0" : "3000";
    if (is_timed) wanted["duration"] = "100ms";
    const auto results = run("verbs.send_bw", wanted);
    expect_passed(results, what);
    for (const Point& point : results[0].points) {
      EXPECT_EQ(point.facts().at("buffer"), "cold") << what;
      EXPECT_TRUE(point.verified()) << what;
    }
  }
}

// 64 MiB are 64 messages of 1 MiB and 1024 of 64 KiB.
TEST_F(Memories, ColdLatenciesMoveThroughMoreThanACacheAndAllOfItIsCompared) {
  for (const char* kernel :
       {"verbs.write_lat", "verbs.write_imm_lat", "verbs.send_lat", "verbs.read_lat"})
    for (const char* memory : {"host", "cuda"}) {
      if (!takes(kernel, memory)) continue;
      const std::string what = fmt::format("{} in {}", kernel, memory);
      const Parameters cold{{"memory", memory},
                            {"buffer", "cold"},
                            {"sizes", "64KiB,1MiB"},
                            {"proof_time", "20ms"},
                            {"iterations", "150"}};
      const auto results = run(kernel, cold);
      expect_passed(results, what);
      ASSERT_EQ(results[0].points.size(), 2U) << what;
      for (const Point& point : results[0].points) {
        EXPECT_EQ(point.facts().at("buffer"), "cold") << what;
        EXPECT_TRUE(point.verified()) << what;
        EXPECT_GT(std::stoull(point.facts().at("proved_messages")), 0U) << what;
      }
      // In the first size's last lap: no other message comes there. Sends have 64 slots there, too.
      reset();
      verbs_control().flip_write = std::string_view(kernel) == "verbs.read_lat" ? 100 : 200;
      const auto wrong = run(kernel, cold);
      ASSERT_FALSE(wrong[0].status && wrong[1].status) << what;
      for (const RankResult& result : wrong)
        if (!result.status) {
          EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
          EXPECT_THAT(result.status.error().message, HasSubstr("verify a 64KiB ")) << what;
        }
      reset();
      const auto hot = run(kernel, {{"memory", memory}, {"sizes", "64"}, {"iterations", "20"}});
      expect_passed(hot, what);
      EXPECT_EQ(hot[0].points.at(0).facts().at("buffer"), "hot") << "as the peers do";
    }
}

// Datagrams come behind a GRH; a proof gives the receives out anew on each transport.
TEST_F(Memories, ColdSendsPlayPingPongOnEveryTransport) {
  for (const char* transport : {"RC", "UC", "UD"}) {
    const auto results = run("verbs.send_lat", {{"buffer", "cold"},
                                                {"transport", transport},
                                                {"sizes", "8,4KiB"},
                                                {"proof_time", "20ms"},
                                                {"iterations", "200"}});
    expect_passed(results, transport);
    for (const Point& point : results[0].points) EXPECT_TRUE(point.verified()) << transport;
  }
}

TEST_F(Memories, ColdMessagesOfOneByteArriveInMemory) {
  const auto results =
      run("verbs.write_lat", {{"buffer", "cold"}, {"sizes", "1,8"}, {"iterations", "300"}});
  expect_passed(results, "write_lat");
}

// Several NICs.

TEST_F(Memories, SeveralNicsReachAGpuEach) {
  const auto results = run("verbs.write_bw", {{"memory", "cuda"},
                                              {"devices", "fake0:1,fake1:1"},
                                              {"gpu", "0,1"},
                                              {"iterations", "0"},
                                              {"duration", "50ms"}});
  expect_passed(results, "rails");
  EXPECT_EQ(results[0].facts.at("gpu"), "gpu0");
  EXPECT_EQ(results[0].facts.at("path"), "dma-buf");
  ASSERT_EQ(results[0].points.size(), 6U);
  EXPECT_FALSE(results[0].points[0].facts().contains("gpu")) << "the task's own";
  EXPECT_EQ(results[0].points[2].facts().at("gpu"), "gpu1");
  for (const Point& point : results[0].points) EXPECT_TRUE(point.synthetic() && point.verified());
  const auto wrong = run(
      "verbs.write_bw",
      {{"memory", "cuda"}, {"devices", "fake0:1,fake1:1"}, {"gpu", "0,1,1"}, {"iterations", "0"}});
  ASSERT_FALSE(wrong[0].status);
  EXPECT_EQ(wrong[0].status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(wrong[0].status.error().message,
              HasSubstr("parameter gpu: \"0,1,1\" names 3 for 2 devices"));
}

TEST_F(Memories, AWrongByteInOneOfTheGpusOfSeveralNicsNamesTheLink) {
  verbs_control().flip_byte = 1;
  const auto results = run("verbs.write_bw", {{"memory", "cuda"},
                                              {"devices", "fake0:1,fake1:1"},
                                              {"gpu", "0,1"},
                                              {"iterations", "0"},
                                              {"duration", "50ms"}});
  ASSERT_FALSE(results[1].status);
  EXPECT_EQ(results[1].status.error().code, Code::kDataLoss);
  EXPECT_THAT(results[1].status.error().message, HasSubstr("link fake0:1>fake0:1: "));
}

TEST_F(Memories, SeveralNicsAreNotStaged) {
  for (const Parameters& way : {Parameters{{"memory", "staged"}},
                                Parameters{{"memory", "cuda"}, {"staged_twin", "true"}}}) {
    Parameters wanted = way;
    wanted["devices"] = "fake0:1,fake1:1";
    const auto results = run("verbs.write_bw", wanted);
    ASSERT_FALSE(results[0].status);
    EXPECT_EQ(results[0].status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(results[0].status.error().message,
                HasSubstr("parameter devices: several are not measured staged; take memory host"));
  }
}

}  // namespace
}  // namespace railgauge
