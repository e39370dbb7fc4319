// What counts in the family's latencies, and under load: lost work never passes, and no sample is
// kept without its load.
#include <gmock/gmock.h>

#include "kernels/core/kernel.h"
#include "kernels/core/outcome.h"
#include "kernels/fakes/gpu_fixture.h"
#include "kernels/fakes/solo.h"

namespace railgauge {
extern const KernelRow kCudaCopyLatency;
extern const KernelRow kCudaHostCopyBw;
extern const KernelRow kCudaHostLatency;
extern const KernelRow kCudaPeerLatency;
}  // namespace railgauge

namespace railgauge::cuda {
namespace {

using fake::cuda_control;
using fake::RankResult;
using ::testing::HasSubstr;
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

// Four launches of 4096 accesses are a whole turn through 2 MiB.
TEST_F(KeptWork, OfAChaseIsVerified) {
  for (const KernelRow* row : {&kCudaHostLatency, &kCudaPeerLatency})
    for (const std::uint64_t lost : {1U, 3U, 4U}) {
      const RankResult result = run_losing(lost, *row, {{"iterations", "4"}});
      ASSERT_FALSE(result.status) << row->info().name() << " " << lost;
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    }
}

// Proves that the run ends well either way; that no uncovered sample was kept rests on the fact.
// How long a load lasts is up to the machine's scheduler here, where threads play the GPU. What
// must hold on any machine: a kept sample had its load throughout, and without one the task waives.
void expect_covered_or_refused(const RankResult& result) {
  if (result.status) {
    ASSERT_FALSE(result.points.empty());
    EXPECT_GE(std::stod(result.points.at(0).facts().at("load_coverage")), 0.99);
    return;
  }
  EXPECT_TRUE(result.points.empty());
  if (result.status.error().code == Code::kDeadlineExceeded) return;
  EXPECT_EQ(outcome_of(result.status.error().code), kWaived);
  EXPECT_THAT(result.status.error().message, HasSubstr("of a sample; measure larger sizes"));
}

// The load is some hundred times as fast as what it loads: more of it than a stream may hold behind
// the closed gate.
TEST_F(KeptWork, UnderLoadHasItsLoadThroughout) {
  cuda_control().slow_h2d_us = 200;
  expect_covered_or_refused(run(kCudaHostCopyBw, {{"bidirectional", "true"}, {"sizes", "16KiB"}}));
}

// On a machine that is not busy no count of copies of 4 bytes lasts as long.
TEST_F(KeptWork, UnderALoadThatCannotLastIsNone) {
  cuda_control().slow_h2d_us = 50'000;
  expect_covered_or_refused(
      run(kCudaHostCopyBw, {{"bidirectional", "true"}, {"sizes", "4"}, {"copies", "1"}}));
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
