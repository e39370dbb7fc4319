// Functions that worked before and after, from tasks as the store holds them.
#include "controller/upgrades/judge_functions.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"

namespace railgauge {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const NodeRoles kCast{.changed = {"n1", "n2"}, .controls = {"n3"}};

store::SideTaskRow task(const std::string& outcome, const std::string& path = "",
                        const std::string& node = "n1", const std::string& kernel = "bw") {
  return {.kernel = kernel,
          .parameters = "{}",
          .nodes = {node, "n3"},
          .endpoints = {"a:1", "a:1"},
          .outcome = outcome,
          .path = path};
}

analysis::UpgradeRuns functions_of(std::vector<store::SideTaskRow> before,
                                   std::vector<store::SideTaskRow> after, bool is_history = false) {
  UpgradeData sides;
  sides.upgrade.before_is_history = is_history;
  sides.tasks_before = std::move(before);
  sides.tasks_after = std::move(after);
  analysis::UpgradeRuns out{.id = "u", .metrics = {}, .functions = {}};
  add_functions(sides, kCast, out);
  return out;
}

std::vector<analysis::LostFunction> lost(std::vector<store::SideTaskRow> before,
                                         std::vector<store::SideTaskRow> after) {
  return analysis::lost_functions(functions_of(std::move(before), std::move(after)).functions);
}

TEST(JudgeFunctions, AWorsePathThatIsTakenNowAndThenIsLostWhicheverTaskCameLast) {
  const auto good = task("passed", "dmabuf");
  const auto staged = task("passed", "staged");
  EXPECT_THAT(lost({good, good, good}, {staged, good, good}), SizeIs(1));
  EXPECT_THAT(lost({good, good, good}, {good, good, staged}), SizeIs(1));
  EXPECT_EQ(lost({good, good, good}, {staged, good, good})[0].what,
            "path dmabuf before, now staged");
  EXPECT_THAT(lost({good, staged, good}, {good, good, staged}), IsEmpty()) << "it did so before";
  EXPECT_THAT(lost({good, good, staged}, {staged, staged, staged}), SizeIs(1)) << "and not always";
  EXPECT_THAT(lost({staged, staged, good}, {staged, staged, staged}), IsEmpty()) << "usually so";
  EXPECT_THAT(lost({staged}, {good}), IsEmpty());
}

TEST(JudgeFunctions, AGpuThatIsGoneIsLostThoughTasksNamedItBesideItsPort) {
  UpgradeData sides;
  sides.tasks_before = {task("passed")};
  sides.tasks_before[0].endpoints = {"a:1+gpu0", "a:1"};
  sides.endpoints = {{.node = "n1", .endpoint = "a:1", .state = "active"},
                     {.node = "n1", .endpoint = "gpu0", .state = "active", .gone = true},
                     {.node = "n1", .endpoint = "gpu1", .state = "active", .gone = true}};
  analysis::UpgradeRuns out{.id = "u", .metrics = {}, .functions = {}};
  add_functions(sides, kCast, out);
  const auto lost = analysis::lost_functions(out.functions);
  ASSERT_THAT(lost, SizeIs(1)) << "nothing was measured on gpu1";
  EXPECT_EQ(lost[0].sides.endpoint, "gpu0");
}

TEST(JudgeFunctions, WhatPassesLessThanHalfAsOftenIsLost) {
  const auto fine = task("passed");
  const auto crash = task("crashed");
  EXPECT_THAT(lost({fine, fine, fine, fine, crash}, {crash, crash, crash, crash, fine}), SizeIs(1));
  EXPECT_THAT(lost({fine, fine, fine, fine, crash}, {fine, fine, fine, fine, crash}), IsEmpty());
}

std::ptrdiff_t never(const analysis::UpgradeRuns& runs) {
  return std::ranges::count(runs.functions, true, &analysis::FunctionSides::never_passed);
}

TEST(JudgeFunctions, WhatPassedOnNeitherSideIsNotKnownUnlessItCannotRunAnywhere) {
  const auto waived = task("waived");
  const auto other = task("passed", "", "n2");
  EXPECT_EQ(never(functions_of({waived, other}, {waived, other})), 1) << "n2 can, n1 never did";
  EXPECT_EQ(never(functions_of({task("failed")}, {task("crashed")})), 1);
  EXPECT_EQ(never(functions_of({other}, {other, waived})), 1) << "asked for after alone";
  const auto everywhere = functions_of({waived}, {waived});
  EXPECT_EQ(never(everywhere), 0);
  EXPECT_THAT(everywhere.notes, Contains(HasSubstr("waived everywhere: bw")));
  EXPECT_THAT(lost({task("passed")}, {waived}), SizeIs(1)) << "waived now alone is lost";
}

// A night measures other things than the upgrade's suite; what that could not measure is missing.
TEST(JudgeFunctions, WhatNoNightHadAndDoesNotPassNowIsNotKnown) {
  const auto other = task("passed", "", "n2");
  for (const char* now : {"waived", "failed", "crashed", "timed_out"})
    EXPECT_EQ(never(functions_of({other}, {other, task(now)}, true)), 1) << now;
  EXPECT_EQ(never(functions_of({other, task("passed", "", "n1", "lat")}, {other}, true)), 0)
      << "what nights had beside it is not asked for";
}

TEST(JudgeFunctions, WhatPassedNowAndThenAndNeverDoesNowIsNotKnown) {
  const auto fine = task("passed");
  const auto waived = task("waived");
  for (const bool is_history : {false, true}) {
    const auto now = functions_of({fine, waived, waived}, {waived, waived}, is_history);
    EXPECT_EQ(never(now), 1);
    EXPECT_THAT(analysis::lost_functions(now.functions), IsEmpty());
    EXPECT_EQ(never(functions_of({fine, waived, waived}, {waived, fine}, is_history)), 0);
  }
}

// Figures that alone would pass.
analysis::MetricRuns steady() {
  analysis::MetricRuns metric{
      .name = "bw", .traits = analysis::traits_of("bytes_per_second", true, "median"), .pairs = {}};
  for (const char* node : {"n1", "n2"})
    metric.pairs.push_back({.node = node,
                            .endpoint = "a:1",
                            .changed = true,
                            .before = std::vector<double>(5, 100),
                            .after = std::vector<double>(5, 100)});
  return metric;
}

// Up to three tasks of each of two kernels on each changed node, with whatever outcome.
std::vector<store::SideTaskRow> random_tasks(analysis::Chance& chance) {
  constexpr std::array<const char*, 7> kOutcomes{"passed", "passed",  "passed",   "waived",
                                                 "failed", "crashed", "cancelled"};
  std::vector<store::SideTaskRow> out;
  for (const char* node : {"n1", "n2"})
    for (const char* kernel : {"bw", "lat"}) {
      const bool is_steady = chance.uniform() < 0.5;
      for (int count = static_cast<int>(chance.uniform() * 4); count > 0; --count)
        out.push_back(
            task(is_steady ? "passed" : kOutcomes[static_cast<std::size_t>(chance.uniform() * 7)],
                 "", node, kernel));
    }
  return out;
}

using PlaceOfTask = std::pair<std::string, std::string>;  // node, kernel

std::map<PlaceOfTask, std::set<std::string>> outcomes_of(
    const std::vector<store::SideTaskRow>& tasks) {
  std::map<PlaceOfTask, std::set<std::string>> out;
  for (const store::SideTaskRow& task : tasks)
    out[{task.nodes[0], task.kernel}].insert(task.outcome);
  return out;
}

// The kernel is waived, and nothing else, at every place on either side.
bool is_waived_everywhere(const std::string& kernel,
                          std::map<PlaceOfTask, std::set<std::string>> before,
                          const std::map<PlaceOfTask, std::set<std::string>>& after) {
  for (const auto& [place, outcomes] : after)
    before[place].insert(outcomes.begin(), outcomes.end());
  return std::ranges::all_of(before, [&](const auto& entry) {
    std::set<std::string> outcomes = entry.second;
    outcomes.erase("cancelled");
    return entry.first.second != kernel || outcomes == std::set<std::string>{"waived"};
  });
}

TEST(JudgeFunctions, APassRestsOnEveryTaskThatAChangedNodeWasAskedFor) {
  int passes = 0;
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    analysis::Chance chance(seed);
    const bool is_history = seed % 2 == 0;
    const auto before = random_tasks(chance);
    const auto after = random_tasks(chance);
    analysis::UpgradeRuns runs = functions_of(before, after, is_history);
    runs.metrics = {steady()};
    if (analysis::judge_upgrade(runs).verdict != analysis::Verdict::kPass) continue;
    ++passes;
    auto was = outcomes_of(before);
    auto is = outcomes_of(after);
    for (const auto& [place, outcomes] : is)
      EXPECT_TRUE(outcomes.contains("passed") || is_waived_everywhere(place.second, was, is))
          << seed << ": " << place.first << " " << place.second;
    for (const auto& [place, outcomes] : was)
      EXPECT_TRUE(is_history || is.contains(place) || is_waived_everywhere(place.second, was, is))
          << seed << ": not measured again";
  }
  EXPECT_GT(passes, 50) << "it was tried";
}

