// The ways in which a call can be made: from symmetric memory, in groups of calls, by communicators
// that do not block, with a policy for thread blocks, and in several groups of ranks at once.
#include "kernels/core/base/outcome.h"
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using fake::nccl_control;
using fake::RankResult;
using ::testing::HasSubstr;

class EveryCollectiveCan : public OnFakeRanks, public ::testing::WithParamInterface<std::string> {
 protected:
  static bool declares(const char* parameter) {
    const KernelInfo info = find_kernel(GetParam())->info();
    return std::ranges::any_of(info.parameters(), [parameter](const ParameterInfo& one) {
      return one.name() == parameter;
    });
  }
};

TEST_P(EveryCollectiveCan, UseSymmetricMemory) {
  const auto results = run(GetParam(), several(GetParam()), {{"registered", "symmetric"}});
  expect_passed(results);
  EXPECT_EQ(results[0].facts.at("buffers"), "by NCCL, a window of all ranks");
}

TEST_P(EveryCollectiveCan, BeCalledInGroupsOfCalls) {
  if (!declares("aggregate")) GTEST_SKIP() << "a call is in steps";
  for (const char* mode : {"events", "graph"}) {
    const auto results =
        run(GetParam(), 2, {{"aggregate", "3"}, {"mode", mode}, {"graph_calls", "2"}});
    expect_passed(results);
    EXPECT_THAT(results[0].facts.at("sample"), HasSubstr("in groups of 3"));
  }
  if (!is_exchange(GetParam())) {
    EXPECT_GT(nccl_control().grouped, 100U);
  }
}

TEST_P(EveryCollectiveCan, UseACommunicatorThatDoesNotBlock) {
  if (!declares("blocking")) GTEST_SKIP() << "a call is in steps";
  expect_passed(run(GetParam(), 3, {{"blocking", "false"}}));
  expect_passed(run(GetParam(), 2, {{"blocking", "false"}, {"aggregate", "2"}}));
}

TEST_P(EveryCollectiveCan, RunInGroupsOfRanksAtOnce) {
  const auto results = run(GetParam(), 4, {{"split", "mod 2"}});
  expect_passed(results);
  EXPECT_EQ(nccl_control().splits, 4U);
  EXPECT_EQ(results[0].facts.at("groups"), "2 of 2 ranks each, by ncclCommSplit");
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryCollectiveCan, ::testing::ValuesIn(collectives()),
                         name_of_kernel);

class Ways : public OnFakeRanks {
 protected:
  static std::string waived(const std::vector<RankResult>& results) {
    EXPECT_FALSE(results[0].status);
    if (results[0].status) return "";
    EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
    return results[0].status.error().message;
  }
  static void expect_found(const std::vector<RankResult>& results) {
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status);
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_TRUE(result.points.empty());
    }
  }
};

