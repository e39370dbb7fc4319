// Facts that a task on the fakes reports beside its figures.
#include <sys/stat.h>

#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using fake::nccl_control;
using fake::RankResult;

using Facts = OnFakeRanks;

// Unless asked otherwise a sample is one iteration, however short: time per iteration.
TEST_F(Facts, SayThatASampleIsOneIteration) {
  const auto results = run("nccl.all_reduce", 2, {{"sizes", "8"}, {"iterations", "60"}});
  expect_passed(results);
  EXPECT_EQ(results[0].facts.at("sample"), "one call, with the stamp at its end");
  for (const Point& point : results[0].points) {
    const bool aggregate = point.meaning() == "aggregate_wall";
    EXPECT_EQ(point.facts().count("iterations_in_sample"), aggregate ? 1U : 0U);
    if (!aggregate) {
      EXPECT_EQ(point.sample_count(), 60);
    }
  }
}

TEST_F(Facts, SayHowManyIterationsShareASample) {
  const auto results = run("nccl.all_reduce", 2, {{"repeat", "5"}});
  expect_passed(results);
  EXPECT_EQ(results[0].facts.at("sample"), "mean of 5 calls in a row");
  for (const Point& point : results[0].points)
    if (point.meaning() == "completion") {
      EXPECT_EQ(point.facts().at("iterations_in_sample"), "5");
      EXPECT_EQ(point.sample_count(), 3);
    }
}

// NCCL opens it by its name, and no folder has a file of it.
TEST_F(Facts, ComeFromMemoryThatOnlyThisProcessSees) {
  expect_passed(run("nccl.all_reduce", 2, {}));
  const char* name = std::getenv("NCCL_DEBUG_FILE");
  ASSERT_NE(name, nullptr);
  EXPECT_THAT(name, ::testing::StartsWith("/proc/self/fd/"));
  struct stat file {};
  ASSERT_EQ(stat(name, &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
  EXPECT_EQ(file.st_nlink, 0U);
}

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

// Not that of the 4 bytes that align the ranks, which the fake makes by TREE and LL: NCCL chooses
// when it is called, and is not called when a graph is launched.
TEST_F(Facts, OfAGraphSayWhatNcclChoseForItsCalls) {
  const auto results = run("nccl.all_reduce", 2, {{"mode", "graph"}, {"graph_calls", "2"}});
  expect_passed(results);
  for (const Point& point : results[0].points) {
    EXPECT_EQ(point.facts().at("algorithm"), "RING");
    EXPECT_EQ(point.facts().at("protocol"), "SIMPLE");
  }
}

TEST_F(Facts, SayWhichOtherRanksGpuWasSlowedDown) {
  fake::nvml_control().throttle = ml::kReasonSyncBoost;
  fake::nvml_control().throttle_gpu = 1;
  const auto results = run("nccl.all_reduce", 3, {});
  expect_passed(results);
  for (const Point& point : results[0].points) {
    EXPECT_TRUE(point.throttled());
    EXPECT_EQ(point.facts().at("throttled_ranks"), "1 (sync boost)");
  }
}

// The facts by which the upgrade gate compares the tasks of two runs: all ranks report the same.
TEST_F(Facts, HaveThePathWhichChangesWithTheTransport) {
  std::vector<std::string> paths;
  for (const std::uint64_t network : {0U, 1U, 2U}) {
    SetUp();
    nccl_control().told_network = network;
    const auto results = run("nccl.all_reduce", 3, {});
    expect_passed(results);
    for (const RankResult& result : results) {
      EXPECT_EQ(result.facts.at("path"), results[0].facts.at("path"));
      EXPECT_EQ(result.facts.at("memory"), "gpu");
    }
    paths.push_back(results[0].facts.at("path"));
  }
  EXPECT_EQ(paths,
            (std::vector<std::string>{"P2P/fake", "NET/Fake Wire/0/GDRDMA", "NET/Fake Wire/0"}));
}

}  // namespace
}  // namespace railgauge::nccl
