// The before side of an upgrade from sliced nights of a modelled site. Figures are synthetic.
#include "controller/upgrades/level_figures.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/sim/nights.h"
#include "controller/upgrades/judge_report.h"
#include "controller/upgrades/side_figures.h"

namespace railgauge {
namespace {

using simulator::Site;
using simulator::SiteFault;
using simulator::SiteSpec;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kSliceNights = 14;
constexpr std::uint32_t kLaunches = 5;
constexpr std::uint32_t kFirstAfter = 40;  // night of the first launch after the upgrade
// Every fourth node changed; its neighbour is a control.
constexpr std::uint32_t kEvery = 4;

// A pair comes back after 31 nights: in 14 of them, most have no figure at all.
SiteSpec sliced_spec(std::uint64_t seed) {
  return {.nodes = 64,
          .rails = 2,
          .nodes_per_leaf = 8,
          .gpu_memory = false,
          .slices = 31,
          .noise = 0.01,
          .seed = seed};
}

std::vector<LeveledNight> sliced_nights(std::uint64_t seed, std::uint32_t count = kSliceNights) {
  Site site(sliced_spec(seed));
  std::vector<LeveledNight> nights;
  for (std::uint32_t night = 0; night < count; ++night)
    nights.push_back({.run_id = fmt::format("night{}", night),
                      .at = 1e9 + night,
                      .levels = parts::levels_of(site.night(night)).value()});
  return nights;
}

std::int32_t rail_of_port(const std::string&, const std::string& port) {
  return port == "mlx5_0:1" ? 0 : port == "mlx5_1:1" ? 1 : -1;
}

bool takes_part(std::uint32_t node) { return node % kEvery < 2; }
bool is_changed(std::uint32_t node) { return node % kEvery == 0; }

// After the upgrade all pairs of the changed nodes and the controls are measured, five times.
UpgradeData upgrade_of(std::uint64_t seed, const std::vector<SiteFault>& faults,
                       bool has_controls = true) {
  UpgradeData sides;
  sides.upgrade.upgrade_id = "h1";
  sides.upgrade.before_is_history = true;
  sides.upgrade.runs = {{.run_id = "night0"}, {.run_id = "after", .after = true}};
  SiteSpec spec = sliced_spec(seed);
  spec.slices = 1;
  Site site(spec);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::int64_t> ids;
  for (std::uint32_t launch = 0; launch < kLaunches; ++launch) {
    const parts::NightFigures& night = site.night(kFirstAfter + launch, faults);
    for (const parts::Figure& figure : night.figures) {
      if (!takes_part(figure.from) || !takes_part(figure.to)) continue;
      if (!has_controls && (!is_changed(figure.from) || !is_changed(figure.to))) continue;
      const auto [place, is_new] = ids.try_emplace({figure.from, figure.to, figure.rail},
                                                   static_cast<std::int64_t>(ids.size() + 1));
      if (is_new)
        sides.series[place->second] = {
            .series_id = place->second,
            .kernel = "verbs.write_bw",
            .metric = "bandwidth_bytes_per_second",
            .unit = "bytes_per_second",
            .larger_is_better = true,
            .message_bytes = 65'536,
            .endpoints = {fmt::format("{}/mlx5_{}:1", night.nodes[figure.from].name, figure.rail),
                          fmt::format("{}/mlx5_{}:1", night.nodes[figure.to].name, figure.rail)}};
      sides.after.push_back({.run_id = "after",
                             .series = place->second,
                             .headline = figure.value,
                             .launch = static_cast<std::int64_t>(launch) + 1});
    }
    if (launch > 0) continue;
    for (std::uint32_t node = 0; node < spec.nodes; ++node) {
      if (!takes_part(node) || (!has_controls && !is_changed(node))) continue;
      const std::string& name = night.nodes[node].name;
      sides.upgrade.nodes.push_back({.node_id = name, .node = name, .changed = is_changed(node)});
      NodeStacks& stacks = sides.stacks[name];
      stacks.known = true;
      if (is_changed(node)) stacks.changes = {{"linux_kernel", "6.1", "6.5"}};
    }
  }
  for (const auto& [id, series] : sides.series)
    sides.tasks_after.push_back(
        {.run_id = "after",
         .kernel = series.kernel,
         .nodes = {node_of(series.endpoints[0]), node_of(series.endpoints[1])},
         .endpoints = {"mlx5_0:1", "mlx5_0:1"},
         .outcome = "passed"});
  return sides;
}

struct Judged {
  std::size_t nights = 0;
  api::Upgrade report{};
};

Judged judge_levels(std::uint64_t seed, const std::vector<SiteFault>& faults) {
  UpgradeData sides = upgrade_of(seed, faults);
  const std::vector<LeveledNight> nights = sliced_nights(seed);
  const std::set<std::string> kinds = kinds_without_before(sides);
  EXPECT_EQ(kinds.size(), 1U);
  sides.nights_of_levels = take_level_figures(nights, rail_of_port, *kinds.begin(), sides);
  const analysis::UpgradeRuns runs = runs_of(sides);
  return {.nights = sides.nights_of_levels,
          .report = report_of(sides, runs, analysis::judge_upgrade(runs), 0)};
}

std::vector<SiteFault> slower_nodes(double drop) {
  std::vector<SiteFault> faults;
  for (std::int32_t node = 0; node < 64; node += static_cast<std::int32_t>(kEvery))
    faults.push_back({.element = {.kind = localise::Kind::kNode, .first = node}, .drop = drop});
  return faults;
}

TEST(LevelFigures, AnUpgradeThatCostNothingPassesAfterFourteenSlicedNights) {
  for (const std::uint64_t seed : {1, 2}) {
    const Judged judged = judge_levels(seed, {});
    EXPECT_EQ(judged.nights, kSliceNights);
    EXPECT_EQ(judged.report.verdict(), "pass") << judged.report.reason();
    ASSERT_FALSE(judged.report.metrics().empty());
    EXPECT_DOUBLE_EQ(judged.report.metrics(0).coverage(), 1);
    EXPECT_EQ(judged.report.metrics(0).changed_nodes(), 16U);
    EXPECT_EQ(judged.report.metrics(0).control_nodes(), 16U);
    EXPECT_THAT(judged.report.notes(), Contains(HasSubstr("levels of their ports on 14 nights")));
  }
}

TEST(LevelFigures, ALossOfTheChangedNodesIsCalledAtItsSize) {
  const Judged judged = judge_levels(1, slower_nodes(0.03));
  EXPECT_EQ(judged.report.verdict(), "regressed") << judged.report.reason();
  EXPECT_NEAR(judged.report.metrics(0).worse_percent(), 3, 0.8);
}

TEST(LevelFigures, ASinglePortIsCalledThoughTheMeanOfAllIsWell) {
  const Judged judged = judge_levels(
      1, {{.element = {.kind = localise::Kind::kPort, .first = 8, .rail = 1}, .drop = 0.2}});
  EXPECT_EQ(judged.report.verdict(), "regressed") << judged.report.reason();
  EXPECT_THAT(judged.report.reason(), HasSubstr("sim0008"));
}

TEST(LevelFigures, TheReportSaysWhatSinglePairsCouldShow) {
  const Judged judged = judge_levels(1, {});
  double pairs = 0;
  for (const api::PlaceSight& sight : judged.report.sight()) {
    ASSERT_TRUE(sight.has_smallest_loss_percent());
    EXPECT_GT(sight.smallest_loss_percent(), 1) << "the bound is 1 %";
    EXPECT_LE(sight.smallest_loss_percent(), 20);
    pairs += sight.count();
  }
  // Ordered pairs with a changed end, on two rails.
  EXPECT_EQ(pairs, 2 * (32 * 31 - 16 * 15));
}

// The scale comes from the controls, and the report says so.
TEST(LevelFigures, WhatAllNodesLostAlikeIsNotSeen) {
  std::vector<SiteFault> all;
  for (std::int32_t node = 0; node < 64; ++node)
    all.push_back({.element = {.kind = localise::Kind::kNode, .first = node}, .drop = 0.1});
  const Judged judged = judge_levels(1, all);
  EXPECT_NE(judged.report.verdict(), "regressed");
  EXPECT_THAT(judged.report.notes(), Contains(HasSubstr("a loss of all nodes alike is not seen")));
}

TEST(LevelFigures, FewNightsAndNoControlsGiveNone) {
  UpgradeData sides = upgrade_of(1, {});
  const std::string kind = *kinds_without_before(sides).begin();
  EXPECT_EQ(
      take_level_figures(sliced_nights(1, kLeastLeveledNights - 1), rail_of_port, kind, sides), 0U);
  EXPECT_THAT(sides.before, IsEmpty());
  UpgradeData alone = upgrade_of(1, {}, false);
  EXPECT_EQ(take_level_figures(sliced_nights(1), rail_of_port, kind, alone), 0U);
  EXPECT_THAT(alone.before, IsEmpty());
}

TEST(LevelFigures, APortThatNoNightKnowsHasNone) {
  UpgradeData sides = upgrade_of(1, {});
  const std::string kind = *kinds_without_before(sides).begin();
  const RailOf one_rail = [](const std::string& node, const std::string& port) {
    return node == "sim0008" ? -1 : rail_of_port(node, port);
  };
  EXPECT_GT(take_level_figures(sliced_nights(1), one_rail, kind, sides), 0U);
  for (const store::SidePointRow& point : sides.before)
    EXPECT_NE(node_of(sides.series.at(point.series).endpoints[0]), "sim0008");
}

TEST(LevelFigures, PlacesThatNightsMeasuredTwiceNeedNone) {
  UpgradeData sides = upgrade_of(1, {});
  for (const auto& [id, series] : sides.series)
    for (int night = 0; night < 2; ++night)
      sides.before.push_back({.run_id = "night0", .series = id, .headline = 1});
  EXPECT_THAT(kinds_without_before(sides), IsEmpty());
  std::erase_if(sides.before, [&](const store::SidePointRow& point) {
    return std::ranges::find(sides.series.at(point.series).endpoints, "sim0008/mlx5_1:1") !=
           sides.series.at(point.series).endpoints.end();
  });
  EXPECT_EQ(kinds_without_before(sides).size(), 1U) << "one place is not shown";
}

TEST(LevelFigures, OnlyPairsOfNodesInOneDirectionHaveLevels) {
  store::SeriesRow series{.kernel = "verbs.write_bw",
                          .metric = "bandwidth_bytes_per_second",
                          .endpoints = {"n1/mlx5_0:1", "n2/mlx5_0:1"}};
  EXPECT_TRUE(level_series_of(series));
  store::SeriesRow both = series;
  both.parameters["direction"] = "both";
  EXPECT_FALSE(level_series_of(both));
  store::SeriesRow mixed = series;
  mixed.parameters["target_memory"] = "cuda";
  EXPECT_FALSE(level_series_of(mixed));
  mixed.parameters["memory"] = "cuda";
  EXPECT_TRUE(level_series_of(mixed));
  store::SeriesRow loopback = series;
  loopback.endpoints[1] = "n1/mlx5_1:1";
  EXPECT_FALSE(level_series_of(loopback));
  store::SeriesRow collective = series;
  collective.kernel = "nccl.all_reduce";
  EXPECT_FALSE(level_series_of(collective));
  series.metric = "message_rate";
  EXPECT_FALSE(level_series_of(series));
}

}  // namespace
}  // namespace railgauge
