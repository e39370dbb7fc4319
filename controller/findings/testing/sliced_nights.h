// Sliced nights of a modelled site over a real store, for tests. Figures are synthetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controller/findings/run_judge.h"
#include "controller/sim/nights.h"
#include "controller/store/testing/store_testing.h"

namespace railgauge {

inline constexpr simulator::SiteSpec kSlicedSite{.nodes = 32,
                                                 .rails = 2,
                                                 .nodes_per_leaf = 8,
                                                 .gpu_memory = false,
                                                 .slices = 4,
                                                 .noise = 0.01,
                                                 .seed = 7'301};
inline constexpr double kNightSeconds = 86'400;
inline constexpr double kFirstNight = 1.7e9;

// A site whose nights are stored and judged one after the other.
class SlicedNights : public store::StoreTest {
 protected:
  SlicedNights() {
    for (std::uint32_t node = 0; node < kSlicedSite.nodes; ++node) {
      store::NodeRow row{
          .node_id = fmt::format("id-{}", node),
          .name = fmt::format("sim{:04}", node),
          .version = "0.1.0",
          .facts = {{"leaf", fmt::format("L{}", node / kSlicedSite.nodes_per_leaf)}}};
      for (int rail = 0; rail < 2; ++rail)
        row.endpoints.push_back({.kind = "nic",
                                 .device = fmt::format("mlx5_{}", rail),
                                 .port = 1,
                                 .pci_address = fmt::format("0000:{}0:00.0", rail + 1),
                                 .state = "active",
                                 .rate_bits_per_second = 4e11});
      EXPECT_TRUE(store_->put_node(row));
    }
  }

  // One run with the matrices of the site's next night.
  void night(const std::vector<simulator::SiteFault>& faults = {},
             const std::string& suite = "nightly") {
    const std::uint32_t number = nights_++;
    run_id_ = fmt::format("night{:03}", number);
    const parts::NightFigures& figures = site_.night(number, faults);
    store::RunRow run = store::run_row(run_id_);
    run.suite = suite;
    run.trigger = "schedule";
    run.created_at = kFirstNight + kNightSeconds * number;
    run.state = store::RunState::kEnded;
    run.outcome = "passed";
    run.ended_at = run.created_at + 3'600;
    run.nodes.clear();
    for (const parts::NightNode& node : figures.nodes) run.nodes.push_back(node.name);
    ASSERT_TRUE(store_->create_run(run, {}));
    std::vector<store::PairMatrixRow> matrices;
    const std::size_t count = figures.nodes.size();
    for (std::int32_t rail = 0; rail < 2; ++rail) {
      store::PairMatrixRow& matrix =
          matrices.emplace_back(store::PairMatrixRow{.run_id = run_id_,
                                                     .rail = rail,
                                                     .kernel = "verbs.write_bw",
                                                     .metric = "bandwidth_bytes_per_second",
                                                     .message_bytes = 65'536,
                                                     .unit = "bytes_per_second",
                                                     .larger_is_better = true});
      for (const std::string& node : run.nodes)
        matrix.endpoints.push_back(fmt::format("{}/mlx5_{}:1", node, rail));
      matrix.values.assign(count * count, std::numeric_limits<float>::quiet_NaN());
    }
    for (const parts::Figure& figure : figures.figures)
      matrices[figure.rail].values[figure.from * count + figure.to] =
          static_cast<float>(figure.value);
    ASSERT_TRUE(store_->put_pair_matrices(run_id_, matrices));
    judge();
  }
  void judge() {
    const auto judged = judge_run(*store_, run_id_, kFirstNight + kNightSeconds * nights_);
    ASSERT_TRUE(judged) << judged.error().message;
    ASSERT_TRUE(store_->write(store::write_judged, run_id_, 2e9));
  }

  simulator::Site site_{kSlicedSite};
  std::uint32_t nights_ = 0;
  std::string run_id_;
};

}  // namespace railgauge
