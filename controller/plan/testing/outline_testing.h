// Leaves, stages and plans of tests of outlines.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "controller/plan/testing/plan_testing.h"

namespace railgauge::plan {

// Nodes n1 to nN, `per_leaf` on each leaf.
inline PlanOptions leaves_of(std::size_t nodes, std::size_t per_leaf) {
  PlanOptions options{.topology = {.source = "labels"}};
  for (std::size_t i = 0; i < nodes; ++i)
    options.topology.nodes[fmt::format("n{}", i + 1)] = {.leaf =
                                                             fmt::format("leaf{}", i / per_leaf)};
  return options;
}

inline Stage pairs_stage(Placement placement, const char* kernel = "fake.bw") {
  return {.name = "pairs", .kernel = kernel, .placement = std::move(placement)};
}

inline Plan plan_of(std::vector<Stage> stages, std::span<const PlanNode> nodes,
                    const PlanOptions& options = {}) {
  auto plan = make_plan(suite_of(std::move(stages)), nodes, fake_kernels(), {}, options);
  if (!plan) ADD_FAILURE() << plan.error().message;
  return plan ? std::move(*plan) : Plan{};
}

inline std::string refusal(Stage stage, std::span<const PlanNode> nodes,
                           const PlanOptions& options = {}) {
  const auto plan = make_plan(suite_of({std::move(stage)}), nodes, fake_kernels(), {}, options);
  return plan ? "accepted" : plan.error().message;
}

// Nodes with two ports of different rates.
inline std::vector<PlanNode> two_rails(std::size_t n) {
  auto nodes = some_nodes(n);
  for (PlanNode& node : nodes) {
    node.endpoints[0].pci_address = "0000:01:00.0";
    node.endpoints.push_back({.kind = "nic",
                              .name = "rxe1:1",
                              .pci_address = "0000:02:00.0",
                              .active = true,
                              .rate_bits_per_second = 4e9});
  }
  return nodes;
}

}  // namespace railgauge::plan
