// The samples of the family's latencies, and under load: lost work never passes, and no sample is
// kept without its load.
#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/core/base/outcome.h"
#include "kernels/core/kernel.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
extern const KernelRow kCudaCopyLatency;
extern const KernelRow kCudaHostCopyBw;
extern const KernelRow kCudaFanCopyBw;
extern const KernelRow kCudaHostLatency;
extern const KernelRow kCudaPeerCopyBw;
extern const KernelRow kCudaPeerLatency;
}  // namespace railgauge

namespace railgauge::cuda {
namespace {

using fake::cuda_control;
using fake::RankResult;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Parameters = std::map<std::string, std::string>;

class KeptWork : public gpu::OnFakes {
 protected:
  static RankResult run(const KernelRow& row, Parameters parameters) {
    parameters.try_emplace("iterations", "3");
    const bool single = row.info().endpoint_kind() == "gpu";
    return fake::run_solo(row, {.parameters = parameters, .endpoint = single ? "gpu0" : ""});
  }
  // The same with the last `lost` of the copies of a clean run, all alike in number, moving
  // nothing.
  static RankResult run_losing(std::uint64_t lost, const KernelRow& row,
                               const Parameters& parameters) {
    cuda_control().reset();
    const RankResult clean = run(row, parameters);
    EXPECT_TRUE(clean.status) << clean.status.error().message;
    const std::uint64_t copies = cuda_control().copies;
    cuda_control().reset();
    cuda_control().drop_copies_from = copies + 1 - lost;
    return run(row, parameters);
  }
};

TEST_F(KeptWork, OfSmallCopiesIsVerified) {
  for (const char* memory : {"pinned", "write_combined", "pageable"})
    for (const char* direction : {"h2d", "d2h"}) {
      const RankResult result =
          run_losing(3, kCudaCopyLatency,
                     {{"host_memory", memory}, {"direction", direction}, {"sizes", "64"}});
      ASSERT_FALSE(result.status) << memory << " " << direction;
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    }
}

// A chain that a few launches end where they began would hide as many lost ones.
TEST_F(KeptWork, OfAChaseIsVerified) {
  for (const KernelRow* row : {&kCudaHostLatency, &kCudaPeerLatency})
    for (const std::uint64_t lost : {1U, 3U, 4U}) {
      const RankResult result = run_losing(lost, *row, {{"iterations", "4"}});
      ASSERT_FALSE(result.status) << row->info().name() << " " << lost;
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    }
}

// The fake's copies take the times given here, so coverage is equal on any machine. Batches have 4
// and then 32 samples.
Parameters under_load(const char* size) {
  return {{"bidirectional", "true"},
          {"sizes", size},
          {"copies", "1"},
          {"iterations", "40"},
          {"time_cap", "3600s"}};
}

TEST_F(KeptWork, UnderASteadyLoadIsAllOfIt) {
  cuda_control().h2d_ns = 100'000;
  cuda_control().d2h_ns = 100'000;
  const RankResult result = run(kCudaHostCopyBw, under_load("64KiB"));
  ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_EQ(result.points.at(0).facts().at("samples_without_load"), "0");
  EXPECT_EQ(result.points.at(0).facts().at("load_coverage"), "1.000");
  EXPECT_NEAR(result.points.at(0).median(), 65'536 / 100e-6, 1e3);
}

// The load of the batch of 32 has 38 copies. Five of them take 100 us and 33 take 25: it ends at
// 1325 us, in the 14th sample. The 13 before that are kept, and 19 are taken again.
TEST_F(KeptWork, UnderALoadThatTurnsQuickIsWhatItCovered) {
  cuda_control().h2d_ns = 100'000;
  cuda_control().d2h_ns = 100'000;
  // 1 is the first use, 17 are the probe's and 6 the first batch's.
  cuda_control().d2h_quick_from = 30;
  const RankResult result = run(kCudaHostCopyBw, under_load("64KiB"));
  ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_EQ(result.points.at(0).sample_count(), 40);
  EXPECT_EQ(result.points.at(0).facts().at("samples_without_load"), "19");
  EXPECT_EQ(result.points.at(0).facts().at("load_coverage"), "1.000");
}

TEST_F(KeptWork, UnderALoadThatCannotLastIsNone) {
  cuda_control().h2d_ns = 50'000'000;
  cuda_control().d2h_ns = 1'000;
  const RankResult result = run(kCudaHostCopyBw, under_load("4"));
  ASSERT_FALSE(result.status);
  EXPECT_TRUE(result.points.empty());
  EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
  EXPECT_EQ(result.status.error().message,
            "gpu0: copy under load: the load, 8192 copies of 4 bytes, ended at 0.02 of a sample; "
            "measure larger sizes");
}

// As streams that share one hardware queue: the load runs when the measured copies have ended.
TEST_F(KeptWork, UnderALoadThatBeginsWhenTheSamplesHaveEndedIsNone) {
  cuda_control().h2d_ns = 100'000;
  cuda_control().d2h_ns = 100'000;
  cuda_control().opens_late_ns = 1'000'000'000;
  const RankResult result = run(kCudaHostCopyBw, under_load("64KiB"));
  ASSERT_FALSE(result.status);
  EXPECT_TRUE(result.points.empty());
  EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
  EXPECT_THAT(result.status.error().message, HasSubstr("at 0.00 of a sample"));
}

// The GPU that reads from two others runs both copies: a grid that fills it would let no other
// begin.
TEST_F(KeptWork, OfCopiesThatShareAGpuSharesItsBlocks) {
  cuda_control().gpus = 3;
  const RankResult one =
      run(kCudaPeerCopyBw, {{"engine", "sm"}, {"sizes", "64KiB"}, {"gpus", "0,1"}});
  ASSERT_TRUE(one.status) << one.status.error().message;
  const std::uint64_t all_blocks = cuda_control().copy_blocks;
  EXPECT_EQ(one.points.at(0).facts().count("copy_blocks"), 0U);
  const RankResult fan =
      run(kCudaFanCopyBw, {{"engine", "sm"}, {"sizes", "64KiB"}, {"pattern", "all_to_one"}});
  ASSERT_TRUE(fan.status) << fan.status.error().message;
  EXPECT_EQ(cuda_control().copy_blocks, all_blocks / 2);
  EXPECT_EQ(fan.points.at(0).facts().at("copy_blocks"),
            std::to_string(all_blocks / 2) + " of each of 2 copies that one GPU runs");
  EXPECT_THAT(fan.points.at(0).facts().at("stream_shares"),
              MatchesRegex("gpu1>gpu0 0\\.[0-9]{3}, gpu2>gpu0 0\\.[0-9]{3}"));
}

// A build for tests slows one GPU: its copies take longer, pass, and are marked as made up.
TEST_F(KeptWork, OfAGpuThatAFailpointSlowsIsMarked) {
#ifndef RAILGAUGE_FAILPOINTS
  GTEST_SKIP() << "this build has no failpoints";
#endif
  cuda_control().gpus = 3;
  ::setenv("RAILGAUGE_FAILPOINT", "slow_gpu=1", 1);
  const RankResult result = run(kCudaPeerCopyBw, {{"sizes", "64KiB"}, {"direction", "write"}});
  ::unsetenv("RAILGAUGE_FAILPOINT");
  ASSERT_TRUE(result.status) << result.status.error().message;
  ASSERT_EQ(result.points.size(), 6U);
  for (const Point& point : result.points)
    EXPECT_EQ(point.facts().count("slowed") == 1, point.pair().starts_with("gpu1>"))
        << point.pair();
}

TEST_F(KeptWork, SaysHowManyThreadsAKernelOfBothWaysHas) {
  const Parameters by_sm{{"engine", "sm"}, {"sizes", "64KiB"}};
  EXPECT_THAT(run(kCudaHostCopyBw, by_sm).facts.at("copy_threads"), HasSubstr("blocks of 512"));
  Parameters both_ways = by_sm;
  both_ways["bidirectional"] = "true";
  EXPECT_EQ(run(kCudaHostCopyBw, both_ways).facts.at("copy_threads"),
            "one for each 16-byte word, in blocks of 512");
}

}  // namespace
}  // namespace railgauge::cuda
