// A modelled site with a run of one whole pair matrix, straight in a store: for tests and for
// benchmarks. All figures are made up.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/history/matrix_overview.h"
#include "controller/history/pair_figures.h"
#include "controller/store/queries/pair_matrix.h"
#include "controller/store/store.h"
#include "controller/store/testing/store_bench.h"

namespace railgauge::store {

inline constexpr int kNodesOfLeaf = 32;
// One node in so many, from the twelfth on, sends a fifth less.
inline constexpr std::size_t kSlowEvery = 997;
inline constexpr std::size_t kFirstSlow = 11;

inline std::string wide_node_name(int number) { return fmt::format("sim{:05}", number + 1); }

inline NodeRow wide_node(int number) {
  NodeRow row{.node_id = fmt::format("id-{}", number), .name = wide_node_name(number)};
  row.version = "0.1.0";
  row.facts = {{"leaf", fmt::format("L{:03}", number / kNodesOfLeaf)}, {"synthetic", "true"}};
  row.endpoints = {{.kind = "nic",
                    .device = "mlx5_0",
                    .port = 1,
                    .pci_address = "0000:10:00.0",
                    .state = "active",
                    .rate_bits_per_second = 4e11}};
  return row;
}

// All pairs, both ways. Names the run matrix-NODES.
inline PairMatrixRow wide_matrix(int nodes) {
  PairMatrixRow matrix{.run_id = fmt::format("matrix-{}", nodes),
                       .kernel = "verbs.write_bw",
                       .metric = "bandwidth_bytes_per_second",
                       .message_bytes = 65'536,
                       .unit = "bytes_per_second",
                       .larger_is_better = true};
  const auto count = static_cast<std::size_t>(nodes);
  matrix.values.resize(count * count);
  for (int node = 0; node < nodes; ++node)
    matrix.endpoints.push_back(wide_node_name(node) + "/mlx5_0:1");
  for (std::size_t row = 0; row < count; ++row)
    for (std::size_t column = 0; column < count; ++column) {
      const double unrest = static_cast<double>((row * 73'856'093 ^ column * 19'349'663) % 1'000);
      const double slow = row % kSlowEvery == kFirstSlow ? 0.8 : 1;
      matrix.values[row * count + column] = static_cast<float>(4e10 * slow * (1 - unrest / 50'000));
    }
  for (std::size_t i = 0; i < count; ++i) matrix.values[i * count + i] = std::nanf("");
  return matrix;
}

// Stores the run of the matrix, which has ended. `ports` knows the nodes' leaves; their names are
// in the order of these.
inline void add_wide_matrix(Store& store, PairMatrixRow matrix, const PortMap& ports) {
  RunRow run{.run_id = matrix.run_id, .suite = "pairs", .suite_text = "version: 1\n"};
  run.trigger = "cli";
  run.requested_by = "bench";
  run.state = RunState::kEnded;
  run.outcome = "passed";
  for (std::size_t node = 0; node < matrix.endpoints.size(); ++node)
    run.nodes.push_back(wide_node_name(static_cast<int>(node)));
  must(store.create_run(run, {}));
  add_overview(matrix, ports);
  std::vector<PairMatrixRow> matrices;
  matrices.push_back(std::move(matrix));
  must(store.put_pair_matrices(run.run_id, std::move(matrices)));
}

}  // namespace railgauge::store
