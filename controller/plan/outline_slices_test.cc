// Slices of rounds: those in a row cover all pairs, whoever is away, and they are as thick as the
// suite says.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/plan/testing/outline_testing.h"

namespace railgauge::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(OutlineOfSlices, NightsInARowCoverAllPairsHoweverManyTasksOneHas) {
  constexpr std::size_t kNodes = 1'000;
  constexpr std::uint64_t kNights = 2;
  std::uint64_t tasks = 0;
  const Suite suite = suite_of({pairs_stage({.slice_of = 2})});
  const auto nodes = some_nodes(kNodes);
  std::map<std::string, std::size_t> index;
  for (const PlanNode& node : nodes) index.emplace(node.name, index.size());
  std::vector<int> met(kNodes * kNodes);
  for (std::uint64_t night = 20'401; night < 20'401 + kNights; ++night) {
    PlanOptions options = leaves_of(kNodes, 10);
    options.slice_index = night;
    const auto outline = PlanOutline::make(suite, nodes, fake_kernels(), {}, options);
    ASSERT_TRUE(outline) << outline.error().message;
    EXPECT_THAT(outline->head().notes, ElementsAre(HasSubstr("of 2:")));
    tasks = std::max(tasks, outline->tasks());
    for (std::size_t round = 0; round < outline->head().rounds; ++round)
      for (const PlannedTask& task : outline->tasks_of(round)) {
        const auto [a, b] = std::minmax(index[task.ranks[0].node], index[task.ranks[1].node]);
        ++met[a * kNodes + b];
      }
  }
  EXPECT_EQ(tasks, 250'000u);
  for (std::size_t a = 0; a < kNodes; ++a)
    for (std::size_t b = a + 1; b < kNodes; ++b) ASSERT_EQ(met[a * kNodes + b], 1) << a << ' ' << b;
}

std::set<std::set<std::string>> pairs_of(const Plan& plan) {
  std::set<std::set<std::string>> pairs;
  for (const PlannedTask& task : plan.tasks)
    pairs.insert({task.ranks.at(0).node, task.ranks.at(1).node});
  return pairs;
}

// Six of eight nodes, others each night: every pair is in the slice in which it is without them.
TEST(OutlineOfSlices, SlicesAreTakenOfAllNodesAlsoOnNightsOnWhichSomeAreAway) {
  for (std::uint64_t night = 0; night < 14; ++night) {
    auto all = some_nodes(8);
    if (night >= 7)  // hardware of two kinds
      for (std::size_t node = 0; node < 8; node += 3) all[node].hardware = "other";
    PlanOptions options = leaves_of(8, 2);
    options.slice_index = night;
    auto expected = pairs_of(plan_of({pairs_stage({.slice_of = 7})}, all, options));
    std::vector<PlanNode> there = all;
    for (const std::size_t away : {night % 7, (night + 3) % 7}) {
      const std::string name = all[away].name;
      std::erase_if(there, [&](const PlanNode& node) { return node.name == name; });
      std::erase_if(expected, [&](const auto& pair) { return pair.contains(name); });
    }
    options.slice_nodes = all;
    const Plan plan = plan_of({pairs_stage({.slice_of = 7})}, there, options);
    EXPECT_EQ(pairs_of(plan), expected) << "night " << night;
    EXPECT_EQ(plan.nodes.size(), 6u);
    EXPECT_THAT(plan.notes, Contains(HasSubstr("over 8 nodes, of which 2 take no part now")));
  }
}

TEST(OutlineOfSlices, ASliceOfPairsThatAreAllAwayIsLeftOutAndTheRestIsMeasured) {
  PlanOptions options;
  options.slice_nodes = some_nodes(3);
  const std::vector<PlanNode> there(options.slice_nodes.begin(), options.slice_nodes.begin() + 2);
  std::size_t measured = 0;
  for (options.slice_index = 0; options.slice_index < 3; ++options.slice_index) {
    const Plan plan =
        plan_of({pairs_stage({.slice_of = 3}), stage_of("fake.group", PlacementKind::kGroup)},
                there, options);
    measured += plan.tasks.size() - 1;
    if (plan.tasks.size() == 1) {
      EXPECT_THAT(plan.notes, Contains(HasSubstr("left out: each pair of the slice")));
    }
  }
  EXPECT_EQ(measured, 1u) << "the pair that is there, on its night";
}

TEST(OutlineOfSlices, OfAThousandNodesCoverEachDirectedPairOnce) {
  constexpr std::size_t kNodes = 1'000;
  constexpr std::uint32_t kSlices = 6;
  Placement placement{.both_directions = true, .slice_of = kSlices};
  const auto nodes = some_nodes(kNodes);
  const auto options = leaves_of(kNodes, 10);
  std::map<std::string, std::size_t> index;
  for (const PlanNode& node : nodes) index.emplace(node.name, index.size());
  std::vector<int> met(kNodes * kNodes);
  for (std::uint32_t slice = 0; slice < kSlices; ++slice) {
    placement.slice = slice;
    const auto outline =
        PlanOutline::make(suite_of({pairs_stage(placement)}), nodes, fake_kernels(), {}, options);
    ASSERT_TRUE(outline);
    for (std::size_t round = 0; round < outline->head().rounds; ++round)
      for (const PlannedTask& task : outline->tasks_of(round))
        ++met[index[task.ranks[0].node] * kNodes + index[task.ranks[1].node]];
  }
  for (std::size_t a = 0; a < kNodes; ++a)
    for (std::size_t b = 0; b < kNodes; ++b)
      ASSERT_EQ(met[a * kNodes + b], a == b ? 0 : 1) << a << ' ' << b;
}

// The operator said which: no day, and as thick as it is.
TEST(OutlineOfSlices, ASliceThatTheSuiteNamesIsThatOneHoweverManyTasksItHas) {
  PlanOptions options = leaves_of(1'000, 10);
  options.slice_index = 20'400;
  const auto outline = PlanOutline::make(suite_of({pairs_stage({.slice_of = 2, .slice = 1})}),
                                         some_nodes(1'000), fake_kernels(), {}, options);
  ASSERT_TRUE(outline);
  EXPECT_EQ(outline->tasks(), 499u * 500);
  EXPECT_FALSE(make_plan(*outline)) << "no list of all tasks";
}

TEST(OutlineOfSlices, ASliceThatFitsStaysAsTheSuiteSays) {
  const auto outline = PlanOutline::make(suite_of({pairs_stage({.slice_of = 7})}), some_nodes(500),
                                         fake_kernels(), {}, leaves_of(500, 10));
  ASSERT_TRUE(outline);
  EXPECT_THAT(outline->head().notes, ElementsAre(HasSubstr("slice 1 of 7: 72 of 499 rounds")));
}

}  // namespace
}  // namespace railgauge::plan
