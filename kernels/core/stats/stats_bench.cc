// The cost of our own statistics, at the sampler's checks and at a runner's end.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "kernels/core/stats/stats.h"

namespace railgauge {
namespace {

// Latencies with the given correlation of neighbours.
std::vector<double> samples(std::size_t n, double rho) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> out(n);
  double x = noise(random);
  for (double& value : out) {
    value = 1000 * std::exp(0.1 * x);
    x = rho * x + std::sqrt(1 - rho * rho) * noise(random);
  }
  return out;
}

void median_interval(benchmark::State& state) {
  auto values = samples(static_cast<std::size_t>(state.range(0)), 0);
  std::ranges::sort(values);
  for (auto _ : state)
    benchmark::DoNotOptimize(median_interval_sorted(values, static_cast<double>(values.size())));
}
BENCHMARK(median_interval)->Arg(1000)->Arg(100'000);

void effective_count(benchmark::State& state) {
  const auto values =
      samples(static_cast<std::size_t>(state.range(0)), static_cast<double>(state.range(1)) / 1000);
  for (auto _ : state) benchmark::DoNotOptimize(effective_sample_count(values));
}
BENCHMARK(effective_count)
    ->Args({1000, 0})
    ->Args({100'000, 0})
    ->Args({100'000, 900})
    ->Args({100'000, 999});

void summarize_point(benchmark::State& state) {
  const auto values = samples(static_cast<std::size_t>(state.range(0)), 0);
  for (auto _ : state) {
    Point point;
    summarize(values, point);
    benchmark::DoNotOptimize(point);
  }
}
BENCHMARK(summarize_point)->Arg(1000)->Arg(100'000);

}  // namespace
}  // namespace railgauge
