// A plan's outline, its tasks when asked for, and what new placements make of nodes.
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
using testing::IsEmpty;

TEST(Outline, HoldsWhatThePlanOfItsTasksHolds) {
  for (const Placement& placement :
       {Placement{}, Placement{.both_directions = true, .idle_loopback = true},
        Placement{.rails = RailChoice::kSame}, Placement{.rails = RailChoice::kCross},
        Placement{.rails = RailChoice::kSame, .rails_together = true}, Placement{.slice_of = 3}}) {
    auto nodes = two_rails(7);
    nodes[2].endpoints[1].active = false;
    Stage stage = pairs_stage(placement);
    stage.repetitions = 2;
    const auto outline =
        PlanOutline::make(suite_of({stage, stage_of("fake.lat", PlacementKind::kPairs)}), nodes,
                          fake_kernels(), {}, leaves_of(7, 2));
    ASSERT_TRUE(outline) << outline.error().message;
    const auto plan = make_plan(*outline);
    ASSERT_TRUE(plan);
    EXPECT_EQ(outline->tasks(), plan->tasks.size());
    EXPECT_EQ(plan->rounds, plan->round_infos.size());
    std::vector<double> longest(plan->rounds, 0);
    std::vector<std::uint32_t> count(plan->rounds, 0);
    double bytes = 0;
    std::set<std::string> ids;
    for (const PlannedTask& task : plan->tasks) {
      longest[task.round] = std::max(longest[task.round], task.expected_seconds);
      ++count[task.round];
      bytes += task.expected_bytes;
      EXPECT_TRUE(ids.insert(task.id).second);
      EXPECT_EQ(task.stage, plan->round_infos[task.round].stage);
      EXPECT_EQ(task.reversed && !task.idle_filler,
                plan->round_infos[task.round].reversed && !task.idle_filler);
    }
    for (std::size_t round = 0; round < plan->rounds; ++round) {
      EXPECT_EQ(plan->round_infos[round].tasks, count[round]);
      if (!placement.idle_loopback) {
        EXPECT_EQ(plan->round_infos[round].expected_seconds, longest[round]);
      }
    }
    if (!placement.idle_loopback) {
      EXPECT_NEAR(plan->expected_bytes, bytes, 1);
    }
  }
}

