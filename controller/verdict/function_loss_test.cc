// Functions that worked before and do not any more, beside figures that alone would pass.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/verdict/testing/simulate.h"
#include "controller/verdict/verdict.h"

namespace railgauge::analysis {
namespace {

using testing::HasSubstr;

// 8 changed and 8 control nodes whose bandwidth stayed.
UpgradeRuns passing() {
  Chance chance(11);
  UpgradeRuns out{.id = "u1", .metrics = {}, .functions = {}};
  MetricRuns& metric = out.metrics.emplace_back();
  metric.name = "bandwidth";
  metric.traits = traits_of("bytes_per_second", true, "median");
  for (std::size_t i = 0; i < 16; ++i) {
    PairRuns& pair = metric.pairs.emplace_back();
    pair.node = (i < 8 ? "n" : "c") + std::to_string(i);
    pair.endpoint = "mlx5_0:1";
    pair.changed = i < 8;
    for (std::vector<double>* side : {&pair.before, &pair.after})
      for (int run = 0; run < 5; ++run) side->push_back(100 * (1 + 0.002 * chance.normal()));
  }
  return out;
}

TEST(FunctionLoss, NothingLostIsAPass) {
  EXPECT_EQ(judge_upgrade(passing()).verdict, Verdict::kPass);
}

TEST(FunctionLoss, LostFunctionNeedsNoStatistics) {
  for (const char* after : {"waived", "failed", "crashed", "timed_out"}) {
    UpgradeRuns input = passing();
    input.functions.push_back({.node = "n1",
                               .endpoint = "rxe0:1",
                               .name = "verbs.write_lat",
                               .outcome_before = "passed",
                               .outcome_after = after});
    const UpgradeVerdict verdict = judge_upgrade(input);
    EXPECT_EQ(verdict.verdict, Verdict::kRegressed);
    EXPECT_EQ(verdict.kind, "lost_function");
    EXPECT_THAT(verdict.reason, HasSubstr(after));
  }
}

TEST(FunctionLoss, AWorsePathIsLostFunctionAndABetterOneIsNot) {
  UpgradeRuns input = passing();
  FunctionSides sides{.node = "n1",
                      .endpoint = "mlx5_0:1+gpu0",
                      .name = "verbs.write_bw",
                      .outcome_before = "passed",
                      .outcome_after = "passed",
                      .path_before = "dmabuf",
                      .path_after = "staged"};
  input.functions = {sides};
  EXPECT_EQ(judge_upgrade(input).kind, "lost_function");
  std::swap(sides.path_before, sides.path_after);
  input.functions = {sides};
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kPass);
  sides.path_before = "NET/IB";
  sides.path_after = "NET/Socket";
  input.functions = {sides};
  EXPECT_EQ(judge_upgrade(input).kind, "lost_function");
  sides.path_after = "unheard of";
  input.functions = {sides};
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kPass);
}

TEST(FunctionLoss, OneRailOrOnePeerThatTakesAWorsePathIsLostFunction) {
  const auto kind_of = [](const char* before, const char* after) {
    UpgradeRuns input = passing();
    input.functions = {{.node = "n1",
                        .endpoint = "gpu0",
                        .name = "nccl.all_reduce",
                        .outcome_before = "passed",
                        .outcome_after = "passed",
                        .path_before = before,
                        .path_after = after}};
    return judge_upgrade(input).kind;
  };
  constexpr const char* kAll = "NET/IB/0/GDRDMA, NET/IB/1/GDRDMA, P2P/CUMEM";
  EXPECT_EQ(kind_of(kAll, kAll), "");
  EXPECT_EQ(kind_of(kAll, "NET/IB/0/GDRDMA, NET/IB/1, P2P/CUMEM"), "lost_function");
  EXPECT_EQ(kind_of(kAll, "NET/IB/0/GDRDMA, NET/Socket/1, P2P/CUMEM"), "lost_function");
  EXPECT_EQ(kind_of("P2P/CUMEM", "SHM/direct/direct"), "lost_function");
  EXPECT_EQ(kind_of("SHM/direct/direct", "P2P/CUMEM"), "");
  EXPECT_EQ(kind_of("host to dma-buf RC", "host to staged RC"), "lost_function");
  EXPECT_EQ(kind_of("gpu direct", "gpu staged"), "lost_function");
}

TEST(FunctionLoss, APathThatIsNotToldAnyMoreIsNoPass) {
  UpgradeRuns input = passing();
  input.functions = {{.node = "n1",
                      .endpoint = "mlx5_0:1+gpu0",
                      .name = "verbs.write_bw",
                      .outcome_before = "passed",
                      .outcome_after = "passed",
                      .path_before = "dmabuf"}};
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_THAT(verdict.reason, HasSubstr("verbs.write_bw (its path, dmabuf before)"));
}

