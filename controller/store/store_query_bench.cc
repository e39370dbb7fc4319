// Answers out of years of nights, and bytes a point. RAILGAUGE_BENCH_POINTS sets how many points
// (10,000,000); RAILGAUGE_BENCH_DATABASE names a file to keep them in: filling takes longer than
// asking.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "controller/store/store.h"
#include "controller/store/testing/store_bench.h"
#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/schema.h"

namespace railgauge::store {
namespace {

constexpr int kNodes = 64;
// A night.
constexpr int kPairs = 1'250;
// Points of a task.
constexpr int kSizes = 20;
constexpr int kMatrixEndpoints = 512;

double wanted_points() {
  const char* given = std::getenv("RAILGAUGE_BENCH_POINTS");
  return given == nullptr ? 1e7 : std::atof(given);
}

// Synthetic: one night's tasks as rows, without distributions, as they are after 13 months.
void insert_night(Connection& connection, int night) {
  must(connection.execute(
      "INSERT INTO run (run_id, suite, suite_text, trigger, requested_by, state, outcome, reason, "
      "nodes, created_at, started_at, ended_at) VALUES ('night' || ?1, 'nightly', '', 'schedule', "
      "'', 'ended', 'passed', '', '[]', ?2, ?2, ?2 + 3000)",
      night, 1.6e9 + 86'400.0 * night));
  must(connection.execute(
      "WITH RECURSIVE t (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM t WHERE i < ?2 - 1) INSERT "
      "INTO task (id, run, task_id, stage, round, kernel, parameter_set, identity_parameters, "
      "deadline_seconds, expected_seconds, expected_bytes, state, outcome, reason, attempts, "
      "counted_attempt) SELECT ?1 * ?2 + i + 1, ?1 + 1, 't' || i, 0, 0, 'verbs.write_lat', 1, "
      "'[]', "
      "30, 3, 1e6, 'ended', 'passed', '', 1, 1 FROM t",
      night, kPairs));
  for (const std::string_view sql :
       {"INSERT INTO task_rank (task, rank, node, node_name, endpoint, endpoint_text) SELECT "
        "task.id, "
        "n, node.id, name, endpoint.id, 'rxe0:1' FROM task JOIN (SELECT 0 AS n UNION SELECT 1) "
        "JOIN "
        "node ON node.id=1 + iif(n=0, task.id % ?2, (task.id + 1 + task.id / ?2 % 20) % ?2) JOIN "
        "endpoint ON endpoint.node=node.id WHERE run=?1 + 1",
        "INSERT INTO attempt (id, task, attempt, outcome, reason) SELECT id, id, 1, 'passed', '' "
        "FROM "
        "task WHERE run=?1 + 1 AND ?2 > 0",
        "INSERT INTO rank (id, attempt, rank, revision, parameter_set, started_at, ended_at, "
        "outcome, "
        "reason) SELECT 2 * task.id + n, task.id, n, 1, 1, 1.6e9 + 86400.0 * ?1, 1.6e9 + 86400.0 * "
        "?1 "
        "+ 3, 'passed', '' FROM task JOIN (SELECT 0 AS n UNION SELECT 1) WHERE run=?1 + 1 AND ?2 > "
        "0 "
        "ORDER BY 1"})
    must(connection.execute(sql, night, kNodes));
  must(connection.execute(
      "WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < ?3 - 1) INSERT "
      "INTO "
      "point (id, series, measured_ms, median, median_low, median_high, p99, sample_count, flags) "
      "SELECT (2 * task.id << 20) + i + 1, (task.id - 1) % ?2 * ?3 + i + 1, 1600000000000 + "
      "86400000 * ?1 + (task.id % ?2) * 2400 + i * 91, 1500 + i + random() * 1e-17, 1490 + "
      "random() * 1e-17, "
      "1510 + "
      "random() * 1e-17, 1900 + random() * 1e-17, 1000, 5 FROM task JOIN s WHERE run=?1 + 1 ORDER "
      "BY 1",
      night, kPairs, kSizes));
}

void insert_series(Connection& connection) {
  must(connection.execute("INSERT INTO parameter_set (id, hash, body) VALUES (1, 0, '{}')"));
  must(
      connection.execute("WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i "
                         "< ?1 * ?2 - 1) INSERT "
                         "INTO series (id, kernel, revision, metric, meaning, message_bytes, rank, "
                         "parameters, endpoints, "
                         "pair, unit, larger_is_better) SELECT i + 1, 'verbs.write_lat', 1, "
                         "'latency_ns', 'half_rtt', 1 << "
                         "i % ?2, 0, '{}', 'pair' || (i / ?2), '', 'ns', 0 FROM s",
                         kPairs, kSizes));
  // Task id - 1 is the pair's number, modulo the pairs: node and partner as in task_rank above.
  must(connection.execute(
      "INSERT INTO series_endpoint (series, position, endpoint) SELECT series.id, n, endpoint.id "
      "FROM "
      "series JOIN (SELECT 0 AS n UNION SELECT 1) JOIN endpoint ON endpoint.node=1 + iif(n=0, "
      "((series.id - 1) / ?2 + 1) % ?1, ((series.id - 1) / ?2 + 2) % ?1)",
      kNodes, kSizes));
}

// Filled once for all queries.
class Years {
 public:
  static Years& get() {
    static Years years;
    return years;
  }
  Store& store() { return *store_; }
  [[nodiscard]] int nights() const { return nights_; }
  [[nodiscard]] double bytes_a_point() const { return bytes_a_point_; }

 private:
  Years() {
    const char* kept = std::getenv("RAILGAUGE_BENCH_DATABASE");
    const std::string path = kept == nullptr ? folder_.file("db") : kept;
    if (!std::filesystem::exists(path)) fill(path);
    store_ = open_store(path);
    const auto space = store_->space();
    must(space);
    bytes_a_point_ = space->file_bytes / space->points;
    nights_ = static_cast<int>(space->runs);
    std::printf("%.0f points in %d nights\n", space->points, nights_);
    for (const SpacePart& part : space->parts)
      if (part.bytes > 0.01 * space->file_bytes)
        std::printf("%-24s %6.1f bytes a point\n", part.name.c_str(), part.bytes / space->points);
    PairMatrixRow matrix{.run_id = "night0", .metric = "bandwidth_bytes_per_second"};
    for (int i = 0; i < kMatrixEndpoints; ++i)
      matrix.endpoints.push_back(fmt::format("n{}/rxe0:1", i));
    matrix.values.resize(static_cast<std::size_t>(kMatrixEndpoints) * kMatrixEndpoints);
    for (std::size_t i = 0; i < matrix.values.size(); ++i)
      matrix.values[i] =
          i % (kMatrixEndpoints + 1) == 0 ? NAN : 12e9F + static_cast<float>(i * 7919 % 100'003);
    must(store_->put_pair_matrix(matrix));
  }

  static void fill(const std::string& path) {
    {
      auto store = open_store(path);
      for (int node = 1; node <= kNodes; ++node) must(store->put_node(node_row(node)));
    }
    auto connection = open_and_migrate(path, 1, 0);
    must(connection);
    must(connection->script("PRAGMA synchronous=OFF; BEGIN"));
    insert_series(*connection);
    must(connection->script("COMMIT"));
    const int nights = static_cast<int>(wanted_points() / (kPairs * kSizes));
    for (int night = 0; night < nights; ++night) {
      must(connection->script("BEGIN"));
      insert_night(*connection, night);
      must(connection->script("COMMIT"));
    }
  }

  TempFolder folder_;
  int nights_ = 0;
  std::unique_ptr<Store> store_;
  double bytes_a_point_ = 0;
};

void query(benchmark::State& state, const ResultsFilter& filter) {
  std::size_t rows = 0;
  // Filled or opened outside the timed region.
  Store& store = Years::get().store();
  for (auto _ : state) {
    auto found = store.results(filter);
    must(found);
    if (found->empty()) std::abort();
    rows = found->size();
  }
  state.counters["rows"] = static_cast<double>(rows);
  state.counters["bytes_a_point"] = Years::get().bytes_a_point();
}

void one_series(benchmark::State& state) {
  query(state, {.run_id = "all", .series = 4'711, .limit = kMaxResultRows});
}
// Chosen by all words that there are.
void one_size_of_a_node_last_night(benchmark::State& state) {
  query(state, {.run_id = "all",
                .kernel = "verbs.write_lat",
                .metric = "latency_ns",
                .nodes = {"n7"},
                .message_bytes = 8,
                .endpoint = "rxe0:1",
                .rail = 0,
                .since = 1.6e9 + 86'400.0 * (Years::get().nights() - 1)});
}
void history_of_one_series(benchmark::State& state) {
  for (auto _ : state) {
    auto found = Years::get().store().history(4'711, {}, 100'000);
    must(found);
    state.counters["rows"] = static_cast<double>(found->points.size());
  }
}
void one_nodes_last_night(benchmark::State& state) {
  query(state, {.run_id = "all",
                .nodes = {"n7"},
                .since = 1.6e9 + 86'400.0 * (Years::get().nights() - 1),
                .limit = kMaxResultRows});
}
void newest_run(benchmark::State& state) { query(state, {}); }
void whole_newest_run(benchmark::State& state) { query(state, {.limit = kMaxResultRows}); }
void matrix_of_a_run(benchmark::State& state) {
  for (auto _ : state) {
    const auto found = Years::get().store().pair_matrix({.run_id = "night0"});
    must(found);
    state.counters["endpoints"] = static_cast<double>(found->endpoints.size());
  }
}
void list_runs(benchmark::State& state) {
  for (auto _ : state) must(Years::get().store().list_runs(20));
}
void two_runs_compared(benchmark::State& state) {
  const std::string b = fmt::format("night{}", Years::get().nights() - 1);
  for (auto _ : state) must(Years::get().store().compare("night0", b));
}
BENCHMARK(one_series)->Unit(benchmark::kMillisecond);
BENCHMARK(history_of_one_series)->Unit(benchmark::kMillisecond);
BENCHMARK(one_nodes_last_night)->Unit(benchmark::kMillisecond);
BENCHMARK(one_size_of_a_node_last_night)->Unit(benchmark::kMillisecond);
BENCHMARK(matrix_of_a_run)->Unit(benchmark::kMillisecond);
BENCHMARK(newest_run)->Unit(benchmark::kMillisecond);
BENCHMARK(whole_newest_run)->Unit(benchmark::kMillisecond);
BENCHMARK(list_runs)->Unit(benchmark::kMillisecond);
BENCHMARK(two_runs_compared)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace railgauge::store