TEST(Outline, OfMoreTasksThanAListHasMakesThoseOfEachRound) {
  const auto outline = PlanOutline::make(suite_of({pairs_stage({})}), some_nodes(700),
                                         fake_kernels(), {}, leaves_of(700, 10));
  ASSERT_TRUE(outline);
  EXPECT_EQ(outline->tasks(), 700u * 699 / 2);
  EXPECT_EQ(outline->head().rounds, 699u);
  EXPECT_THAT(outline->head().tasks, IsEmpty());
  EXPECT_THAT(outline->head().notes, IsEmpty());
  ASSERT_EQ(outline->tasks_of(698).size(), 350u);
  EXPECT_EQ(outline->tasks_of(698).back().id, "t244650");
  EXPECT_EQ(outline->first_of(698), 244'300u);
  EXPECT_EQ(outline->round_of(244'299), 697u);
  EXPECT_EQ(outline->round_of(244'300), 698u);
}

TEST(Outline, OfMoreRoundsThanMemoryShouldHoldIsRefusedBeforeTheyAreMade) {
  std::vector<Stage> stages(334, pairs_stage({}));
  for (Stage& stage : stages) stage.repetitions = 1'000;
  const auto beyond = PlanOutline::make(suite_of(stages), some_nodes(3), fake_kernels());
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, Code::kInvalidArgument);
  EXPECT_THAT(beyond.error().message,
              HasSubstr("stage pairs has 3 rounds x 1000 repetitions, after 999000 rounds of the "
                        "333 stages before it; a plan has at most 1000000: fewer stages"));
  stages.resize(33);
  const auto within = PlanOutline::make(suite_of(stages), some_nodes(3), fake_kernels());
  ASSERT_TRUE(within) << within.error().message;
  EXPECT_EQ(within->head().rounds, 99'000u);
}

TEST(Outline, EachTaskOfANodeThatCannotBeUsedNowIsWaivedAndKeepsItsIdAndEnds) {
  auto nodes = some_nodes(4);
  const std::vector<Stage> stages{pairs_stage({}), stage_of("fake.group", PlacementKind::kGroup)};
  const Plan whole = plan_of(stages, nodes);
  nodes[1].absent = "n2 is not attached";
  const Plan plan = plan_of(stages, nodes);
  ASSERT_EQ(plan.tasks.size(), whole.tasks.size());
  std::size_t waived = 0;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    bool has_it = false;
    for (std::size_t rank = 0; rank < plan.tasks[i].ranks.size(); ++rank) {
      EXPECT_EQ(plan.tasks[i].ranks[rank].node, whole.tasks[i].ranks[rank].node);
      EXPECT_EQ(text_of(plan.tasks[i].ranks[rank]), text_of(whole.tasks[i].ranks[rank]));
      has_it = has_it || plan.tasks[i].ranks[rank].node == "n2";
    }
    EXPECT_EQ(plan.tasks[i].id, whole.tasks[i].id);
    EXPECT_EQ(plan.tasks[i].waived_reason, has_it ? "n2 is not attached" : "");
    waived += has_it ? 1 : 0;
  }
  EXPECT_EQ(waived, 4u) << "three pairs and the group";
}

TEST(Outline, SaysHowManyCombinationsTheAxesOfAStageMake) {
  std::vector<Stage> stages;
  for (const char* depth : {"4", "8"})
    for (const char* sizes : {"8", "4096", "65536"}) {
      stages.push_back(pairs_stage({}));
      stages.back().block = 1;
      stages.back().parameters = {{"depth", depth}, {"sizes", sizes}, {"time_cap", "1s"}};
    }
  EXPECT_THAT(plan_of(stages, some_nodes(2)).notes,
              ElementsAre("stage pairs: 2 x 3 = 6 combinations, a stage each, of depth, sizes"));
  stages.resize(3);
  EXPECT_THAT(plan_of(stages, some_nodes(2)).notes,
              ElementsAre("stage pairs: 3 combinations, a stage each, of sizes"));
}

TEST(Outline, TellsLeafDistanceAndLoadOfEachTask) {
  const Plan plan = plan_of({pairs_stage({})}, some_nodes(4), leaves_of(4, 2));
  EXPECT_EQ(plan.rounds, 3u);
  EXPECT_EQ(plan.topology_source, "labels");
  EXPECT_EQ(plan.leaves.at("n3"), "leaf1");
  std::vector<std::string> seen;
  for (const PlannedTask& task : plan.tasks) {
    seen.push_back(fmt::format("{} {}-{} {}", task.round, task.ranks[0].leaf, task.ranks[1].leaf,
                               name_of(task.distance)));
    EXPECT_TRUE(task.loads_fabric);
    EXPECT_FALSE(task.mixed_round);
  }
  EXPECT_THAT(seen, ElementsAre("0 leaf0-leaf0 within_leaf", "0 leaf1-leaf1 within_leaf",
                                "1 leaf0-leaf1 across_fabric", "1 leaf0-leaf1 across_fabric",
                                "2 leaf0-leaf1 across_fabric", "2 leaf0-leaf1 across_fabric"));
}

TEST(Outline, MarksTasksOfMixedRounds) {
  const Plan plan = plan_of({pairs_stage({})}, some_nodes(6), leaves_of(6, 3));
  std::size_t mixed = 0;
  for (const PlannedTask& task : plan.tasks) mixed += task.mixed_round ? 1 : 0;
  EXPECT_EQ(mixed, 9u) << "three rounds of three, since leaves are odd";
  EXPECT_TRUE(plan.round_infos[0].mixed);
  EXPECT_FALSE(plan.round_infos[4].mixed);
}

TEST(Outline, RepetitionsAreLaunchesOfTheirOwnInSeededOrder) {
  Stage one = pairs_stage({});
  one.repetitions = 4;
  one.block = 1;
  Stage other = one;
  other.name = "other";
  Suite suite = suite_of({one, other});
  const auto order_of = [&](std::uint64_t seed) {
    suite.seed = seed;
    const auto plan = make_plan(suite, some_nodes(4), fake_kernels());
    RG_CHECK(plan.has_value());
    std::vector<std::string> order;
    std::map<std::string, int> launches;
    for (const PlannedRound& round : plan->round_infos)
      order.push_back(fmt::format("{}.{}", round.stage, round.repetition));
    for (const PlannedTask& task : plan->tasks)
      ++launches[fmt::format("{} {} {} {}", task.stage, task.ranks[0].node, task.ranks[1].node,
                             task.repetition)];
    EXPECT_EQ(launches.size(), 2u * 6 * 4);
    for (const auto& [what, times] : launches) EXPECT_EQ(times, 1) << what;
    return order;
  };
  const auto order = order_of(3);
  EXPECT_EQ(order, order_of(3));
  EXPECT_NE(order, order_of(4));
  EXPECT_FALSE(std::ranges::is_sorted(order)) << "stages of one block are mixed";
}

TEST(Outline, BothDirectionsMeasureEachPairOnceMoreWithItsRanksExchanged) {
  const Plan plan = plan_of({pairs_stage({.both_directions = true})}, some_nodes(4));
  EXPECT_EQ(plan.rounds, 6u);
  std::set<std::pair<std::string, std::string>> seen;
  for (const PlannedTask& task : plan.tasks) {
    EXPECT_TRUE(seen.emplace(task.ranks[0].node, task.ranks[1].node).second);
    EXPECT_EQ(task.reversed, task.ranks[0].node > task.ranks[1].node);
    EXPECT_EQ(task.round % 2 == 1, task.reversed) << "right after the first direction";
  }
  EXPECT_EQ(seen.size(), 12u);
}

TEST(Outline, RailsMeetOneAfterTheOtherOrTogether) {
  const auto nodes = two_rails(4);
  const Plan apart = plan_of({pairs_stage({.rails = RailChoice::kSame})}, nodes);
  EXPECT_EQ(apart.rounds, 6u);
  const Plan together =
      plan_of({pairs_stage({.rails = RailChoice::kSame, .rails_together = true})}, nodes);
  EXPECT_EQ(together.rounds, 3u);
  for (const Plan* plan : {&apart, &together}) {
    EXPECT_EQ(plan->tasks.size(), 12u);
    std::set<std::pair<std::uint32_t, std::string>> busy;
    for (const PlannedTask& task : plan->tasks) {
      EXPECT_EQ(task.ranks[0].rail, task.ranks[1].rail);
      EXPECT_EQ(task.ranks[0].endpoint, fmt::format("rxe{}:1", task.ranks[0].rail));
      for (const PlannedRank& rank : task.ranks)
        EXPECT_TRUE(busy.emplace(task.round, rank.node + rank.endpoint).second);
    }
  }
  const Plan cross = plan_of({pairs_stage({.rails = RailChoice::kCross})}, nodes);
  EXPECT_EQ(cross.tasks.size(), 12u) << "0 with 1, 1 with 0";
  for (const PlannedTask& task : cross.tasks) EXPECT_NE(task.ranks[0].rail, task.ranks[1].rail);
  EXPECT_THAT(refusal(pairs_stage({.rails = RailChoice::kCross}), some_nodes(4)),
              HasSubstr("at least 2 rails"));
}

TEST(Outline, WhomAnOddNumberLeavesOverMeasuresItselfWhereAsked) {
  const Plan plan = plan_of({pairs_stage({.idle_loopback = true})}, some_nodes(5));
  std::multiset<std::string> idle;
  for (const PlannedTask& task : plan.tasks) {
    if (!task.idle_filler) continue;
    EXPECT_EQ(task.ranks[0].node, task.ranks[1].node);
    EXPECT_EQ(task.facts.at("loopback"), "true");
    EXPECT_EQ(task.distance, DistanceClass::kNone);
    EXPECT_FALSE(task.loads_fabric);
    idle.insert(task.ranks[0].node);
  }
  EXPECT_THAT(idle, testing::UnorderedElementsAre("n1", "n2", "n3", "n4", "n5"));
}

TEST(Outline, AGroupOnEachLeafIsOneTaskALeaf) {
  Stage stage{.name = "leaf", .kernel = "fake.group", .placement = {.kind = PlacementKind::kLeaf}};
  const Plan plan = plan_of({stage}, some_nodes(5), leaves_of(5, 2));
  ASSERT_EQ(plan.tasks.size(), 2u) << "a leaf of one node has no group";
  EXPECT_EQ(plan.rounds, 1u);
  EXPECT_EQ(plan.tasks[1].ranks[0].leaf, "leaf1");
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("1 leaves have too few")));
  EXPECT_THAT(refusal(stage, some_nodes(4)), HasSubstr("wants a topology"));
}

TEST(Outline, AListOfPairsIsFollowed) {
  PlanOptions options;
  options.pair_lists["mine"] = "1 n2 n1\n1 n3 n4\n2 n1 n9\n";
  const Plan plan = plan_of({pairs_stage({.pairs = PairChoice::kFile, .pairs_file = "mine"})},
                            some_nodes(4), options);
  EXPECT_EQ(plan.tasks.size(), 2u);
  EXPECT_THAT(plan.notes, ElementsAre(HasSubstr("1 pairs are left out")));
  EXPECT_THAT(refusal(pairs_stage({.pairs = PairChoice::kFile, .pairs_file = "other"}),
                      some_nodes(4), options),
              HasSubstr("no such file"));
}

TEST(Outline, CarriesWhatTheRoundEngineActsOn) {
  Stage stage = pairs_stage({});
  stage.time_budget_seconds = 60;
  stage.on_failure = run::OnFailure::kStopRun;
  stage.limits = {{.metric = "bandwidth_bytes_per_second", .floor = 1}};
  Suite suite = suite_of({stage_of("fake.lat", PlacementKind::kPairs), stage});
  suite.rounds.settle_seconds = 2;
  suite.preflight.require = {"gid"};
  const auto plan = make_plan(suite, some_nodes(2), fake_kernels());
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->policy.settle_seconds, 2);
  EXPECT_THAT(plan->policy.stage_budget_seconds, ElementsAre(0, 60));
  EXPECT_THAT(plan->policy.on_failure,
              ElementsAre(run::OnFailure::kContinue, run::OnFailure::kStopRun));
  EXPECT_THAT(plan->preflight.require, ElementsAre("gid"));
  EXPECT_EQ(plan->stages[1].limits, stage.limits);
  EXPECT_EQ(plan->stages[1].tasks, 1u);
}

TEST(Resume, IsThePlanWithoutWhatIsFinished) {
  const auto outline =
      PlanOutline::make(suite_of({pairs_stage({}), stage_of("fake.lat", PlacementKind::kPairs)}),
                        some_nodes(4), fake_kernels());
  ASSERT_TRUE(outline);
  const auto whole = make_plan(*outline);
  ASSERT_TRUE(whole);
  std::vector<bool> finished(outline->tasks());
  for (const std::size_t index : {0U, 1U, 3U, 8U}) finished[index] = true;
  const PlanOutline remaining = outline->without(finished);
  const auto rest = make_plan(remaining);
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->tasks.size(), 8u);
  EXPECT_EQ(remaining.tasks(), 8u);
  EXPECT_EQ(rest->rounds, 5u) << "the first round is done";
  EXPECT_EQ(rest->round_infos[0].tasks, 1u);
  EXPECT_EQ(rest->tasks[0].id, "t0003") << "ids stay";
  EXPECT_EQ(rest->tasks[0].round, 0u);
  EXPECT_EQ(rest->stages[0].tasks, 3u);
  EXPECT_EQ(rest->stages[1].tasks, 5u);
  EXPECT_LT(rest->expected_seconds, whole->expected_seconds);
  EXPECT_EQ(outline->without(std::vector<bool>(outline->tasks(), true)).head().rounds, 0u);
  const auto same = make_plan(outline->without(std::vector<bool>(outline->tasks())));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->tasks.size(), whole->tasks.size());
  EXPECT_EQ(same->expected_seconds, whole->expected_seconds);
  EXPECT_EQ(same->expected_bytes, whole->expected_bytes);
}

}  // namespace
}  // namespace railgauge::plan
