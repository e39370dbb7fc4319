// Every collective on the fakes: it measures on any number of ranks, its data is really checked,
// and each way that a rank can end is seen by the others.
#include <algorithm>

#include "kernels/core/outcome.h"
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using fake::cuda_control;
using fake::nccl_control;
using fake::RankResult;
using ::testing::HasSubstr;

class EveryCollective : public OnFakeRanks, public ::testing::WithParamInterface<std::string> {
 protected:
  static bool declares(const char* parameter) {
    const KernelInfo info = find_kernel(GetParam())->info();
    return std::ranges::any_of(info.parameters(), [parameter](const ParameterInfo& one) {
      return one.name() == parameter;
    });
  }
};

TEST_P(EveryCollective, MeasuresAndVerifiesOnAnyNumberOfRanks) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U}) {
    SCOPED_TRACE(ranks);
    const auto results = run(GetParam(), ranks, {{"sizes", "8,1000,64KiB"}});
    expect_passed(results);
    ASSERT_FALSE(results[0].points.empty());
    for (const Point& point : results[0].points) {
      EXPECT_TRUE(point.synthetic());
      EXPECT_TRUE(point.verified());
      EXPECT_GT(point.median(), 0) << point.metric();
      EXPECT_EQ(point.facts().count("slowest_rank"), 1U);
    }
    for (std::size_t rank = 1; rank < results.size(); ++rank)
      EXPECT_TRUE(results[rank].points.empty()) << "rank 0 reports";
  }
}

TEST_P(EveryCollective, GivesBothTheIterationsAndTheAggregate) {
  const auto results = run(GetParam(), 2, {});
  expect_passed(results);
  std::map<std::string, int> seen;
  for (const Point& point : results[0].points) ++seen[point.metric() + " " + point.meaning()];
  for (const char* metric : {"latency_ns", "algbw_bytes_per_second", "busbw_bytes_per_second"})
    for (const char* meaning : {" completion", " aggregate_wall"})
      EXPECT_EQ(seen[std::string(metric) + meaning], 1) << metric << meaning;
}

TEST_P(EveryCollective, IsTheSameInPlaceWhereNcclHasThat) {
  if (!declares("in_place")) return;
  expect_passed(run(GetParam(), 3, {{"in_place", "true"}, {"sizes", "24,6000"}}));
}

TEST_P(EveryCollective, RunsInAGraphAndInRegisteredMemory) {
  expect_passed(run(GetParam(), 2, {{"mode", "graph"}, {"graph_calls", "3"}}));
  expect_passed(run(GetParam(), 2, {{"registered", "true"}}));
}

TEST_P(EveryCollective, TakesAnotherRoot) {
  if (!declares("root")) return;
  expect_passed(run(GetParam(), 3, {{"root", "2"}}));
  const auto results = run(GetParam(), 2, {{"root", "2"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().message, "parameter root: 2 is no rank of 2");
}

TEST_P(EveryCollective, FailsNamingTheElementWhenOneByteIsWrong) {
  cuda_control().flip_byte = 1;
  const auto results = run(GetParam(), 2, {});
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    EXPECT_THAT(result.status.error().message, HasSubstr("element "));
    EXPECT_THAT(result.status.error().message, HasSubstr("expected "));
    EXPECT_THAT(result.status.error().message, HasSubstr("rank "));
    EXPECT_TRUE(result.points.empty());
  }
}

// The frame is the same for all: the short check walks one that is a call of NCCL's own and one
// that is a group.
TEST_P(EveryCollective, SurvivesAFailureOfEachCallOfNcclWithoutALeak) {
  const char* full = std::getenv("RAILGAUGE_CHECK_FULL");
  const bool walked = GetParam() == "nccl.all_reduce" || GetParam() == "nccl.send_recv" ||
                      (full != nullptr && std::string_view(full) == "1");
  if (!walked) return;
  expect_passed(run(GetParam(), 2, {{"iterations", "1"}}));
  const std::uint64_t calls = nccl_control().calls;
  EXPECT_GT(calls, 10U) << "the walk never meets the calls of a task";
  for (std::uint64_t call = 1; call <= calls; ++call) {
    SetUp();
    nccl_control().fail_call = call;
    const auto results =
        run(GetParam(), 2,
            {{"iterations", "1"}, {"stall_timeout", "100ms"}, {"join_timeout", "100ms"}});
    EXPECT_EQ(nccl_control().live_handles(), 0) << "call " << call;
    EXPECT_EQ(cuda_control().live_handles(), 0) << "call " << call;
    if (nccl_control().calls < call) continue;
    bool failed = false;
    for (const RankResult& result : results) {
      expect_clear(result.status, call);
      failed = failed || !result.status;
    }
    EXPECT_TRUE(failed) << "call " << call;
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryCollective, ::testing::ValuesIn(collectives()),
                         name_of_kernel);

using Losses = OnFakeRanks;

TEST_F(Losses, OfARankEndAllAndNameItWithItsLastStep) {
  // Which step of the group it dies at: from the first meeting to the last verification.
  for (std::uint32_t step = 0; step < 14; ++step) {
    SCOPED_TRACE(step);
    fake::RanksOptions options{
        .parameters = {{"sizes", "4KiB"}, {"iterations", "3"}, {"stall_timeout", "300ms"}},
        .ranks = 3,
        .dies = 1,
        .dies_at = step};
    const auto results = fake::run_ranks(*find_kernel("nccl.all_reduce"), options);
    for (const std::size_t rank : {0U, 2U}) {
      ASSERT_FALSE(results[rank].status);
      expect_clear(results[rank].status, step);
      const std::string& message = results[rank].status.error().message;
      EXPECT_THAT(message, HasSubstr("rank 1")) << message;
    }
    EXPECT_EQ(nccl_control().live_handles(), 0);
  }
}

TEST_F(Losses, ToldByNcclAreInItsWords) {
  nccl_control().async_error = nc::kRemoteError;
  const auto results = run("nccl.all_reduce", 2, {});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kUnavailable);
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("remote process exited or there was a network error"));
}

using Facts = OnFakeRanks;

TEST_F(Facts, SayWhatNcclUsedAndChose) {
  const auto results = run("nccl.all_reduce", 2, {});
  expect_passed(results);
  const auto& facts = results[0].facts;
  EXPECT_EQ(facts.at("implementation"), "ncclAllReduce");
  EXPECT_EQ(facts.at("nccl"), "2.28.9");
  EXPECT_EQ(facts.at("nccl_network"), "Fake");
  EXPECT_EQ(facts.at("nccl_transports"), "P2P/fake (1)");
  ASSERT_FALSE(results[0].points.empty());
  EXPECT_EQ(results[0].points[0].facts().at("algorithm"), "RING");
  EXPECT_EQ(results[0].points[0].facts().at("protocol"), "SIMPLE");
}

}  // namespace
}  // namespace railgauge::nccl
