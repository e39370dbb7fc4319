// Knees of size curves as part of an upgrade's verdict. All figures are synthetic.
#include "controller/upgrades/upgrade_data.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr int kNodes = 16;  // the first half changed
constexpr int kLaunches = 5;

// Local bandwidth over sizes: half of the best is reached at `half` bytes.
double rate(double bytes, double half) { return 20e9 * bytes / (bytes + half); }

struct Fabric {
  double half = 4096;     // after the upgrade, of the changed nodes
  double loss = 0;        // of all sizes likewise
  double noise = 0.002;   // of a launch's figure
  std::size_t sizes = 6;  // from 256 B, each four times the last
  std::uint64_t seed = 1;
};

UpgradeData sides_of(const Fabric& fabric) {
  analysis::Chance chance(fabric.seed);
  UpgradeData sides;
  sides.upgrade.upgrade_id = "u" + std::to_string(fabric.seed);
  sides.upgrade.runs = {{.run_id = "before"}, {.run_id = "after", .after = true}};
  for (int node = 0; node < kNodes; ++node) {
    const std::string name = "n" + std::to_string(node);
    const bool changed = node < kNodes / 2;
    sides.upgrade.nodes.push_back({.node_id = name, .node = name, .changed = changed});
    sides.stacks[name].known = true;
    if (changed) sides.stacks[name].changes = {{"ofed", "5.8", "24.04"}};
    sides.tasks_before.push_back({.kernel = "verbs.write_bw",
                                  .nodes = {name},
                                  .endpoints = {"mlx5_0:1"},
                                  .outcome = "passed"});
    for (std::size_t size = 0; size < fabric.sizes; ++size) {
      const auto id = static_cast<std::int64_t>(sides.series.size() + 1);
      const double bytes = 256 * std::pow(4.0, static_cast<double>(size));
      sides.series[id] = {.series_id = id,
                          .kernel = "verbs.write_bw",
                          .metric = "bandwidth",
                          .unit = "bytes_per_second",
                          .larger_is_better = true,
                          .message_bytes = bytes,
                          .endpoints = {name + "/mlx5_0:1"}};
      for (int launch = 1; launch <= kLaunches; ++launch) {
        const auto figure = [&](double level) {
          return level * (1 + fabric.noise * chance.normal());
        };
        const double half = changed ? fabric.half : 4096;
        sides.before.push_back({.run_id = "before",
                                .series = id,
                                .headline = figure(rate(bytes, 4096)),
                                .launch = node * 100 + launch});
        sides.after.push_back(
            {.run_id = "after",
             .series = id,
             .headline = figure(rate(bytes, half) * (1 - (changed ? fabric.loss : 0))),
             .launch = node * 100 + 50 + launch});
      }
    }
  }
  sides.tasks_after = sides.tasks_before;
  return sides;
}

analysis::UpgradeVerdict judged(const UpgradeData& sides) {
  return analysis::judge_upgrade(runs_of(sides));
}

const analysis::MetricVerdict* knee_in(const analysis::UpgradeVerdict& verdict) {
  for (const analysis::MetricVerdict& metric : verdict.metrics)
    if (metric.is_shape) return &metric;
  return nullptr;
}

TEST(UpgradeKnees, ACurveThatBendsAtLargerSizesIsALoss) {
  EXPECT_EQ(judged(sides_of({})).verdict, analysis::Verdict::kPass);
  const auto verdict = judged(sides_of({.half = 8192}));
  const auto* knee = knee_in(verdict);
  ASSERT_NE(knee, nullptr);
  EXPECT_EQ(knee->name, "verbs.write_bw bandwidth knee of the size curve");
  EXPECT_EQ(knee->verdict, analysis::Verdict::kRegressed) << knee->reason;
  EXPECT_GT(knee->worse, 0.5);
  EXPECT_EQ(verdict.kind, "performance");
}

TEST(UpgradeKnees, AllSizesSlowerAlikeMoveNoKnee) {
  const auto verdict = judged(sides_of({.loss = 0.1}));
  ASSERT_NE(knee_in(verdict), nullptr);
  EXPECT_EQ(knee_in(verdict)->verdict, analysis::Verdict::kPass) << knee_in(verdict)->reason;
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kRegressed) << "by its sizes";
}

TEST(UpgradeKnees, ThreeSizesAreNoCurve) {
  EXPECT_EQ(knee_in(judged(sides_of({.half = 8192, .sizes = 3}))), nullptr);
}

// A launch that lacks a size says nothing of where its curve bends.
TEST(UpgradeKnees, OneThatIsNotKnownKeepsNothingFromPassing) {
  UpgradeData sides = sides_of({});
  ASSERT_EQ(judged(sides).verdict, analysis::Verdict::kPass);
  for (store::SidePointRow& point : sides.after) point.launch = 0;
  EXPECT_EQ(knee_in(judged(sides)), nullptr);
  EXPECT_EQ(judged(sides).verdict, analysis::Verdict::kPass);
  sides = sides_of({});
  for (store::SidePointRow& point : sides.after)
    point.launch += point.launch % 50 == 5 ? 10'000 + point.series : 0;
  const auto verdict = judged(sides);
  EXPECT_EQ(knee_in(verdict), nullptr) << "four launches of five";
  EXPECT_EQ(verdict.verdict, analysis::Verdict::kPass);
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("too few runs of whole curves")));
}

// It is one of the family: with it a true pass is called regressed no oftener than the bar allows.
TEST(UpgradeKnees, ATruePassIsNotCalledRegressedByIt) {
  constexpr std::uint64_t kSeeds = 300;
  int called = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    called +=
        judged(sides_of({.noise = 0.01, .seed = seed})).verdict == analysis::Verdict::kRegressed
            ? 1
            : 0;
  EXPECT_LE(called, 0.06 * kSeeds);
}

}  // namespace
}  // namespace railgauge