TEST(FunctionLoss, WrongBytesAreCorruption) {
  UpgradeRuns input = passing();
  input.functions = {{.node = "n1",
                      .endpoint = "e",
                      .name = "k",
                      .outcome_before = "passed",
                      .outcome_after = "waived"},
                     {.node = "n2", .endpoint = "e", .name = "k", .outcome_after = "corrupted"}};
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.kind, "corruption");
  EXPECT_THAT(verdict.reason, HasSubstr("n2"));
  EXPECT_EQ(verdict.lost.size(), 2U);
}

TEST(FunctionLoss, WhatPassedOnNeitherSideForbidsAPassUnlessLessIsAskedFor) {
  UpgradeRuns input = passing();
  const FunctionSides fine{.node = "n1",
                           .endpoint = "a",
                           .name = "k",
                           .outcome_before = "passed",
                           .outcome_after = "passed"};
  input.functions.assign(9, fine);
  input.functions.push_back({.node = "n1",
                             .endpoint = "b",
                             .name = "k",
                             .outcome_before = "failed",
                             .outcome_after = "waived",
                             .never_passed = true});
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_THAT(verdict.reason, HasSubstr("1 of 10 tasks did not pass"));
  EXPECT_THAT(verdict.reason, HasSubstr("k n1/b (waived)"));
  input.min_coverage = 0.9;
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kPass);
  input.functions.erase(input.functions.begin());
  FunctionSides check = fine;
  check.is_task = false;
  input.functions.insert(input.functions.end(), 200, check);
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kInconclusive) << "checks are no tasks";
}

TEST(FunctionLoss, WhatWorkedAndWasNotMeasuredAgainIsNoPass) {
  UpgradeRuns input = passing();
  input.functions = {
      {.node = "n1", .endpoint = "e", .name = "k", .outcome_before = "pass", .outcome_after = ""}};
  EXPECT_EQ(judge_upgrade(input).verdict, Verdict::kInconclusive);
}

TEST(FunctionLoss, AnEndpointThatIsGoneIsLostFunction) {
  UpgradeRuns input = passing();
  input.functions.push_back({.node = "n1",
                             .endpoint = "rxe0:1",
                             .name = "endpoint",
                             .outcome_before = "passed",
                             .outcome_after = "gone"});
  const UpgradeVerdict verdict = judge_upgrade(input);
  EXPECT_EQ(verdict.kind, "lost_function");
  EXPECT_EQ(verdict.reason, "n1/rxe0:1 endpoint: passed before, now gone");
}

// Whatever tasks and checks became of: a pass says of each that worked that it works, as well as it
// did, and of each that was asked of a changed node that it ran.
TEST(FunctionLoss, APassRestsOnNothingThatIsLostWaivedOrUnmeasured) {
  constexpr std::array<const char*, 14> kOutcomes{
      "",          "passed", "failed", "waived", "crashed", "timed_out", "cancelled",
      "corrupted", "pass",   "warn",   "fail",   "error",   "unknown",   "gone"};
  constexpr std::array<const char*, 6> kPathWords{"",       "dma-buf", "staged",
                                                  "NET/IB", "Socket",  "unheard of"};
  int passes = 0;
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    Chance chance(seed);
    const auto one_of = [&](const auto& words) {
      return words[static_cast<std::size_t>(chance.uniform() * static_cast<double>(words.size()))];
    };
    UpgradeRuns input = passing();
    FunctionSides f{.node = "n1", .endpoint = "e", .name = "k"};
    f.outcome_before = one_of(kOutcomes);
    f.outcome_after = one_of(kOutcomes);
    f.path_before = one_of(kPathWords);
    f.path_after = one_of(kPathWords);
    f.never_passed = chance.uniform() < 0.2;
    input.functions = {f};
    if (judge_upgrade(input).verdict != Verdict::kPass) continue;
    ++passes;
    const std::string what =
        f.outcome_before + " -> " + f.outcome_after + ", " + f.path_before + " -> " + f.path_after;
    EXPECT_FALSE(f.never_passed) << what;
    EXPECT_NE(f.outcome_after, "corrupted") << what;
    if (f.outcome_before != "passed" && f.outcome_before != "pass") continue;
    EXPECT_TRUE(f.outcome_after == "passed" || f.outcome_after == "pass" ||
                f.outcome_after == "warn")
        << what;
    EXPECT_TRUE(path_rank(f.path_before) == 0 || path_rank(f.path_after) == 0 ||
                path_rank(f.path_after) >= path_rank(f.path_before))
        << what;
    EXPECT_TRUE(path_rank(f.path_before) == 0 || !f.path_after.empty()) << what;
  }
  EXPECT_GT(passes, 100) << "it was tried";
}

}  // namespace
}  // namespace railgauge::analysis
