// CPU seconds to read a run's figures of pairs, with whole results as until now and along the
// narrow rows, in turns in one process; then those of all that is made of them at the end of a run.
// The database is synthetic.
//   pair_points_bench [FILE]
// RAILGAUGE_BENCH_NODES sets the nodes (128) of eight rails, all pairs of which are measured both
// ways. FILE keeps the database: filling it takes longer than reading. Exit 1 where the narrow way
// takes more than a quarter of the time.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "controller/history/pair_figures.h"
#include "controller/history/pair_matrices.h"
#include "controller/history/run_suspects.h"
#include "controller/store/store.h"
#include "controller/store/testing/store_bench.h"
#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/schema.h"
#include "kernels/core/base/headline.h"
#include "kernels/core/base/lookup.h"
#include "kernels/core/stats/quantile.h"

namespace railgauge {
namespace {

using store::must;

constexpr int kRails = 8;
constexpr int kRounds = 3;
constexpr std::uint32_t kOldPage = 2'000;
constexpr double kMostOfOld = 0.25;

int wanted_nodes() {
  const char* given = std::getenv("RAILGAUGE_BENCH_NODES");
  return given == nullptr ? 128 : std::atoi(given);
}

// Seconds of this process's CPUs: those of a clock depend on what else runs on the machine.
double seconds_of(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

store::NodeRow bench_node(int number) {
  store::NodeRow row = store::node_row(number);
  row.endpoints.clear();
  row.facts["leaf"] = fmt::format("l{}", (number - 1) / 16);
  for (int rail = 0; rail < kRails; ++rail)
    row.endpoints.push_back({.kind = "nic",
                             .device = fmt::format("mlx5_{}", rail),
                             .port = 1,
                             .pci_address = fmt::format("0000:{:x}0:00.0", rail + 1),
                             .state = "active",
                             .rate_bits_per_second = 4e11});
  return row;
}

// The tasks in which node `from` (from 0) is the first rank: one for each other node and rail.
// ?1 node, ?2 nodes, ?3 rails. A task's id is its place among all of them.
void insert_sender(store::Connection& connection, int from, int nodes) {
  const std::string each =
      "WITH RECURSIVE i (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < ?2 * ?3 - 1), "
      "t (id, receiver, rail) AS (SELECT ?1 * ?2 * ?3 + n + 1, n / ?3, n % ?3 FROM i WHERE n / ?3 "
      "<> ?1) ";
  for (const std::string_view insert :
       {"INSERT INTO task (id, run, task_id, stage, round, kernel, parameter_set, "
        "identity_parameters, deadline_seconds, expected_seconds, expected_bytes, state, outcome, "
        "reason, attempts, counted_attempt) SELECT id, 1, 't' || id, 0, 0, 'verbs.write_bw', 1, "
        "'[]', 30, 3, 1e6, 'ended', 'passed', '', 1, 1 FROM t",
        "INSERT INTO task_rank (task, rank, node, node_name, endpoint_text) SELECT id, r, 1 + "
        "iif(r, receiver, ?1), 'n' || (1 + iif(r, receiver, ?1)), 'mlx5_' || rail || ':1' FROM t "
        "JOIN (SELECT 0 AS r UNION SELECT 1)",
        "INSERT INTO attempt (id, task, attempt, outcome, reason) SELECT id, id, 1, 'passed', '' "
        "FROM t",
        "INSERT INTO rank (id, attempt, rank, revision, endpoint_text, parameter_set, fact_set, "
        "started_at, ended_at, outcome, reason, start_ns, measure_ns, cpu_seconds) SELECT 2 * id + "
        "r, id, r, 1, 'mlx5_' || rail || ':1', 1, 1000000 + ?1 * ?3 + rail, 1.6e9, 1.6e9 + 3, "
        "'passed', "
        "'', 5e6, 3e9, 0.25 FROM t JOIN (SELECT 0 AS r UNION SELECT 1) ORDER BY 1",
        "INSERT INTO series (id, kernel, revision, metric, meaning, message_bytes, rank, "
        "parameters, endpoints, pair, unit, larger_is_better) SELECT id, 'verbs.write_bw', 1, "
        "'bandwidth_bytes_per_second', '', 65536, 0, '{\"depth\":\"64\"}', 'e' || id, '', "
        "'bytes_per_second', 1 FROM t",
        // One port sends half.
        "INSERT INTO point (id, series, measured_ms, median, median_low, median_high, p99, "
        "sample_count, flags, rate, rate_low, rate_high, slot_p10, pause_share) SELECT (2 * id << "
        "20) + 1, id, 1600000000000 + id, 5e10, 4.9e10, 5.1e10, 4e10, 300, 7, v, v - 1e8, v + 1e8, "
        "v * 0.99, 0 FROM (SELECT id, iif(?1 = 7 AND rail = 3, 2.5e10, 5e10) + random() * 1e-10 "
        "AS v FROM t) ORDER BY 1",
        "INSERT INTO distribution (point, min, max, mean, stddev, p25, p75, p90, p999, "
        "lag1_autocorrelation, effective_sample_count, warmup_count, measure_ns, stop_reason, "
        "histogram, slot_p1, slot_ns, longest_pause_ns) SELECT (2 * id << 20) + 1, 4e10, 5.2e10, "
        "5e10, 1e8, 4.9e10, 5.1e10, 5.1e10, 3e10, 0.1, 280, 10, 2.1e9, 'precision', "
        "randomblob(200), 4.9e10, 1e7, 0 FROM t ORDER BY 1"})
    must(connection.execute(each + std::string(insert), from, nodes, kRails));
}

// A fact set for each port, as a runner reports it.
void insert_sets(store::Connection& connection, int nodes) {
  must(connection.execute(
      "INSERT INTO parameter_set (id, hash, body) VALUES (1, 0, "
      "'{\"depth\":\"64\",\"direction\":\"one\",\"memory\":\"host\",\"sizes\":\"65536\"}')"));
  for (int port = 0; port < nodes * kRails; ++port)
    must(connection.execute(
        "INSERT INTO fact_set (id, hash, body) VALUES (1000000 + ?1, 1, "
        "json_object('cpu', 'core 12 of NUMA node 0', 'device', 'mlx5_' || ?1 % 8, 'dma_path', "
        "'default', 'gid', 'fe80::1:' || ?1, 'link', '400 Gb/s InfiniBand', 'memory', 'host', "
        "'mtu', '4096', 'numa', '0', 'path', 'RC, host memory', 'pci_generation', '5', "
        "'pci_width', '16', 'relaxed_ordering', 'on'))",
        port));
}

void fill(const std::string& path, int nodes) {
  {
    auto store = store::open_store(path);
    std::vector<std::string> names;
    for (int node = 1; node <= nodes; ++node) {
      must(store->put_node(bench_node(node)));
      names.push_back(fmt::format("n{}", node));
    }
    store::RunRow run = store::run_row("night");
    run.state = store::RunState::kEnded;
    run.nodes = names;
    must(store->create_run(run, {}));
  }
  auto connection = store::open_and_migrate(path, 1, 0);
  must(connection);
  must(connection->script("PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; BEGIN"));
  insert_sets(*connection, nodes);
  must(connection->script("COMMIT"));
  for (int from = 0; from < nodes; ++from) {
    must(connection->script("BEGIN"));
    insert_sender(*connection, from, nodes);
    must(connection->script("COMMIT"));
  }
}

// As figures were read until now: a page of whole results, with their points, facts and
// parameters.
std::size_t read_whole_results(const store::Store& store, const store::ExportScope& scope) {
  store::ResultsFilter filter{.run_id = scope.run_id, .range = scope.range, .limit = kOldPage};
  std::size_t count = 0;
  while (filter.range->after < scope.range.through) {
    const auto rows = store.results(filter);
    must(rows);
    for (const store::ResultRow& row : *rows) {
      const bool is_pair = row.endpoints.size() == 2 && row.outcome == "passed" &&
                           split_endpoint(row.endpoints[0]) != split_endpoint(row.endpoints[1]) &&
                           value_of(row.parameters, "direction") != "both";
      const PairPoint point{.series = {.kernel = row.kernel,
                                       .metric = row.point.metric(),
                                       .meaning = row.point.meaning(),
                                       .unit = row.point.unit(),
                                       .message_bytes = row.point.message_bytes(),
                                       .larger_is_better = row.point.larger_is_better()},
                            .from = row.endpoints[0],
                            .to = row.endpoints[1],
                            .memory = value_of(row.facts, "memory"),
                            .value = headline_of(row.point)};
      count += is_pair && point.value > 0 ? 1 : 0;
    }
    if (rows->size() < kOldPage) break;
    filter.range->after = rows->back().point_id;
  }
  return count;
}

std::size_t read_narrow_rows(const store::Store& store, const store::ExportScope& scope) {
  std::size_t count = 0;
  must(visit_pair_points(store, scope, {}, [&count](const PairPoint&) -> Status {
    ++count;
    return {};
  }));
  return count;
}

// Whether the narrow way is fast enough.
bool compare(const store::Store& store) {
  const auto scope = store.export_scope("night");
  must(scope);
  std::vector<double> whole;
  std::vector<double> narrow;
  std::size_t figures = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::size_t same = 0;
    whole.push_back(seconds_of([&] { figures = read_whole_results(store, *scope); }));
    narrow.push_back(seconds_of([&] { same = read_narrow_rows(store, *scope); }));
    if (figures != same || figures == 0) std::abort();
  }
  const double before = upper_median(whole);
  const double after = upper_median(narrow);
  const double each = 1e6 / static_cast<double>(figures);
  std::printf("%zu figures of pairs (synthetic), median of %d turns\n", figures, kRounds);
  std::printf("whole results  %8.2f s  %6.2f us a figure\n", before, each * before);
  std::printf("narrow rows    %8.2f s  %6.2f us a figure\n", after, each * after);
  std::printf("ratio          %8.3f\n", after / before);
  return after <= kMostOfOld * before;
}

void time_the_rest(store::Store& store) {
  const auto step = [](const char* name, const std::function<void()>& work) {
    std::printf("%-40s %8.2f s\n", name, seconds_of(work));
  };
  api::PairsRequest request;
  request.set_run_id("night");
  step("suspects by points", [&] { must(read_suspects(store, request, {})); });
  step("matrices from points, stored", [&] { must(store_pair_matrices(store, "night", {})); });
  step("suspects by matrices", [&] { must(read_suspects(store, request, {})); });
  step("brief rates looked for", [&] {
    must(visit_brief_pair_points(store, "night", [](const PairPoint&) { return Status(); }));
  });
}

int bench(const std::string& kept) {
  const store::TempFolder folder;
  const std::string path = kept.empty() ? folder.file("db") : kept;
  if (!std::filesystem::exists(path))
    std::printf("filling takes %.0f s\n", seconds_of([&] { fill(path, wanted_nodes()); }));
  const auto store = store::open_store(path);
  const bool is_fast = compare(*store);
  time_the_rest(*store);
  return is_fast ? 0 : 1;
}

}  // namespace
}  // namespace railgauge

int main(int argc, char** argv) { return railgauge::bench(argc > 1 ? argv[1] : ""); }
