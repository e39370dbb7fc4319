// The sizing of loads, against simulated speeds.
#include "kernels/cuda/route/load.h"

#include <gmock/gmock.h>

#include <random>
#include <vector>

namespace railgauge::cuda {
namespace {

constexpr std::uint64_t kMost = 8192;

// A load of `load_copy_ns` a copy beside measured copies of `measured_copy_ns`.
LoadSizing::Run run_of(std::uint64_t measured, double measured_copy_ns, std::uint64_t load,
                       double load_copy_ns) {
  return {.measured_copies = measured,
          .measured_ns = static_cast<double>(measured) * measured_copy_ns,
          .load_copies = load,
          .load_ns = static_cast<double>(load) * load_copy_ns};
}

// Sees some runs in which nothing was odd.
LoadSizing used_to(double measured_copy_ns, double load_copy_ns, int runs) {
  LoadSizing sizing(1);
  for (int i = 0; i < runs; ++i)
    sizing.saw(run_of(4, measured_copy_ns, sizing.copies_for(4, kMost), load_copy_ns));
  return sizing;
}

TEST(LoadSizing, GuessesTwiceAsMuchBeforeItKnowsTheSpeeds) {
  EXPECT_EQ(LoadSizing(1).copies_for(4, kMost), 9U);
  EXPECT_EQ(LoadSizing(4).copies_for(1, kMost), 9U);  // 512 MiB by pieces of 128 MiB
  EXPECT_EQ(LoadSizing(1).copies_for(4, 6), 6U);
}

TEST(LoadSizing, OutlastsARunLongerThanTheOneItSaw) {
  LoadSizing sizing(1);
  sizing.saw(run_of(1, 10e6, 9, 5e6));
  EXPECT_GE(static_cast<double>(sizing.copies_for(4, kMost)) * 5e6, 4 * 10e6);
}

TEST(LoadSizing, AQuickRunMakesTheNextLoadNoShorter) {
  LoadSizing sizing = used_to(10e6, 5e6, 4);
  const std::uint64_t before = sizing.copies_for(4, kMost);
  sizing.saw(run_of(4, 3e6, before, 5e6));
  EXPECT_GE(sizing.copies_for(4, kMost), before);
}

TEST(LoadSizing, ASlowLoadMakesTheNextOneNoShorter) {
  LoadSizing sizing = used_to(10e6, 5e6, 4);
  const std::uint64_t before = sizing.copies_for(4, kMost);
  sizing.saw(run_of(4, 10e6, before, 50e6));
  EXPECT_GE(sizing.copies_for(4, kMost), before);
}

// Its mean speed was that of its slow part too.
TEST(LoadSizing, DoublesALoadThatWasTooShortAndTakesThatBack) {
  LoadSizing sizing = used_to(10e6, 5e6, 4);
  const std::uint64_t before = sizing.copies_for(4, kMost);
  sizing.saw({.measured_copies = 4, .measured_ns = 40e6, .load_copies = before, .load_ns = 39e6});
  const std::uint64_t after = sizing.copies_for(4, kMost);
  EXPECT_GE(after, 2 * before);
  sizing.saw(run_of(4, 10e6, after, 5e6));
  EXPECT_LT(sizing.copies_for(4, kMost), after);
}

TEST(LoadSizing, ForgetsARunThatStoodStill) {
  LoadSizing sizing = used_to(10e6, 5e6, 4);
  const std::uint64_t before = sizing.copies_for(4, kMost);
  sizing.saw(run_of(4, 1000e6, before, 5e6));
  EXPECT_GT(sizing.copies_for(4, kMost), 50 * before);
  for (std::size_t i = 0; i < LoadSizing::kRemembered; ++i)
    sizing.saw(run_of(4, 10e6, sizing.copies_for(4, kMost), 5e6));
  EXPECT_LE(sizing.copies_for(4, kMost), before);
}

TEST(LoadSizing, GrowsUntilItLastsWithinEightRuns) {
  for (const double times : {3.0, 30.0, 300.0}) {
    LoadSizing sizing(1);
    int runs = 0;
    for (bool lasts = false; !lasts; ++runs) {
      ASSERT_LT(runs, 8) << times;
      const auto run = run_of(8, 1e6, sizing.copies_for(8, kMost), 1e6 / times);
      lasts = run.load_ns >= run.measured_ns;
      sizing.saw(run);
    }
  }
}

// With speeds that wander by a fifth either way, the load is too short in few runs and not much too
// long overall.
TEST(LoadSizing, OutlastsWanderingSpeedsAndWastesLittle) {
  constexpr int kRuns = 500;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution wander(0.8, 1.2);
    LoadSizing sizing(1);
    int too_short = 0;
    double measured_ns = 0;
    double load_ns = 0;
    for (int i = 0; i < kRuns; ++i) {
      const auto run =
          run_of(4, 10e6 * wander(random), sizing.copies_for(4, kMost), 2.5e6 * wander(random));
      sizing.saw(run);
      too_short += run.load_ns < run.measured_ns ? 1 : 0;
      measured_ns += run.measured_ns;
      load_ns += run.load_ns;
    }
    EXPECT_LE(too_short, kRuns / 50) << seed;
    EXPECT_LE(load_ns, 2.2 * measured_ns) << seed;
  }
}

// Only the last samples of a run can be without their load; the whole run's share would hide it.
TEST(Coverage, IsOfTheSampleItself) {
  EXPECT_DOUBLE_EQ(load_coverage({0, 10}, {0, 20}), 1);
  EXPECT_DOUBLE_EQ(load_coverage({0, 20}, {0, 10}), 0.5);
  EXPECT_DOUBLE_EQ(load_coverage({90, 100}, {0, 99}), 0.9);
  EXPECT_DOUBLE_EQ(load_coverage({90, 100}, {0, 80}), 0);
}

TEST(Coverage, KeepsTheSamplesThatHadTheirLoad) {
  const std::vector<double> marks{100, 200, 300, 400};
  EXPECT_EQ(covered_samples(marks, {0, 500}).samples, 4U);
  EXPECT_EQ(covered_samples(marks, {0, 400}).samples, 4U);
  const Covered nearly = covered_samples(marks, {0, 399.5});
  EXPECT_EQ(nearly.samples, 4U);
  EXPECT_DOUBLE_EQ(nearly.least, 0.995);
  EXPECT_DOUBLE_EQ(nearly.lacking, 1);
  const Covered short_by_two = covered_samples(marks, {0, 250});
  EXPECT_EQ(short_by_two.samples, 2U);
  EXPECT_DOUBLE_EQ(short_by_two.least, 1);
  EXPECT_DOUBLE_EQ(short_by_two.lacking, 0.5);
  EXPECT_EQ(covered_samples(marks, {0, 50}).samples, 0U);
  EXPECT_EQ(covered_samples(marks, {400, 900}).samples, 0U) << "it ran after all of them";
  EXPECT_DOUBLE_EQ(covered_samples(marks, {30, 900}).lacking, 0.7);
}

}  // namespace
}  // namespace railgauge::cuda
