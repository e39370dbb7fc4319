// Time and memory of planning, up to all pairs of 10,000 nodes (50 million tasks); the budget is 5
// s and 1 GB. The peak is that of the process so far, so run a case alone (--benchmark_filter) for
// its own peak.
#include <sys/resource.h>

#include <cstdint>
#include <map>
#include <vector>

#include <benchmark/benchmark.h>

#include "controller/plan/follow_up.h"
#include "controller/plan/planner.h"
#include "controller/plan/rounds/pair_schedule.h"
#include "controller/plan/testing/plan_testing.h"

namespace railgauge::plan {
namespace {

constexpr std::size_t kNodesPerLeaf = 20;
constexpr std::size_t kLeavesPerPod = 25;

// Peak resident memory of the process; ru_maxrss is in KiB on Linux.
double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Leaves and pods of fixed size, in the order of the nodes.
Topology leaves_for(std::span<const PlanNode> nodes) {
  Topology topology{.source = "labels"};
  for (std::size_t i = 0; i < nodes.size(); ++i)
    topology.nodes[nodes[i].name] = {
        .leaf = fmt::format("leaf{}", i / kNodesPerLeaf),
        .pod = fmt::format("pod{}", i / kNodesPerLeaf / kLeavesPerPod)};
  return topology;
}

// The outline: rounds, tasks, time and traffic of all pairs; no task is made.
void outline_all_pairs(benchmark::State& state) {
  const auto nodes = some_nodes(static_cast<std::size_t>(state.range(0)));
  const auto kernels = fake_kernels();
  const PlanOptions options{.topology = leaves_for(nodes)};
  const Suite suite = suite_of({stage_of("fake.bw", PlacementKind::kPairs)});
  std::uint64_t tasks = 0;
  std::size_t mixed = 0;
  for (auto _ : state) {
    const auto outline = PlanOutline::make(suite, nodes, kernels, {}, options);
    if (!outline) return state.SkipWithError(outline.error().message.c_str());
    tasks = outline->tasks();
    mixed = 0;
    for (const PlannedRound& round : outline->head().round_infos) mixed += round.mixed ? 1 : 0;
  }
  state.counters["tasks"] = static_cast<double>(tasks);
  state.counters["mixed_rounds"] = static_cast<double>(mixed);
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(outline_all_pairs)
    ->Arg(64)
    ->Arg(1'000)
    ->Arg(9'999)
    ->Arg(10'000)
    ->Unit(benchmark::kMillisecond);

// The tasks of one round, made when the round begins.
void tasks_of_a_round(benchmark::State& state) {
  const auto nodes = some_nodes(static_cast<std::size_t>(state.range(0)));
  const auto kernels = fake_kernels();
  const auto outline = PlanOutline::make(suite_of({stage_of("fake.bw", PlacementKind::kPairs)}),
                                         nodes, kernels, {}, {.topology = leaves_for(nodes)});
  if (!outline) return state.SkipWithError(outline.error().message.c_str());
  std::size_t round = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(outline->tasks_of(round++ % outline->head().rounds));
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(tasks_of_a_round)->Arg(1'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

// A plan with its tasks, at the most that a list has.
void whole_plan(benchmark::State& state) {
  const auto nodes = some_nodes(static_cast<std::size_t>(state.range(0)));
  const auto kernels = fake_kernels();
  const Suite suite = suite_of({stage_of("fake.bw", PlacementKind::kPairs)});
  for (auto _ : state) {
    auto plan = make_plan(suite, nodes, kernels, {}, {.topology = leaves_for(nodes)});
    if (!plan) return state.SkipWithError(plan.error().message.c_str());
    benchmark::DoNotOptimize(plan);
  }
  state.counters["peak_MiB"] = peak_mib();
}
BENCHMARK(whole_plan)->Arg(632)->Unit(benchmark::kMillisecond);

// Time to read the planned pairs when a run of that size follows up its suspects: as many pairs as
// a run may want, `at_once` of them in one pass over the plan.
void follow_ups(benchmark::State& state) {
  constexpr std::size_t kWanted = 256;
  const auto at_once = static_cast<std::size_t>(state.range(0));
  const auto nodes = some_nodes(632);
  const auto outline =
      PlanOutline::make(suite_of({stage_of("fake.bw", PlacementKind::kPairs)}), nodes,
                        fake_kernels(), {}, {.topology = leaves_for(nodes)});
  if (!outline) return state.SkipWithError(outline.error().message.c_str());
  std::vector<WantedPair> wanted;
  for (std::size_t i = 0; i < kWanted; ++i)
    wanted.push_back({.kernel = "fake.bw",
                      .from = nodes[i].name,
                      .to = nodes[nodes.size() - 1 - i].name,
                      .memory = "host",
                      .purpose = "elsewhere"});
  for (auto _ : state)
    for (std::size_t from = 0; from < kWanted; from += at_once) {
      const auto part = std::span(wanted).subspan(from, at_once);
      benchmark::DoNotOptimize(follow_ups_of(outline->head(), PlannedPairs(*outline, part), part,
                                             static_cast<std::uint32_t>(from) + 1));
    }
  state.counters["tasks"] = static_cast<double>(outline->tasks());
}
BENCHMARK(follow_ups)->Arg(256)->Arg(1)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railgauge::plan
