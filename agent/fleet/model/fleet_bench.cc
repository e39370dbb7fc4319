// The cost of the modelled fabric: a night of 512 nodes with 8 rails, task by task. Synthetic.
#include <benchmark/benchmark.h>

#include <string>

#include "agent/fleet/model/modelled_fabric.h"

namespace railgauge::fleet {
namespace {

constexpr const char* kNight =
    "version: 1\nmetadata: {name: night}\nfabric: {nodes: 512, rails: 8, leaves: 32, spines: 16}\n"
    "noise:\n  - {kind: gaussian, size: 0.01}\n  - {kind: skew, size: 0.005}\n"
    "  - {kind: correlated, size: 0.01, span: 3d}\n"
    "faults:\n  - {kind: port, node: sim0100, nic: 3, takes: 0.1}\n"
    "  - {kind: uplink, leaf: 7, spine: 3, takes: 0.2, hits: 0.5}\n";

ModelledFabric fabric() {
  auto read = read_scenario(kNight, "night.yaml");
  RG_CHECK(read.has_value());
  return ModelledFabric(*std::move(read));
}

// One round of a night's pairs: 256 pairs, both ways, on 8 rails.
void pair_round(benchmark::State& state, const char* kernel, const char* samples) {
  const ModelledFabric modelled = fabric();
  ModelledTask task{.kernel = kernel};
  task.parameters["min_samples"] = samples;
  task.ranks.resize(2);
  std::int64_t tasks = 0;
  std::uint32_t round = 1;
  for (auto _ : state) {
    for (std::uint32_t node = 0; node < 512; ++node)
      for (std::int32_t rail = 0; rail < 8; ++rail) {
        task.ranks[0] = {.node = node, .nic = rail};
        task.ranks[1] = {.node = (node + round) % 512, .nic = rail};
        task.time_ns += 1'000'000;
        benchmark::DoNotOptimize(modelled.run(task));
      }
    tasks += 512L * 8;
    round = round % 511 + 1;
  }
  state.SetItemsProcessed(tasks);
}
BENCHMARK_CAPTURE(pair_round, write_lat, "verbs.write_lat", "5000")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pair_round, write_bw, "verbs.write_bw", "30")->Unit(benchmark::kMillisecond);

// One collective over all 4,096 GPUs.
void collective(benchmark::State& state, const char* kernel) {
  const ModelledFabric modelled = fabric();
  ModelledTask task{.kernel = kernel};
  for (std::uint32_t node = 0; node < 512; ++node)
    for (std::int32_t gpu = 0; gpu < 8; ++gpu) task.ranks.push_back({.node = node, .gpu = gpu});
  for (auto _ : state) {
    task.time_ns += 1'000'000;
    benchmark::DoNotOptimize(modelled.run(task));
  }
}
BENCHMARK_CAPTURE(collective, all_reduce, "nccl.all_reduce")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(collective, all_to_all, "nccl.all_to_all")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace railgauge::fleet