// The library's own variables win over the configuration of a communicator.
TEST_F(Ways, AVariableThatWinsOverTheParameterIsRefused) {
  setenv("NCCL_CTA_POLICY", "2", 1);
  setenv("NCCL_COMM_BLOCKING", "1", 1);
  const auto policy = run("nccl.all_reduce", 2, {{"cta_policy", "default"}});
  const auto blocking = run("nccl.all_reduce", 2, {{"blocking", "false"}});
  const auto same = run("nccl.all_reduce", 2, {{"cta_policy", "zero"}});
  unsetenv("NCCL_CTA_POLICY");
  unsetenv("NCCL_COMM_BLOCKING");
  ASSERT_FALSE(policy[0].status);
  EXPECT_EQ(policy[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(policy[0].status.error().message,
              HasSubstr("NCCL_CTA_POLICY=2 is set here and wins"));
  ASSERT_FALSE(blocking[0].status);
  EXPECT_THAT(blocking[0].status.error().message, HasSubstr("NCCL_COMM_BLOCKING=1"));
  expect_passed(same);
}

// A site whose communicators never block, and an operation whose steps need each other.
TEST_F(Ways, AHypercubeWaitsBetweenItsStepsWhereCallsDoNotBlock) {
  setenv("NCCL_COMM_BLOCKING", "0", 1);
  const auto results = run("nccl.hypercube", 4, {});
  unsetenv("NCCL_COMM_BLOCKING");
  expect_passed(results);
}

// nccl-tests' graphs have such buffers.
TEST_F(Ways, MemoryThatNcclAllocatesIsMeasuredAsAGraphAndFreed) {
  const auto results = run("nccl.all_reduce", 2,
                           {{"registered", "allocated"}, {"mode", "graph"}, {"graph_calls", "3"}});
  expect_passed(results);
  EXPECT_EQ(results[0].facts.at("buffers"), "by NCCL");
  EXPECT_THAT(results[0].facts.at("registered"), HasSubstr("by NCCL, when it captures the graph"));
  const auto single = run("nccl.all_reduce", 2, {{"registered", "allocated"}});
  expect_passed(single);
  EXPECT_THAT(single[0].facts.at("registered"), HasSubstr("only when it captures a graph"));
  const auto plain =
      run("nccl.all_reduce", 2, {{"registered", "false"}, {"mode", "graph"}, {"graph_calls", "3"}});
  expect_passed(plain);
  EXPECT_EQ(plain[0].facts.at("buffers"), "by CUDA");
  EXPECT_FALSE(plain[0].facts.contains("registered"));
}

TEST_F(Ways, WithoutAWindowSymmetricMemoryIsWaived) {
  nccl_control().no_windows = 1;
  EXPECT_THAT(waived(run("nccl.all_reduce", 2, {{"registered", "symmetric"}})),
              HasSubstr("NCCL gave none"));
}

TEST_F(Ways, WrongBytesAreFoundInEach) {
  const std::vector<Parameters> ways{
      {{"registered", "symmetric"}}, {{"registered", "allocated"}},
      {{"aggregate", "4"}},          {{"aggregate", "4"}, {"mode", "graph"}, {"graph_calls", "3"}},
      {{"blocking", "false"}},       {{"cta_policy", "zero"}}};
  for (const Parameters& way : ways)
    for (const std::uint64_t fault : {1U, 2U}) {
      SCOPED_TRACE(way.begin()->first);
      reset_fakes();
      nccl_control().fault = fault;
      nccl_control().fault_of = 2;
      nccl_control().fault_every = 7;
      Parameters all = way;
      all["proof_time"] = "300s";
      expect_found(run("nccl.all_gather", 2, all));
    }
}

// The second rank of each group is rank 1 of its communicator.
TEST_F(Ways, WrongBytesInOneGroupFailAllRanks) {
  nccl_control().fault = 1;
  nccl_control().fault_of = 2;
  nccl_control().fault_every = 11;
  expect_found(run("nccl.all_reduce", 4, {{"split", "div 2"}}));
}

TEST_F(Ways, AGroupHasTheFiguresOfItsOwnRanks) {
  const auto results = run("nccl.all_reduce", 6, {{"split", "mod 2"}});
  expect_passed(results);
  std::map<std::string, double> medians;
  for (const Point& point : results[0].points)
    if (point.meaning() == "completion") medians[point.metric()] = point.median();
  EXPECT_NEAR(medians.at("busbw_bytes_per_second") / medians.at("algbw_bytes_per_second"),
              2.0 * 2 / 3, 1e-9)
      << "three ranks, not six";
  const auto facts = results[0].points.at(0).facts();
  EXPECT_EQ(std::stoull(facts.at("proved_bytes")),
            6 * 4096 * std::stoull(facts.at("proved_messages")));
}

TEST_F(Ways, GroupsOfUnequalSizeAreRefused) {
  for (const RankResult& result : run("nccl.all_reduce", 3, {{"split", "mod 2"}})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(result.status.error().message, HasSubstr("groups of 2 and of 1"));
  }
}

TEST_F(Ways, ThePolicyReachesTheLibrary) {
  const std::map<std::string, int> policies{{"site", nc::kUndefined},
                                            {"default", nc::kCtaDefault},
                                            {"efficiency", nc::kCtaEfficiency},
                                            {"zero", nc::kCtaZero}};
  for (const auto& [word, policy] : policies) {
    expect_passed(run("nccl.all_reduce", 2, {{"cta_policy", word}}));
    EXPECT_EQ(nccl_control().cta_policy, policy) << word;
  }
}

// A reduction in place, several times in one group, has no result that follows from its input: the
// check's own call is one alone.
TEST_F(Ways, AReductionInPlaceIsVerifiedByOneCallOfAGroup) {
  expect_passed(run("nccl.all_reduce", 2, {{"aggregate", "3"}, {"in_place", "true"}}));
}

TEST_F(Ways, ALostRankOfAGroupEndsAllRanks) {
  nccl_control().stuck_of = 2;
  nccl_control().stuck_at = 9;
  const auto results = run("nccl.all_reduce", 4, {{"split", "mod 2"}, {"stall_timeout", "300ms"}});
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(outcome_of(result.status.error().code), kTimedOut);
  }
  EXPECT_EQ(nccl_control().aborts, 8U) << "each rank's group and its parent";
}

}  // namespace
}  // namespace railgauge::nccl
