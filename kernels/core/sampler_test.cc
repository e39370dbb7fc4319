#include "kernels/core/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "kernels/core/sampling.h"
#include "kernels/core/stats/stats.h"

namespace railgauge {
namespace {

class FakeClock final : public Clock {  // moves only on command
 public:
  [[nodiscard]] double now_ns() const override { return now_ns_; }
  void advance_ns(double ns) { now_ns_ += ns; }

 private:
  double now_ns_ = 1e15;
};

// An operation whose k-th call takes and reports sample(k).
struct Operation {
  FakeClock& clock;
  std::function<double(std::uint64_t)> sample;
  std::uint64_t calls = 0;
  std::uint64_t batches = 0;
  std::uint64_t largest_batch = 0;

  Status operator()(std::uint64_t count, std::vector<double>& out) {
    ++batches;
    largest_batch = std::max(largest_batch, count);
    EXPECT_GE(out.capacity(), out.size() + count) << "a batch must not allocate";
    for (std::uint64_t i = 0; i < count; ++i) {
      const double ns = sample(calls++);
      clock.advance_ns(ns);
      out.push_back(ns);
    }
    return {};
  }
};

Result<Sampled> run(FakeClock& clock, SamplerOptions options, Operation& operation) {
  return Sampler(clock, options).run([&](auto count, auto& out) { return operation(count, out); });
}

TEST(Sampler, StopsAtMinSamplesWhenTheIntervalIsNarrow) {
  FakeClock clock;
  Operation steady{clock, [](auto) { return 1000.0; }};
  const auto sampled = run(clock, {.min_samples = 500}, steady);
  ASSERT_TRUE(sampled);
  EXPECT_EQ(sampled->samples.size(), 500U);
  EXPECT_TRUE(sampled->converged);
  EXPECT_EQ(sampled->stop_reason, "converged");
  EXPECT_EQ(sampled->measure_ns, 500 * 1000.0);
  EXPECT_EQ(sampled->warmup_count + sampled->samples.size(), steady.calls);
}

// The interval is narrow at once; the asked time decides, up to the time cap.
TEST(Sampler, DoesNotStopBeforeTheLeastTimeOfItsKeptSamples) {
  for (const double cap_ns : {5e9, 1e9}) {
    FakeClock clock;
    Operation steady{clock, [](auto) { return 1e6; }};
    const auto sampled =
        run(clock, {.min_samples = 30, .time_cap_ns = cap_ns, .batch = 10, .least_measure_ns = 2e9},
            steady);
    ASSERT_TRUE(sampled);
    EXPECT_EQ(sampled->stop_reason, cap_ns > 2e9 ? "converged" : "time_cap");
    EXPECT_GE(sampled->measure_ns, std::min(2e9, 0.9 * cap_ns));
    EXPECT_LE(sampled->measure_ns, std::min(2e9, cap_ns) + 10e6);
  }
}

// Samples that are shorter than the kernel expected: max_samples does not end a rate before its
// time.
TEST(Sampler, KeepsTheLeastTimeBeyondMaxSamples) {
  FakeClock clock;
  Operation quick{clock, [](auto) { return 1e4; }};
  const auto sampled = run(
      clock, {.min_samples = 30, .max_samples = 1000, .batch = 10, .least_measure_ns = 2e9}, quick);
  ASSERT_TRUE(sampled);
  EXPECT_GE(sampled->measure_ns, 2e9);
  EXPECT_LE(sampled->measure_ns, 2.1e9);
  EXPECT_TRUE(sampled->converged);
}

// A pause of 100 ms each second leaves the median alone; the rate stays uncertain, so the run does
// not end at its least time.
TEST(Sampler, AsksForTheIntervalOfARateToo) {
  for (const bool pauses : {false, true}) {
    FakeClock clock;
    Operation stream{clock, [&](auto calls) { return pauses && calls % 900 == 899 ? 101e6 : 1e6; }};
    const auto sampled = run(clock,
                             {.min_samples = 30,
                              .time_cap_ns = 5e9,
                              .batch = 10,
                              .least_measure_ns = 2e9,
                              .rate = SamplerOptions::Rate::kOfTimes},
                             stream);
    ASSERT_TRUE(sampled);
    EXPECT_EQ(sampled->converged, !pauses);
    EXPECT_EQ(sampled->stop_reason, pauses ? "time_cap" : "converged");
  }
}

// A rate of 0 once hid the pauses beside it from the stop rule.
TEST(Sampler, ARateOfZeroIsPartOfTheRatesInterval) {
  FakeClock clock;
  std::uint64_t calls = 0;
  const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
    for (; count > 0; --count) {
      const bool is_still = ++calls % 20 == 0;
      clock.advance_ns(10e6);
      out.push_back(is_still ? 0 : 1e9);
    }
    return {};
  };
  const auto sampled = Sampler(clock, {.min_samples = 30,
                                       .time_cap_ns = 5e9,
                                       .batch = 10,
                                       .least_measure_ns = 2e9,
                                       .rate = SamplerOptions::Rate::kOfRates})
                           .run(batch);
  ASSERT_TRUE(sampled);
  EXPECT_FALSE(sampled->converged);
  const Point point = make_point({.metric = "bandwidth_bytes_per_second",
                                  .meaning = "unidirectional",
                                  .unit = "bytes_per_second",
                                  .larger_is_better = true},
                                 64, *sampled, false, true);
  EXPECT_NEAR(point.rate(), 0.95e9, 0.01e9);
  EXPECT_NEAR(point.pause_share(), 0.05, 0.01);
  EXPECT_FALSE(point.converged());
}

TEST(Sampler, KeepsEverySampleInOrder) {
  FakeClock clock;
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> noise(7, 1);
  std::vector<double> all;
  Operation noisy{clock, [&](auto) { return all.emplace_back(noise(random)); }};
  const auto sampled = run(clock, {.min_samples = 100, .max_samples = 20'000}, noisy);
  ASSERT_TRUE(sampled);
  ASSERT_EQ(sampled->warmup_count + sampled->samples.size(), all.size());
  EXPECT_TRUE(std::ranges::equal(
      sampled->samples, std::span(all).subspan(static_cast<std::size_t>(sampled->warmup_count))));
}

TEST(Sampler, ConvergedMeansTheIntervalIsAsNarrowAsAsked) {
  for (const std::uint64_t seed : {1U, 2U}) {
    FakeClock clock;
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> noise(7, 0.3);
    Operation noisy{clock, [&](auto) { return noise(random); }};
    const auto sampled = run(clock, {.min_samples = 100, .max_samples = 200'000}, noisy);
    ASSERT_TRUE(sampled);
    ASSERT_TRUE(sampled->converged);
    Point point;
    summarize(sampled->samples, point, sampled->allowed_count);
    EXPECT_LE(point.median_high() - point.median(), 0.01 * point.median());
    EXPECT_LE(point.median() - point.median_low(), 0.01 * point.median());
    EXPECT_EQ(sampled->allowed_count, 200'000);
    EXPECT_LT(sampled->samples.size(), 180'000U) << "it stops early";
  }
}

TEST(Sampler, DependentSamplesNeedMore) {
  const auto needed = [](double rho) {
    FakeClock clock;
    std::mt19937_64 random(9);
    std::normal_distribution<double> noise(0, 1);
    double x = 0;
    Operation operation{clock, [&, rho](auto) {
                          x = rho * x + std::sqrt(1 - rho * rho) * noise(random);
                          return 1000 * std::exp(0.05 * x);
                        }};
    return run(clock, {.min_samples = 100, .max_samples = 500'000, .time_cap_ns = 1e18}, operation)
        ->samples.size();
  };
  EXPECT_GT(needed(0.95), 2 * needed(0));
}

TEST(Sampler, StopsAtTheTimeCapAndSaysSo) {
  FakeClock clock;
  std::mt19937_64 random(2);
  std::lognormal_distribution<double> wild(7, 3);
  Operation noisy{clock, [&](auto) { return wild(random); }};
  const double begin_ns = clock.now_ns();
  const auto sampled = run(clock, {.relative_half_width = 1e-6, .time_cap_ns = 1e8}, noisy);
  ASSERT_TRUE(sampled);
  EXPECT_EQ(sampled->stop_reason, "time_cap");
  EXPECT_FALSE(sampled->converged);
  EXPECT_GE(clock.now_ns() - begin_ns, 1e8);
}

TEST(Sampler, OvershootsTheCapByOneSmallBatchAtMost) {
  FakeClock clock;
  Operation slow{clock, [](auto) { return 3e6; }};  // 100 of them are a third of the cap
  const double begin_ns = clock.now_ns();
  const auto sampled = run(clock, {.min_samples = 10'000, .time_cap_ns = 1e9}, slow);
  ASSERT_TRUE(sampled);
  EXPECT_EQ(sampled->stop_reason, "time_cap");
  EXPECT_LE(clock.now_ns() - begin_ns, 1e9 + 3e6);
  EXPECT_FALSE(sampled->converged) << "fewer than min_samples never converge";
}

TEST(Sampler, RunsNoFewerAtOnceThanTheLeastBatch) {
  FakeClock clock;
  SamplerOptions options;
  options.min_samples = 8;
  options.time_cap_ns = 500;
  options.warm_up = false;
  options.batch = 20;
  options.least_batch = 4;
  std::vector<std::uint64_t> batches;
  const auto sampled = Sampler(clock, options).run([&](std::uint64_t count, auto& out) -> Status {
    batches.push_back(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      clock.advance_ns(10);  // a fiftieth of the cap, which is all that a batch should take
      out.push_back(1);
    }
    return {};
  });
  ASSERT_TRUE(sampled);
  EXPECT_EQ(batches, (std::vector<std::uint64_t>{4, 4}));
}

TEST(Sampler, PassesTheCapByHalfTheLeastBatchAtMost) {
  for (const double cap_ns : {500.0, 510.0, 520.0, 530.0, 540.0}) {
    FakeClock clock;
    SamplerOptions options;
    options.min_samples = 1000;
    options.time_cap_ns = cap_ns;
    options.warm_up = false;
    options.batch = 4;
    options.least_batch = 4;
    const double begin_ns = clock.now_ns();
    Operation slow{clock, [](auto) { return 10.0; }};  // 40 ns a batch
    const auto sampled = run(clock, options, slow);
    ASSERT_TRUE(sampled);
    EXPECT_EQ(sampled->stop_reason, "time_cap");
    EXPECT_NEAR(clock.now_ns() - begin_ns, cap_ns, 20);
  }
}

TEST(Sampler, StopsAtMaxSamples) {
  FakeClock clock;
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> wild(7, 3);
  Operation noisy{clock, [&](auto) { return wild(random); }};
  const auto sampled = run(clock, {.max_samples = 1234, .time_cap_ns = 1e18}, noisy);
  ASSERT_TRUE(sampled);
  EXPECT_EQ(sampled->samples.size(), 1234U);
  EXPECT_EQ(sampled->stop_reason, "iterations");
  EXPECT_FALSE(sampled->converged);
}

TEST(Sampler, TakesExactlyTheFixedCount) {
  FakeClock clock;
  Operation steady{clock, [](auto) { return 10.0; }};
  const auto sampled =
      run(clock, {.max_samples = 10, .fixed_samples = 1777, .warm_up = false}, steady);
  ASSERT_TRUE(sampled);
  EXPECT_EQ(sampled->samples.size(), 1777U);
  EXPECT_EQ(steady.calls, 1777U);
  EXPECT_EQ(sampled->warmup_count, 0U);
  EXPECT_EQ(sampled->stop_reason, "iterations");
  EXPECT_TRUE(sampled->converged);
  EXPECT_LE(steady.largest_batch, 100U);
}

TEST(Sampler, AFixedCountIsNotCutByTheTimeCap) {
  FakeClock clock;
  Operation slow{clock, [](auto) { return 1e8; }};
  const auto sampled =
      run(clock, {.time_cap_ns = 1e9, .fixed_samples = 37, .warm_up = false}, slow);
  ASSERT_TRUE(sampled);
  EXPECT_EQ(sampled->samples.size(), 37U);
  EXPECT_EQ(sampled->measure_ns, 37 * 1e8);
  EXPECT_EQ(sampled->stop_reason, "iterations");
}

TEST(Sampler, WarmsUpUntilTwoBlocksAgree) {
  FakeClock clock;
  // Halves its distance to 1000 every 100 operations: 3000, 2000, 1500, ...
  Operation cooling{clock, [](std::uint64_t k) {
                      return 1000 + 2000 * std::pow(0.5, std::floor(static_cast<double>(k) / 100));
                    }};
  const auto sampled = run(clock, {.min_samples = 100}, cooling);
  ASSERT_TRUE(sampled);
  EXPECT_GE(sampled->warmup_count, 700U);
  EXPECT_LE(sampled->warmup_count, 1000U);
  EXPECT_LE(*std::ranges::max_element(sampled->samples), 1020);
}

TEST(Sampler, WarmUpEndsAtATenthOfTheCap) {
  FakeClock clock;
  double ns = 1000;
  Operation growing{clock, [&](auto) { return ns *= 1.001; }};  // never steady
  const auto sampled = run(clock, {.time_cap_ns = 1e9, .fixed_samples = 10}, growing);
  ASSERT_TRUE(sampled);
  double sum = 0;
  double at = 1000;
  for (std::uint64_t i = 0; i < sampled->warmup_count; ++i) sum += at *= 1.001;
  EXPECT_GE(sum, 1e8);
  EXPECT_LE(sum, 1.3e8);
}

TEST(Sampler, GetsReadyOnceBetweenTheWarmUpAndTheFirstKeptSample) {
  for (const bool warm_up : {true, false}) {
    FakeClock clock;
    Operation operation{clock, [](auto) { return 1000.0; }};
    std::vector<std::uint64_t> calls_before;
    const auto sampled = Sampler(clock, {.min_samples = 100, .warm_up = warm_up})
                             .run([&](auto count, auto& out) { return operation(count, out); },
                                  [&]() -> Status {
                                    calls_before.push_back(operation.calls);
                                    return {};
                                  });
    ASSERT_TRUE(sampled);
    EXPECT_EQ(calls_before, std::vector<std::uint64_t>{sampled->warmup_count});
    EXPECT_EQ(sampled->warmup_count > 0, warm_up);
  }
}

TEST(Sampler, GettingReadyCountsForNoTimeAndItsErrorIsTheRuns) {
  FakeClock clock;
  Operation operation{clock, [](auto) { return 1000.0; }};
  const auto batch = [&](auto count, auto& out) { return operation(count, out); };
  const SamplerOptions options{.min_samples = 100, .time_cap_ns = 1e8};
  const auto slow = Sampler(clock, options).run(batch, [&]() -> Status {
    clock.advance_ns(1e9);  // ten times the cap
    return {};
  });
  ASSERT_TRUE(slow) << slow.error().message;
  EXPECT_EQ(slow->stop_reason, "converged");
  EXPECT_EQ(slow->measure_ns, 100 * 1000.0);
  const auto failed = Sampler(clock, options).run(batch, [&]() -> Status {
    return fail(Code::kUnavailable, "not ready");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "not ready");
}

TEST(Sampler, AnOperationSlowerThanTheCapCountsForNothing) {
  for (const bool warm_up : {true, false}) {
    FakeClock clock;
    Operation slow{clock, [](auto) { return 6e9; }};
    const auto none = run(clock, {.time_cap_ns = 5e9, .warm_up = warm_up}, slow);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::kDeadlineExceeded);
    EXPECT_EQ(none.error().message,
              "a batch of 1 operations took 6 s, beyond the bound of 5 s: the operation hung, the "
              "clock jumped, or time_cap is too short");
    EXPECT_EQ(slow.calls, 1U);
  }
}

TEST(Sampler, AWarmUpThatUsesUpTheCapLeavesNoFigure) {
  FakeClock clock;
  Operation slow{clock, [](auto) { return 4e9; }};
  SamplerOptions options;
  options.time_cap_ns = 5e9;
  options.batch = 4;
  options.least_batch = 4;
  const auto none = run(clock, options, slow);  // one, then two in what is left of the tenth
  ASSERT_TRUE(none);
  EXPECT_EQ(none->stop_reason, "time_cap");
  EXPECT_FALSE(none->converged);
}

// 400 ns a batch of 40.
TEST(Sampler, ABatchOfUnknownLengthCountsUpToTwoTimeCapsAndThenForNothing) {
  for (const double caps : {0.5, 1.0, 1.5, 2.0, 2.1, 10.0}) {
    FakeClock clock;
    SamplerOptions options;
    options.min_samples = 40;
    options.time_cap_ns = 400 / caps;
    options.hang_ns = 0;
    options.warm_up = false;
    options.batch = 40;
    options.least_batch = 40;
    Operation steady{clock, [](auto) { return 10.0; }};
    const auto sampled = run(clock, options, steady);
    if (caps > 2) {
      ASSERT_FALSE(sampled) << caps;
      EXPECT_EQ(sampled.error().code, Code::kDeadlineExceeded);
      EXPECT_EQ(steady.calls, 40U);
      continue;
    }
    ASSERT_TRUE(sampled) << caps;
    EXPECT_EQ(sampled->samples.size(), 40U);
    EXPECT_EQ(sampled->converged, caps <= 1) << caps;
    EXPECT_EQ(sampled->stop_reason, caps <= 1 ? "converged" : "time_cap") << caps;
  }
}

// A busy host stops a process for a while.
TEST(Sampler, APauseOfTenthsOfASecondCountsBeyondTwoTimeCapsAndNeverConverges) {
  for (const double pause_ns : {0.1e9, 0.9e9, 1.1e9}) {
    FakeClock clock;
    SamplerOptions options;
    options.min_samples = 40;
    options.time_cap_ns = 40e6;
    options.warm_up = false;
    options.batch = 40;
    options.least_batch = 40;
    Operation paused{clock, [&](std::uint64_t k) { return k == 7 ? pause_ns : 10.0; }};
    const auto sampled = run(clock, options, paused);
    ASSERT_EQ(sampled.has_value(), pause_ns < 1e9) << pause_ns;
    if (sampled) {
      EXPECT_FALSE(sampled->converged);
    }
  }
}

// At the end of the cap a batch is one operation.
TEST(Sampler, APauseInABatchOfOneKnownOperationCounts) {
  FakeClock clock;
  SamplerOptions options;
  options.min_samples = 10'000;
  options.time_cap_ns = 40e6;
  options.warm_up = false;
  options.batch = 1;
  Operation paused{clock, [](std::uint64_t k) { return k == 7 ? 0.1e9 : 1e6; }};
  const auto sampled = run(clock, options, paused);
  ASSERT_TRUE(sampled) << sampled.error().message;
  EXPECT_FALSE(sampled->converged);
}

// The kernel found the time of one: its least batch is planned to last two time caps at most.
TEST(Sampler, TheLeastBatchShrinksToTwoTimeCaps) {
  for (const auto& [cap_ns, count] :
       {std::pair{1000.0, 40U}, std::pair{200.0, 40U}, std::pair{100.0, 20U}, std::pair{30.0, 6U},
        std::pair{10.0, 2U}, std::pair{7.0, 1U}}) {
    FakeClock clock;
    SamplerOptions options;
    options.min_samples = 1;
    options.time_cap_ns = cap_ns;
    options.warm_up = false;
    options.batch = 40;
    options.least_batch = 40;
    options.operation_ns = 10;
    std::uint64_t first = 0;
    const auto sampled = Sampler(clock, options).run([&](std::uint64_t now, auto& out) -> Status {
      if (first == 0) first = now;
      clock.advance_ns(10 * static_cast<double>(now));
      out.insert(out.end(), now, 10.0);
      return {};
    });
    ASSERT_TRUE(sampled) << cap_ns;
    EXPECT_EQ(first, count) << cap_ns;
  }
}

// Known by repeats, and not by one operation that may have hung.
TEST(Sampler, AnOperationKnownToBeLongerThanTheCapCountsAndNeverConverges) {
  for (const double caps : {1.0, 1.1, 2.0, 10.0}) {
    FakeClock clock;
    SamplerOptions options;
    options.min_samples = 1;
    options.time_cap_ns = 1e9;
    options.warm_up = false;
    options.batch = 32;
    options.least_batch = 4;
    options.operation_ns = caps * 1e9;
    Operation slow{clock, [&](auto) { return caps * 1e9; }};
    const auto sampled = run(clock, options, slow);
    ASSERT_TRUE(sampled) << caps;
    EXPECT_EQ(sampled->samples.size(), caps < 1.05 ? 2U : 1U);
    EXPECT_EQ(sampled->stop_reason, "time_cap");
    EXPECT_FALSE(sampled->converged) << "n is the point's sample_count";
    // Three times as long as it was known to be, above two caps: it hung, or the clock jumped.
    Operation hung{clock, [&](auto) { return 3 * caps * 1e9; }};
    EXPECT_EQ(run(clock, options, hung).error().code, Code::kDeadlineExceeded) << caps;
  }
}

// A jump below that looks like a stall, which counts; the run says that it is too long.
TEST(Sampler, AClockThatJumpsWithinABatchCountsForNothingBeyondTwoTimeCaps) {
  for (const double caps : {1.5, 2.1, 10.0})
    for (const std::uint64_t jump_at : {300U, 700U}) {  // after the warm-up
      FakeClock clock;
      Operation jumping{clock, [&](std::uint64_t k) {
                          if (k == jump_at) clock.advance_ns(caps * 5e9);
                          return 1000.0 + static_cast<double>(k % 7) * 100;
                        }};
      const auto sampled = run(clock, {}, jumping);
      if (caps < 2) {
        ASSERT_TRUE(sampled);
        EXPECT_FALSE(sampled->converged);
        continue;
      }
      ASSERT_FALSE(sampled) << caps << ' ' << jump_at;
      EXPECT_EQ(sampled.error().code, Code::kDeadlineExceeded);
      EXPECT_NE(sampled.error().message.find("the clock jumped"), std::string::npos);
    }
}

TEST(Sampler, RefusesATimeCapOrAPrecisionThatIsNone) {
  FakeClock clock;
  Operation steady{clock, [](auto) { return 1.0; }};
  for (const double none : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(run(clock, {.time_cap_ns = none}, steady).error().code, Code::kInvalidArgument);
    EXPECT_EQ(run(clock, {.relative_half_width = none}, steady).error().code,
              Code::kInvalidArgument);
  }
  EXPECT_EQ(
      run(clock, {.time_cap_ns = std::numeric_limits<double>::infinity()}, steady).error().code,
      Code::kInvalidArgument);
  EXPECT_EQ(steady.calls, 0U);
}

// The clock jumps within the operation's k-th call, or between two batches.
TEST(Sampler, AClockThatJumpsForwardsByHoursCountsForNothing) {
  for (const std::uint64_t jump_at : {0U, 1U, 150U, 700U}) {
    FakeClock clock;
    Operation jumping{clock, [&](std::uint64_t k) {
                        if (k == jump_at) clock.advance_ns(7200e9);
                        return 1000.0 + static_cast<double>(k % 7) * 100;
                      }};
    const auto none = run(clock, {}, jumping);
    ASSERT_FALSE(none) << jump_at;
    EXPECT_EQ(none.error().code, Code::kDeadlineExceeded);
    EXPECT_NE(none.error().message.find("the clock jumped"), std::string::npos);
    EXPECT_NE(none.error().message.find("7.2e+03 s"), std::string::npos) << none.error().message;
  }
}

TEST(Sampler, AClockThatGoesBackCountsForNothing) {
  for (const double back_ns : {1e6, 1e9, 7200e9})
    for (const std::uint64_t jump_at : {0U, 1U, 150U, 700U}) {
      FakeClock clock;
      Operation jumping{clock, [&](std::uint64_t k) {
                          if (k == jump_at) clock.advance_ns(-back_ns);
                          return 1000.0 + static_cast<double>(k % 7) * 100;
                        }};
      const auto none = run(clock, {}, jumping);
      ASSERT_FALSE(none) << jump_at;
      EXPECT_EQ(none.error().code, Code::kInternal);
      EXPECT_NE(none.error().message.find("the clock went back by"), std::string::npos)
          << none.error().message;
    }
}

TEST(Sampler, AClockThatGoesBackWhileGettingReadyCountsForNothing) {
  FakeClock clock;
  Operation operation{clock, [](auto) { return 1000.0; }};
  const auto none =
      Sampler(clock, {}).run([&](auto count, auto& out) { return operation(count, out); },
                             [&]() -> Status {
                               clock.advance_ns(-60e9);
                               return {};
                             });
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kInternal);
}

// A fixed count has no cap; hours in one batch are still no measurement.
TEST(Sampler, AFixedCountEndsAtAClockThatJumps) {
  FakeClock clock;
  Operation jumping{clock, [&](std::uint64_t k) {
                      if (k == 50) clock.advance_ns(2 * 3600e9);
                      return 1000.0;
                    }};
  EXPECT_EQ(run(clock, {.fixed_samples = 100, .warm_up = false}, jumping).error().code,
            Code::kDeadlineExceeded);
}

// A message of no bytes has no rate, and a clock too coarse gives no time.
TEST(Sampler, AnOperationWhoseMedianIsZeroCountsForNothing) {
  for (const std::uint64_t fixed : {0U, 1000U}) {
    FakeClock clock;
    const Sampler::Batch empty = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      clock.advance_ns(1e6 * static_cast<double>(count));
      out.insert(out.end(), count, 0.0);
      return {};
    };
    const auto none = Sampler(clock, {.fixed_samples = fixed}).run(empty);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::kInternal);
    EXPECT_NE(none.error().message.find("is 0: the operation moves nothing"), std::string::npos);
  }
}

TEST(Sampler, AnOperationThatFailsInTheMiddleCountsForNothing) {
  for (const std::uint64_t fails_at : {0U, 150U, 3000U}) {
    FakeClock clock;
    std::uint64_t calls = 0;
    const Sampler::Batch vanishing = [&](std::uint64_t count, std::vector<double>& out) -> Status {
      for (; count > 0; --count, ++calls) {
        if (calls == fails_at) return fail(Code::kUnavailable, "GPU 3 is gone");
        clock.advance_ns(1000);
        out.push_back(1000 + static_cast<double>(calls % 11) * 100);
      }
      return {};
    };
    const auto none = Sampler(clock, {.min_samples = 5000}).run(vanishing);
    ASSERT_FALSE(none) << fails_at;
    EXPECT_EQ(none.error().code, Code::kUnavailable);
    EXPECT_EQ(none.error().message, "GPU 3 is gone");
  }
}

TEST(Sampler, GivesTheBatchsOwnError) {
  FakeClock clock;
  const Sampler::Batch broken = [](auto, auto&) -> Status {
    return fail(Code::kUnavailable, "peer is gone");
  };
  const auto sampled = Sampler(clock, {}).run(broken);
  ASSERT_FALSE(sampled);
  EXPECT_EQ(sampled.error().code, Code::kUnavailable);
  EXPECT_EQ(sampled.error().message, "peer is gone");
}

TEST(Sampler, RefusesASampleThatIsNoNumberAndCountsBeyondItsBounds) {
  FakeClock clock;
  Operation broken{clock, [](auto) { return std::numeric_limits<double>::quiet_NaN(); }};
  EXPECT_EQ(run(clock, {.warm_up = false}, broken).error().code, Code::kInternal);
  const auto negative = Sampler(clock, {}).run([](std::uint64_t count, auto& out) -> Status {
    out.insert(out.end(), count, -1.0);
    return {};
  });
  EXPECT_EQ(negative.error().code, Code::kInternal);
  Operation steady{clock, [](auto) { return 1.0; }};
  EXPECT_EQ(run(clock, {.max_samples = 0}, steady).error().code, Code::kInvalidArgument);
  EXPECT_EQ(run(clock, {.fixed_samples = 1ULL << 40U}, steady).error().code,
            Code::kInvalidArgument);
}

TEST(SamplerDeathTest, ABatchThatAppendsTooFewStopsTheProcess) {
  FakeClock clock;
  EXPECT_DEATH((void)Sampler(clock, {}).run([](auto, auto&) -> Status { return {}; }),
               "CHECK failed");
}

}  // namespace
}  // namespace railgauge
