// Rows per second into the store and out of it, on a real file with synchronous=FULL.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "controller/store/store.h"
#include "controller/store/store_testing.h"

namespace railgauge::store {
namespace {

constexpr std::uint32_t kPointsInTask = 10;

void must(const Status& status) {
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::abort();
  }
}

std::vector<Record> task_records(int task, bool histogram) {
  const At at{.task_id = fmt::format("t{:04}", task)};
  std::vector<Record> records{started_record(at)};
  for (std::uint32_t i = 1; i <= kPointsInTask; ++i) {
    records.push_back(point_record(at, i, 1000 + i));
    records.back().mutable_point()->set_message_bytes(8 << i);
    if (!histogram) records.back().mutable_point()->clear_histogram();
  }
  records.push_back(final_record(at, kPointsInTask + 1, "passed"));
  return records;
}

// A store with a run of `tasks`, filled with their points when asked.
std::unique_ptr<Store> prepared(const std::string& path, int tasks, bool filled) {
  auto store = open_store(path);
  plan_run(*store, "r1", tasks);
  if (!filled) return store;
  for (int task = 1; task <= tasks; ++task) {
    must(store->append_records("id-1", task_records(task, false), {}));
    if (task % 1'000 == 0) must(store->flush());
  }
  must(store->update_run({.run_id = "r1", .state = "ended"}));
  must(store->flush());
  return store;
}

// Argument 0: records in one delivery; argument 1: with histograms.
void append_points(benchmark::State& state) {
  const auto tasks_in_delivery = static_cast<int>(state.range(0) / (kPointsInTask + 2));
  constexpr int kTasks = 6'000;
  std::int64_t points = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const TempFolder folder;
    auto store = prepared(folder.file("db"), kTasks, false);
    std::vector<std::vector<Record>> deliveries;
    for (int task = 1; task <= kTasks; ++task) {
      if ((task - 1) % tasks_in_delivery == 0) deliveries.emplace_back();
      for (Record& record : task_records(task, state.range(1) != 0))
        deliveries.back().push_back(std::move(record));
    }
    state.ResumeTiming();
    for (auto& delivery : deliveries)
      while (!store->append_records("id-1", delivery, {})) must(store->flush());
    must(store->flush());
    state.PauseTiming();
    points += kTasks * kPointsInTask;
    store.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(points);
}
BENCHMARK(append_points)->Args({120, 0})->Args({1200, 0})->Args({1200, 1})->UseRealTime();

// One record, one commit: what the fsync costs.
void append_one_and_wait(benchmark::State& state) {
  const TempFolder folder;
  auto store = prepared(folder.file("db"), 1, false);
  must(append(*store, "id-1", {started_record({})}));
  std::uint32_t sequence = 0;
  for (auto _ : state) must(append(*store, "id-1", {point_record({}, ++sequence)}));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(append_one_and_wait)->UseRealTime();

// Queries on 1e5 points of 10 series.
class FilledStore : public benchmark::Fixture {
 public:
  void SetUp(const benchmark::State&) override {
    if (!store_) store_ = prepared(folder_.file("db"), 10'000, true);
  }
  void query(benchmark::State& state, const ResultsFilter& filter) {
    std::size_t rows = 0;
    for (auto _ : state) {
      auto found = store_->results(filter);
      if (!found || found->empty()) std::abort();
      rows += found->size();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(rows));
  }

 protected:
  TempFolder folder_;
  std::unique_ptr<Store> store_;
};

BENCHMARK_F(FilledStore, newest_thousand)(benchmark::State& state) {
  query(state, {.run_id = "all"});
}
BENCHMARK_F(FilledStore, one_size)(benchmark::State& state) {
  query(state, {.run_id = "all", .metric = "latency_ns", .message_bytes = 16});
}
BENCHMARK_F(FilledStore, one_node)(benchmark::State& state) {
  query(state, {.run_id = "all", .nodes = {"n2"}});
}
BENCHMARK_F(FilledStore, newest_run)(benchmark::State& state) { query(state, {}); }
BENCHMARK_F(FilledStore, whole_run)(benchmark::State& state) {
  query(state, {.limit = kMaxResultRows});
}
BENCHMARK_F(FilledStore, list_runs)(benchmark::State& state) {
  for (auto _ : state)
    if (!store_->list_runs(10)) std::abort();
}

}  // namespace
}  // namespace railgauge::store
