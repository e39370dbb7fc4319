// Writes a synthetic database for deploy/scale/console_speed.sh: a run with a whole pair matrix for
// each size, and a series of many points. speed_store_bench FILE POINTS NODES... Runs are named
// matrix-NODES. One port in 997 sends a fifth less. All figures are made up, and the database is
// marked so.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "controller/history/pair_figures.h"
#include "controller/store/queries/data_kind.h"
#include "controller/store/store.h"
#include "controller/store/testing/store_bench.h"
#include "controller/store/testing/store_testing.h"
#include "controller/store/upkeep/schema.h"
#include "controller/testing/wide_matrix.h"

namespace railgauge::store {
namespace {

// One rank that reported all points of series 1, an hour apart.
void add_series(Connection& connection, int points) {
  must(connection.script("PRAGMA foreign_keys=OFF; BEGIN"));
  must(connection.execute(
      "INSERT INTO parameter_set (id, hash, body) VALUES (1, 0, '{\"memory\":\"host\"}')"));
  must(connection.execute(
      "INSERT INTO task (id, run, task_id, stage, round, kernel, parameter_set, "
      "identity_parameters, deadline_seconds, expected_seconds, expected_bytes, state, outcome, "
      "reason, attempts, counted_attempt) VALUES (1, 1, 't1', 0, 0, 'verbs.write_lat', 1, '[]', "
      "30, "
      "3, 1e6, 'ended', 'passed', '', 1, 1)"));
  must(connection.execute(
      "INSERT INTO task_rank (task, rank, node, node_name, endpoint_text) VALUES (1, 0, 1, ?1, "
      "'mlx5_0:1')",
      wide_node_name(0)));
  must(connection.execute(
      "INSERT INTO attempt (id, task, attempt, outcome, reason) VALUES (1, 1, 1, "
      "'passed', '')"));
  must(connection.execute(
      "INSERT INTO rank (id, attempt, rank, revision, endpoint_text, parameter_set, fact_set, "
      "started_at, ended_at, outcome, reason, start_ns, measure_ns, cpu_seconds) VALUES (1, 1, 0, "
      "1, "
      "'mlx5_0:1', 1, NULL, 1.6e9, 1.6e9, 'passed', '', 5e6, 3e9, 0.25)"));
  must(connection.execute(
      "INSERT INTO series (id, kernel, revision, metric, meaning, message_bytes, rank, parameters, "
      "endpoints, pair, unit, larger_is_better) VALUES (1, 'verbs.write_lat', 1, 'latency_ns', "
      "'half_rtt', 8, 0, '{}', 'e1', '', 'ns', 0)"));
  must(connection.execute(
      "WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ?1) INSERT INTO "
      "point (id, series, measured_ms, median, median_low, median_high, p99, sample_count, flags) "
      "SELECT (1 << 20) + n, 1, 1300000000000 + n * 3600000, 1500 + n * 7919 % 50, 1480, 1560, "
      "1700, "
      "300, 7 FROM i",
      points));
  must(connection.script("COMMIT"));
}

int make(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("speed_store_bench: FILE, POINTS and NODES are needed\n", stderr);
    return 2;
  }
  std::vector<int> sizes;
  for (int i = 3; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  {
    auto store = open_store(argv[1]);
    must(store->write(mark_synthetic));
    std::vector<NodeRow> all;
    for (int node = 0; node < *std::ranges::max_element(sizes); ++node) {
      all.push_back(wide_node(node));
      must(store->put_node(all.back()));
    }
    const PortMap ports(all);
    for (const int nodes : sizes) add_wide_matrix(*store, wide_matrix(nodes), ports);
  }
  auto connection = open_and_migrate(argv[1], 1, 0);
  must(connection);
  add_series(*connection, std::atoi(argv[2]));
  return 0;
}

}  // namespace
}  // namespace railgauge::store

int main(int argc, char** argv) { return railgauge::store::make(argc, argv); }
