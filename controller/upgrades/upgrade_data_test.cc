// From both sides' rows to what is judged.
#include "controller/upgrades/upgrade_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// n1 and n2 changed. Their first ports are measured with each other, n1's second one with the
// control c1 alone, and c1 with c2.
UpgradeData two_ports() {
  UpgradeData sides;
  sides.upgrade.upgrade_id = "u";
  for (const char* node : {"n1", "n2", "c1", "c2"}) {
    sides.upgrade.nodes.push_back({.node_id = node, .node = node, .changed = node[0] == 'n'});
    sides.stacks[node].known = true;
  }
  sides.upgrade.runs = {{.run_id = "before"}, {.run_id = "after", .after = true}};
  const std::vector<std::vector<std::string>> ends{
      {"n1/a:1", "n2/a:1"}, {"n1/b:1", "c1/b:1"}, {"c1/a:1", "c2/a:1"}};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i + 1);
    sides.series[id] = {.series_id = id,
                        .kernel = "verbs.write_bw",
                        .metric = "bandwidth",
                        .unit = "bytes_per_second",
                        .larger_is_better = true,
                        .endpoints = ends[i]};
    for (int run = 0; run < 5; ++run) {
      sides.before.push_back({.run_id = "before", .series = id, .headline = 100 + 0.01 * run});
      sides.after.push_back({.run_id = "after", .series = id, .headline = 100 + 0.01 * run});
    }
    const auto node = [&](std::size_t end) { return ends[i][end].substr(0, 2); };
    sides.tasks_after.push_back(
        {.nodes = {node(0), node(1)}, .endpoints = {"a:1", "a:1"}, .outcome = "passed"});
  }
  return sides;
}

std::vector<std::string> missing(const UpgradeData& sides) {
  const analysis::UpgradeRuns runs = runs_of(sides);
  EXPECT_EQ(runs.metrics.size(), 1U);
  return analysis::judge_metric(runs.metrics.at(0), runs).missing;
}

TEST(JudgeSides, APlaceThatWasMeasuredWithADroppedControlAloneIsMissing) {
  UpgradeData sides = two_ports();
  EXPECT_THAT(missing(sides), IsEmpty());
  sides.stacks["c1"].changes = {{"linux_kernel", "6.1", "6.5"}};
  EXPECT_THAT(missing(sides), ElementsAre("n1/b:1"));
}

TEST(JudgeSides, AControlWhoseModuleWasLoadedByItsFirstUserStaysOne) {
  UpgradeData sides = two_ports();
  sides.stacks["c1"].changes = {{"module.nvidia_uvm.uvm_debug_prints", "none", "0"}};
  sides.stacks["c2"].changes = {{"module.nvidia.NVreg_EnableResizableBar", "0", "1"}};
  EXPECT_THAT(control_nodes(sides), ElementsAre("c1"));
}

TEST(JudgeSides, PairsWithAControlThatIsAwayAreNotAskedForWhereOthersShowThePlace) {
  UpgradeData sides = two_ports();
  sides.series[2].endpoints = {"n1/a:1", "c1/b:1"};
  std::erase_if(sides.tasks_after, [](const auto& task) { return task.nodes[1] != "n2"; });
  std::erase_if(sides.after, [](const auto& point) { return point.series != 1; });
  EXPECT_THAT(control_nodes(sides), IsEmpty());
  EXPECT_THAT(missing(sides), IsEmpty());
}

// n1's second port is shown by its pair with c1; n2's is in a pair that one night alone measured.
TEST(JudgeSides, APortThatNightsHardlyMeasuredIsMissingThoughItsPartnerWasShown) {
  UpgradeData sides = two_ports();
  sides.upgrade.before_is_history = true;
  sides.series[4] = sides.series[1];
  sides.series[4].series_id = 4;
  sides.series[4].endpoints = {"n1/b:1", "n2/b:1"};
  for (int run = 0; run < 5; ++run)
    sides.after.push_back({.run_id = "after", .series = 4, .headline = 100 + 0.01 * run});
  sides.before.push_back({.run_id = "before", .series = 4, .headline = 100});
  EXPECT_THAT(missing(sides), ElementsAre("n1/b:1 with n2/b:1"));
  sides.before.push_back({.run_id = "before", .series = 4, .headline = 100});
  EXPECT_THAT(missing(sides), IsEmpty());
}

// n1's second port was measured with c1 alone, which changed as well: its metric does not go with
// it.
TEST(JudgeSides, AMetricThatOnlyADroppedControlShowsIsNoPassAfterNightsToo) {
  UpgradeData sides = two_ports();
  sides.upgrade.before_is_history = true;
  for (const std::int64_t id : {1, 3}) sides.series[id].metric = "message_rate";
  sides.stacks["c1"].changes = {{"linux_kernel", "6.1", "6.5"}};
  EXPECT_EQ(analysis::judge_upgrade(runs_of(sides)).verdict, analysis::Verdict::kInconclusive);
  std::erase_if(sides.after, [](const auto& point) { return point.series == 2; });
  EXPECT_EQ(analysis::judge_upgrade(runs_of(sides)).verdict, analysis::Verdict::kPass)
      << "a metric of the nights alone";
}

// Nights that lack a metric of the upgrade's suite say nothing of it, so that nothing passes.
TEST(JudgeSides, AMetricThatNoNightHasIsNoPass) {
  UpgradeData sides = two_ports();
  sides.upgrade.before_is_history = true;
  EXPECT_EQ(analysis::judge_upgrade(runs_of(sides)).verdict, analysis::Verdict::kPass);
  for (std::int64_t id = 1; id <= 3; ++id) {
    sides.series[id + 3] = sides.series[id];
    sides.series[id + 3].metric = "message_rate";
    for (int run = 0; run < 5; ++run)
      sides.after.push_back({.run_id = "after", .series = id + 3, .headline = 100 + 0.01 * run});
  }
  const analysis::UpgradeRuns runs = runs_of(sides);
  EXPECT_THAT(runs.uncompared, ElementsAre("verbs.write_bw message_rate rate"));
  EXPECT_EQ(analysis::judge_upgrade(runs).verdict, analysis::Verdict::kInconclusive);
  sides.min_coverage = 0.5;
  EXPECT_EQ(analysis::judge_upgrade(runs_of(sides)).verdict, analysis::Verdict::kPass);
}

}  // namespace
}  // namespace railgauge