// n1 changed; c1 to c4 are controls on a ring with it.
UpgradeData ring_with_controls() {
  UpgradeData sides;
  const std::vector<std::string> ring{"n1", "c1", "c2", "c3", "c4"};
  for (const std::string& node : ring) {
    sides.upgrade.nodes.push_back({.node_id = node, .node = node, .changed = node == "n1"});
    sides.stacks[node].known = true;
  }
  for (std::size_t i = 0; i < ring.size(); ++i)
    sides.tasks_before.push_back({.kernel = "bw",
                                  .parameters = "{}",
                                  .nodes = {ring[i], ring[(i + 1) % ring.size()]},
                                  .endpoints = {"a:1", "a:1"},
                                  .outcome = "passed"});
  sides.tasks_after = sides.tasks_before;
  return sides;
}

void crash_with(UpgradeData& sides, const std::string& node, const std::string& reason) {
  for (store::SideTaskRow& task : sides.tasks_after)
    if (std::ranges::count(task.nodes, node) > 0) {
      task.outcome = "crashed";
      task.reason = reason;
    }
}

std::vector<analysis::LostFunction> lost_of(const UpgradeData& sides) {
  return analysis::lost_functions(runs_of(sides).functions);
}

TEST(JudgeFunctions, AControlThatDiesTakesNoFunctionFromAChangedNode) {
  for (const char* reason : {"the peer was silent", "node c1 lost"}) {
    UpgradeData sides = ring_with_controls();
    crash_with(sides, "c1", reason);
    EXPECT_THAT(lost_of(sides), IsEmpty()) << reason;
    EXPECT_THAT(lost_controls(sides), testing::ElementsAre("c1")) << reason;
    EXPECT_EQ(control_nodes(sides).size(), 3U) << reason;
  }
}

TEST(JudgeFunctions, AChangedNodeThatFailsWithAllIsLostThoughAControlDiedAsWell) {
  UpgradeData alone = ring_with_controls();
  crash_with(alone, "n1", "the peer was silent");
  EXPECT_THAT(lost_of(alone), SizeIs(2));
  EXPECT_THAT(lost_controls(alone), IsEmpty()) << "controls work with each other";
  UpgradeData both = ring_with_controls();
  crash_with(both, "n1", "the peer was silent");
  crash_with(both, "c1", "node c1 lost");
  EXPECT_THAT(lost_of(both), SizeIs(1)) << "what it did with c4";
}

}  // namespace
}  // namespace railgauge
