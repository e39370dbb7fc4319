// Every collective on the fakes: measures on any number of ranks and verifies its data, and the
// other ranks notice each way in which a rank can end.
#include <algorithm>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/outcome.h"
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
  const bool all = full_check() || GetParam() == "nccl.all_reduce";
  for (const std::uint32_t ranks : {1U, 2U, several(GetParam()), several(GetParam()) + 2}) {
    if (!all && ranks != 1 && ranks != several(GetParam())) continue;
    if (!can_have(GetParam(), ranks)) continue;
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

// Counts the bytes that a rank must send or receive at least, over the time, as nccl-tests does.
TEST_P(EveryCollective, HasItsFactorOfBusBandwidth) {
  constexpr std::uint32_t kRanks = 4;
  const std::map<std::string, double> factors{
      {"nccl.all_gather", 0.75},   {"nccl.all_reduce", 1.5},      {"nccl.all_to_all", 0.75},
      {"nccl.all_to_all_v", 0.75}, {"nccl.broadcast", 1},         {"nccl.gather", 0.75},
      {"nccl.hypercube", 1},       {"nccl.pairwise", 1},          {"nccl.reduce", 1},
      {"nccl.scatter", 0.75},      {"nccl.reduce_scatter", 0.75}, {"nccl.send_recv", 1}};
  ASSERT_TRUE(factors.contains(GetParam())) << "tell its factor here";
  const auto results = run(GetParam(), kRanks, {});
  expect_passed(results);
  std::map<std::string, double> medians;
  for (const Point& point : results[0].points)
    if (point.meaning() == "completion") medians[point.metric()] = point.median();
  EXPECT_NEAR(medians.at("busbw_bytes_per_second") / medians.at("algbw_bytes_per_second"),
              factors.at(GetParam()), 1e-9);
}

TEST_P(EveryCollective, IsTheSameInPlaceWhereNcclHasThat) {
  if (!declares("in_place")) return;
  const std::uint32_t ranks = several(GetParam());
  expect_passed(run(GetParam(), ranks, {{"in_place", "true"}, {"sizes", "24,6000"}}));
  if (declares("root"))
    expect_passed(run(GetParam(), ranks, {{"in_place", "true"}, {"root", "1"}}));
}

// A call that does nothing leaves its place as it was. In one place the next call hides it.
TEST_P(EveryCollective, LooksAtEachPlaceThatTheTimedCallsWrote) {
  if (is_exchange(GetParam())) GTEST_SKIP() << "the fake leaves out calls of collectives alone";
  std::uint64_t timed = 0;
  for (const char* buffer : {"hot", "cold"}) {
    reset_fakes();
    const auto results = run(GetParam(), 2, {{"buffer", buffer}});
    expect_passed(results);
    for (const Point& point : results[0].points) EXPECT_EQ(point.facts().at("buffer"), buffer);
    timed = fake::nccl_control().collectives - 1 -
            std::stoull(results[0].points.at(0).facts().at("proved_messages"));
  }
  for (const char* buffer : {"hot", "cold"}) {
    reset_fakes();
    fake::nccl_control().skip_call = timed - 1;  // the last but one
    const auto results = run(GetParam(), 2, {{"buffer", buffer}});
    const bool hidden = std::ranges::all_of(results, [](const auto& one) { return !!one.status; });
    EXPECT_EQ(hidden, buffer == std::string_view("hot"));
  }
}

TEST_P(EveryCollective, RunsInAGraphAndInRegisteredMemory) {
  expect_passed(run(GetParam(), 2, {{"mode", "graph"}, {"graph_calls", "3"}}));
  expect_passed(run(GetParam(), 2, {{"mode", "graph"}, {"buffer", "hot"}}));
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
// that is a group. A proof has as many slots as a graph has calls, without a graph too many to
// walk.
TEST_P(EveryCollective, SurvivesAFailureOfEachCallOfNcclWithoutALeak) {
  if (GetParam() != "nccl.all_reduce" && !full_check()) GTEST_SKIP() << "in the full check";
  for (const Parameters& way : {Parameters{{"repeat", "1"}, {"verify", "false"}},
                                Parameters{{"mode", "graph"}, {"graph_calls", "2"}}}) {
    SCOPED_TRACE(way.begin()->second);
    Parameters all = way;
    all["iterations"] = "1";
    SetUp();
    expect_passed(run(GetParam(), 2, all));
    all["stall_timeout"] = all["join_timeout"] = "100ms";
    const std::uint64_t calls = nccl_control().calls;
    EXPECT_GT(calls, 10U) << "the walk never meets the calls of a task";
    const double longest_seconds = 5;  // of the 20 until the deadline, which nobody waits for
    for (std::uint64_t call = 1; call <= calls; ++call) {
      SetUp();
      nccl_control().fail_call = call;
      const double begin_ns = monotonic_now_ns();
      const auto results = run(GetParam(), 2, all);
      EXPECT_LT((monotonic_now_ns() - begin_ns) / 1e9, longest_seconds) << "call " << call;
      const std::uint64_t made = nccl_control().calls;
      settle();
      EXPECT_EQ(nccl_control().live_handles(), 0) << "call " << call;
      EXPECT_EQ(cuda_control().live_handles(), 0) << "call " << call;
      if (made < call) continue;
      bool failed = false;
      for (const RankResult& result : results) {
        expect_clear(result.status, call);
        failed = failed || !result.status;
      }
      EXPECT_TRUE(failed) << "call " << call;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryCollective, ::testing::ValuesIn(collectives()),
                         name_of_kernel);

class Losses : public OnFakeRanks {
 protected:
  // Every rank ended with a line that names it and where it was.
  static void expect_named(const std::vector<RankResult>& results, const std::string& step,
                           const std::string& why) {
    for (std::size_t rank = 0; rank < results.size(); ++rank) {
      SCOPED_TRACE(rank);
      ASSERT_FALSE(results[rank].status);
      const std::string& message = results[rank].status.error().message;
      expect_clear(results[rank].status, 0);
      EXPECT_EQ(outcome_of(results[rank].status.error().code), kTimedOut) << message;
      EXPECT_THAT(message, HasSubstr("(this is rank " + std::to_string(rank) + ", at: " + step));
      EXPECT_THAT(message, HasSubstr(why));
    }
  }
};

TEST_F(Losses, OfARankEndAllAndNameItWithItsLastStep) {
  // Which step of the group it dies at: from the first meeting to the last verification.
  for (std::uint32_t step = 0; step < 17; ++step) {
    SCOPED_TRACE(step);
    fake::RanksOptions options{.parameters = {{"sizes", "4KiB"},
                                              {"iterations", "3"},
                                              {"proof_time", "0s"},
                                              {"stall_timeout", "300ms"}},
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

// A call inside NCCL cannot be ended: it is left behind.
TEST_F(Losses, WhileJoiningEndAtTheirOwnTimeout) {
  nccl_control().hang_join_of = 2;
  expect_named(run("nccl.all_reduce", 3, {{"join_timeout", "200ms"}}), "joining the communicator",
               "a rank is missing");
}

TEST_F(Losses, WhileJoiningEndAtTheTasksDeadline) {
  nccl_control().hang_join_of = 1;
  fake::RanksOptions options{.parameters = {{"sizes", "8"}}, .ranks = 2, .deadline_seconds = 1};
  expect_named(fake::run_ranks(*find_kernel("nccl.all_reduce"), options),
               "joining the communicator", "not done in time for the task's deadline");
}

// The others wait for it inside NCCL until little is left: they still take the time to learn who
// does not come.
TEST_F(Losses, OfARankThatHangsAreNamedThoughTheDeadlineIsWhatEndsThem) {
  // It has heard the first order, and does not follow.
  fake::RanksOptions options{.parameters = {{"sizes", "4KiB"}, {"iterations", "3"}},
                             .ranks = 3,
                             .stalls = 2,
                             .stalls_after = 9,
                             .deadline_seconds = 5};
  const auto results = fake::run_ranks(*find_kernel("nccl.all_reduce"), options);
  for (const std::size_t rank : {0U, 1U}) {
    ASSERT_FALSE(results[rank].status);
    const std::string& message = results[rank].status.error().message;
    EXPECT_EQ(outcome_of(results[rank].status.error().code), kTimedOut) << message;
    EXPECT_THAT(message, HasSubstr("not done in time for the task's deadline"));
    EXPECT_THAT(message,
                HasSubstr("rank 2 did not answer in time; the last step that rank 2 reported"));
  }
}

TEST_F(Losses, InACallThatConnectsAreNamedWithTheirStep) {
  nccl_control().hang_call_of = 2;
  expect_named(run("nccl.all_gather", 3, {{"stall_timeout", "200ms"}}), "first calls",
               "not done after");
}

TEST_F(Losses, OnTheGpuAreNamedWithTheirStepAndAborted) {
  for (const char* kernel : {"nccl.all_reduce", "nccl.reduce"}) {
    SetUp();
    nccl_control().stuck_of = 2;
    nccl_control().stuck_at = 9;
    const auto results =
        run(kernel, 3, {{"repeat", "3"}, {"iterations", "5"}, {"stall_timeout", "300ms"}});
    expect_named(results, "", "another rank is gone or stuck");
    EXPECT_EQ(nccl_control().aborts, 3U);
    EXPECT_EQ(nccl_control().live_handles(), 0);
  }
}

// Alone: the fake driver's ranks share a process, and who frees memory waits for all GPUs.
TEST_F(Losses, WhoseAbortHangsTooStillEndWithTheFirstError) {
  nccl_control().stuck_of = 1;
  nccl_control().hang_abort_of = 1;
  expect_named(run("nccl.all_reduce", 1, {{"stall_timeout", "200ms"}}), "first calls",
               "first call: not done after 0.");
}

// Its health is asked for until the step has ended: the communicator is aborted only then.
TEST_F(Losses, OfMemoryAreToldBeforeTheCommunicatorIsAborted) {
  nccl_control().hang_abort_of = 1;
  cuda_control().free_bytes = 1;
  const auto results = run("nccl.all_reduce", 1, {{"registered", "true"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived)
      << results[0].status.error().message;
  EXPECT_THAT(results[0].status.error().message, HasSubstr("of its memory are free"));
}

TEST_F(Losses, AreBlamedOnTheRankThatToldAnError) {
  nccl_control().fail_call = 12;  // of a rank, with the others in the collective already
  const auto results = run("nccl.all_reduce", 2, {{"stall_timeout", "300ms"}});
  ASSERT_FALSE(results[0].status);
  ASSERT_FALSE(results[1].status);
  const bool first = results[1].status.error().code == Code::kDeadlineExceeded;
  const Error& failed = results[first ? 0 : 1].status.error();
  const Error& waited = results[first ? 1 : 0].status.error();
  EXPECT_THAT(failed.message, HasSubstr("internal error (NCCL error 3)"));
  EXPECT_THAT(waited.message, HasSubstr(first ? "rank 0: gpu0: " : "rank 1: gpu1: "));
  EXPECT_THAT(waited.message, HasSubstr("internal error (NCCL error 3)"));
  EXPECT_THAT(waited.message, HasSubstr("reported: "));
}

// In the middle of the 200 timed calls of two ranks, and for good: NCCL fails from then on, or the
// driver, as in a graph, whose calls NCCL does not see.
TEST_F(Losses, OfTheGpusThemselvesEndAllRanksInTime) {
  constexpr std::uint64_t kNcclCalls = 150;
  constexpr std::uint64_t kCudaCalls = 600;
  struct Manner {
    const char* kernel;
    Parameters parameters;
    bool of_nccl;
  };
  const std::vector<Manner> manners{
      {"nccl.all_reduce", {}, true},
      {"nccl.all_reduce", {}, false},
      {"nccl.send_recv", {}, true},
      {"nccl.send_recv", {}, false},
      {"nccl.all_reduce", {{"mode", "graph"}, {"graph_calls", "4"}}, false},
      {"nccl.all_reduce", {{"registered", "true"}}, true},
  };
  for (const Manner& manner : manners) {
    SCOPED_TRACE(std::string(manner.kernel) + (manner.of_nccl ? " of NCCL" : " of the driver"));
    Parameters parameters = manner.parameters;
    parameters.emplace("iterations", "200");
    parameters.emplace("stall_timeout", "1s");
    SetUp();
    (manner.of_nccl ? nccl_control().fail_from : cuda_control().fail_from) =
        manner.of_nccl ? kNcclCalls : kCudaCalls;
    const double begin_ns = monotonic_now_ns();
    ::testing::internal::CaptureStderr();  // releases that fail are a line each
    const auto results = run(manner.kernel, 2, parameters);
    ::testing::internal::GetCapturedStderr();
    EXPECT_LT((monotonic_now_ns() - begin_ns) / 1e9, 8);
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status);
      expect_clear(result.status, 0);
      EXPECT_TRUE(result.points.empty());
      EXPECT_NE(result.status.error().code, Code::kDataLoss) << result.status.error().message;
      EXPECT_THAT(result.status.error().message, ::testing::ContainsRegex("gpu[01]"));
      EXPECT_THAT(result.status.error().message,
                  ::testing::ContainsRegex("NCCL error 3|CUDA_ERROR_UNKNOWN|stuck"));
    }
    settle();
    EXPECT_EQ(nccl_control().live_handles(), 0);
    EXPECT_EQ(cuda_control().live_handles(), 0);
  }
}

TEST_F(Losses, ByWrongUseAreNotWaived) {
  for (const auto wrong : {nc::kInvalidUsage, nc::kInvalidArgument}) {
    SetUp();
    nccl_control().fail_call = 2;  // the first is the unique id, this one is a rank's joining
    nccl_control().fail_error = static_cast<std::uint64_t>(wrong);
    const auto results = run("nccl.all_reduce", 2, {{"join_timeout", "200ms"}});
    bool told = false;
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status);
      EXPECT_NE(outcome_of(result.status.error().code), kWaived);
      told = told || result.status.error().code == Code::kInvalidArgument;
    }
    EXPECT_TRUE(told);
    settle();
  }
}

TEST_F(Losses, OfAGpuThatCannotReduceATypeWaive) {
  cuda_control().capability = 80;
  const auto results = run("nccl.all_reduce", 1, {{"datatype", "float8e4m3"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
  EXPECT_THAT(results[0].status.error().message, HasSubstr("compute capability 9.0 and later"));
}

TEST_F(Losses, ToldByNcclAreInItsWords) {
  nccl_control().async_error = nc::kRemoteError;
  const auto results = run("nccl.all_reduce", 2, {});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kUnavailable);
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("remote process exited or there was a network error"));
  EXPECT_THAT(results[0].status.error().message, HasSubstr("(this is rank 0, at: "));
}

}  // namespace
}  // namespace railgauge::nccl
