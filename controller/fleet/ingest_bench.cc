// Measures points on the whole path: agents' gRPC streams, the fleet, the store's commits on the
// disk, and acknowledgements back. Agents and controller share one process and its cores.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "controller/store/testing/store_testing.h"
#include "controller/testing/server_bench.h"

namespace railgauge {
namespace {

using testing_agent::Script;
using testing_agent::ScriptedAgent;
using testing_agent::ServerBench;

// As a real agent delivers.
constexpr std::uint64_t kBatchRecords = 64;
constexpr std::uint64_t kWindowRecords = 512;
constexpr std::uint32_t kPoints = 20'000;  // of an agent in a round

// Started and the points of rank 0 of task `task`, in turn of each of `points` (series), by one
// agent; returns when all are acknowledged.
void deliver(ScriptedAgent& agent, std::uint64_t first_id, const store::At& at,
             const std::vector<Record>& points) {
  std::uint64_t next = first_id;
  const std::uint64_t end = first_id + kPoints + 1;
  while (next < end) {
    api::AgentMessage message;
    for (std::uint64_t i = 0; i < kBatchRecords && next < end; ++i, ++next) {
      api::SpooledRecord& spooled = *message.mutable_records()->add_records();
      spooled.set_spool_id(next);
      *spooled.mutable_record() =
          next == first_id ? store::started_record(at) : points[(next - first_id) % points.size()];
      spooled.mutable_record()->mutable_key()->set_sequence(
          static_cast<std::uint32_t>(next - first_id));
    }
    agent.send(message);
    agent.wait_until([&](const ScriptedAgent& a) {
      return a.ended() || next <= std::max(a.acknowledged(), first_id - 1) + kWindowRecords + 1;
    });
  }
  agent.wait_until(
      [&](const ScriptedAgent& a) { return a.ended() || a.acknowledged() + 1 >= end; });
}

// One for each series: they differ by their size.
std::vector<Record> points_of(const store::At& at, std::int64_t series, bool histograms) {
  std::vector<Record> points;
  for (std::int64_t i = 0; i < series; ++i) {
    Record& record = points.emplace_back(store::point_record(at, 1));
    record.mutable_point()->set_message_bytes(8 * static_cast<double>(i + 1));
    if (!histograms) record.mutable_point()->clear_histogram();
  }
  return points;
}

// Agents, series of each, whether with histograms of 60 buckets.
void ingest_through_grpc(benchmark::State& state) {
  const auto agents = static_cast<int>(state.range(0));
  ServerBench bench;
  {
    auto store = store::open_store(bench.config_.database);
    for (int node = 1; node <= agents; ++node)
      if (!store->put_node(store::node_row(node))) std::abort();
    std::vector<store::TaskRow> tasks = store::pair_tasks(agents);
    for (int i = 0; i < agents; ++i)
      tasks[static_cast<std::size_t>(i)].ranks = {{.node_id = fmt::format("id-{}", i + 1),
                                                   .node = fmt::format("n{}", i + 1),
                                                   .endpoint = "rxe0:1"}};
    for (int round = 0; round < state.max_iterations; ++round)
      if (!store->create_run(store::run_row(fmt::format("r{}", round)), tasks))
        std::abort();
      else
        for (const store::TaskRow& task : tasks)
          store::dispatch(*store, fmt::format("r{}", round), task.task_id);
  }
  bench.start();
  std::vector<std::unique_ptr<ScriptedAgent>> nodes;
  for (int i = 1; i <= agents; ++i) {
    auto options = bench.agent(fmt::format("n{}", i), Script::kKeepSilent);
    options.node_id = fmt::format("id-{}", i);
    nodes.push_back(std::make_unique<ScriptedAgent>(options));
    if (!testing_agent::welcome(*nodes.back())) std::abort();
  }
  int round = 0;
  for ([[maybe_unused]] auto _ : state) {
    std::vector<std::thread> threads;
    for (int i = 0; i < agents; ++i)
      threads.emplace_back([&, i] {
        const store::At at{.run_id = fmt::format("r{}", round),
                           .task_id = fmt::format("t{:04}", i + 1)};
        deliver(*nodes[static_cast<std::size_t>(i)],
                1 + static_cast<std::uint64_t>(round) * (kPoints + 1), at,
                points_of(at, state.range(1), state.range(2) != 0));
      });
    for (std::thread& thread : threads) thread.join();
    ++round;
  }
  state.counters["points_per_second"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * agents * kPoints, benchmark::Counter::kIsRate);
  nodes.clear();
  bench.stop();
  // Every point is there once, or the figure is of something else.
  auto store = store::open_store(bench.config_.database);
  const auto count = store->sql("SELECT count(*) FROM point", 1, 60);
  const double wanted = static_cast<double>(state.iterations()) * agents * kPoints;
  if (!count || std::get<double>(count->rows.at(0).at(0)) != wanted)
    state.SkipWithError("points are missing");
}
BENCHMARK(ingest_through_grpc)
    ->ArgNames({"agents", "series", "histograms"})
    ->Args({4, 1, 0})
    ->Args({16, 1, 0})
    ->Args({4, 1'000, 0})
    ->Args({16, 1'000, 0})
    ->Args({4, 1, 1})
    ->Args({4, 1'000, 1})
    ->UseRealTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railgauge
