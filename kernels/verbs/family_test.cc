// Every verbs kernel on the fake libibverbs: the meaning of its figures, its behaviour under faults
// and parameters, and the verification of its data.
#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge {
namespace {

using fake::PairOptions;
using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

class Family : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1); }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    verbs_control().reset();
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  static auto run(std::string_view kernel, Parameters parameters) {
    parameters.emplace("stall_timeout", "30s");
    return run_pair(*find_kernel(kernel), {.parameters = std::move(parameters)});
  }
};

bool is_atomic(std::string_view kernel) { return kernel.starts_with("verbs.atomic"); }
bool is_bandwidth(std::string_view kernel) { return kernel.ends_with("_bw"); }

// The parameters that all kernels of a test accept, less `sizes` for those that have none.
Parameters with(std::string_view kernel, Parameters parameters) {
  if (is_atomic(kernel)) parameters.erase("sizes");
  return parameters;
}

void expect_passed(const std::array<RankResult, 2>& results, std::string_view what) {
  for (const RankResult& result : results)
    EXPECT_TRUE(result.status) << what << ": " << result.status.error().message;
}

TEST_P(Family, MeasuresSeveralSizesAndVerifiesThem) {
  const std::string& kernel = GetParam();
  const auto results =
      run(kernel, with(kernel, {{"sizes", "8,4KiB,64KiB"}, {"iterations", "300"}}));
  expect_passed(results, kernel);
  const std::size_t sizes = is_atomic(kernel) ? 1 : 3;
  ASSERT_EQ(results[0].points.size(), is_bandwidth(kernel) ? 2 * sizes : sizes);
  EXPECT_TRUE(results[1].points.empty());
  for (const Point& point : results[0].points) {
    EXPECT_TRUE(point.verified());
    EXPECT_TRUE(point.synthetic());
    EXPECT_GT(point.median(), 0);
  }
  EXPECT_EQ(results[0].points.back().message_bytes(), is_atomic(kernel) ? 8 : 64 * 1024);
}

// The ports say 200 Gb/s, and a write takes 100 us, so that 84 are never passed; the 2.5 of a slow
// port are far below what the fake copies.
TEST_F(Family, ABandwidthAboveTheRateOfEitherEndFails) {
  const auto run_with_slow_port = [](std::uint64_t number) {
    verbs_control().reset();
    verbs_control().hardware_rate = 1;
    verbs_control().delay_ns = 100'000;
    verbs_control().slow_port = number;
    return run("verbs.write_bw", {{"sizes", "1MiB"}, {"iterations", "40"}, {"signal_every", "1"}});
  };
  const auto held = run_with_slow_port(0);
  expect_passed(held, "none is slow");
  ASSERT_FALSE(held[0].points.empty());
  EXPECT_EQ(held[0].points[0].facts().at("line_rate_check"), "held");
  EXPECT_TRUE(held[0].points[0].synthetic());
  for (const auto& [number, words] : std::map<std::uint64_t, std::string>{
           {1, "fake0:1: measured "}, {2, "fake1:1 at the other end: measured "}}) {
    const auto above = run_with_slow_port(number);
    ASSERT_FALSE(above[0].status) << words;
    EXPECT_EQ(above[0].status.error().code, Code::kDataLoss);
    EXPECT_THAT(above[0].status.error().message,
                AllOf(HasSubstr(words), HasSubstr("above the line rate of 2.5 Gb/s")));
    EXPECT_TRUE(above[0].points.empty());
  }
}

TEST_P(Family, SamplesUntilItsStopRuleSaysSo) {
  const std::string& kernel = GetParam();
  const auto results = run(
      kernel, with(kernel, {{"sizes", "8,64"}, {"max_samples", "3000"}, {"time_cap", "300ms"}}));
  expect_passed(results, kernel);
  ASSERT_FALSE(results[0].points.empty());
  EXPECT_GT(results[0].points[0].warmup_count(), 0);
  EXPECT_GE(results[0].points[0].sample_count(), 2);
}

TEST_P(Family, AnOperationThatGoesWrongFailsBothRanks) {
  const std::string& kernel = GetParam();
  verbs_control().flip_byte = 1;
  const auto results = run(kernel, with(kernel, {{"sizes", "4KiB"}, {"iterations", "100"}}));
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status) << kernel;
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    // Its last words separate a comparison of two sides from other failures.
    EXPECT_THAT(result.status.error().message,
                AllOf(HasSubstr(": verify "), HasSubstr(", expected ")));
    EXPECT_TRUE(result.points.empty());
  }
}

TEST_P(Family, AVanishedPeerEndsBothRanksWithACause) {
  const std::string& kernel = GetParam();
  verbs_control().lose_after = 150;
  const auto results =
      run(kernel, with(kernel, {{"iterations", "5000"}, {"stall_timeout", "50ms"}}));
  ASSERT_FALSE(results[0].status) << kernel;
  EXPECT_FALSE(results[1].status) << kernel;
  EXPECT_EQ(results[0].status.error().code, Code::kUnavailable)
      << results[0].status.error().message;
}

TEST_P(Family, SleepsUntilCompletionsWhereAskedTo) {
  const std::string& kernel = GetParam();
  if (kernel == "verbs.write_lat") GTEST_SKIP() << "it waits in memory";
  verbs_control().delay_ns = 20'000;
  expect_passed(
      run(kernel, with(kernel, {{"sizes", "64"}, {"iterations", "100"}, {"poll", "events"}})),
      kernel);
}

std::vector<std::string> verbs_kernels() {
  std::vector<std::string> names;
  for (const KernelRow& row : catalog())
    // The one that measures GPUs is memory_test.cc's.
    if (row.info().name().starts_with("verbs.") && row.info().name() != "verbs.write_visible_lat")
      names.push_back(row.info().name());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Kernels, Family, ::testing::ValuesIn(verbs_kernels()),
                         [](const auto& param) { return param.param.substr(6); });

TEST_F(Family, LatencyMeansHalfARoundTripOrACompletion) {
  for (const auto& [kernel, meaning] :
       std::map<std::string, std::string>{{"verbs.write_lat", "half_rtt"},
                                          {"verbs.write_imm_lat", "half_rtt"},
                                          {"verbs.send_lat", "half_rtt"},
                                          {"verbs.read_lat", "completion"},
                                          {"verbs.atomic_lat", "completion"}}) {
    verbs_control().delay_ns = 20'000;
    const auto results = run(kernel, {{"iterations", "50"}});
    expect_passed(results, kernel);
    EXPECT_EQ(results[0].points[0].meaning(), meaning) << kernel;
    EXPECT_GE(results[0].points[0].min(), 20'000) << kernel;
  }
}

TEST_F(Family, ManyQueuePairsInChainsMoveEachMessageOnce) {
  for (const char* kernel : {"verbs.write_bw", "verbs.read_bw", "verbs.send_bw",
                             "verbs.write_imm_bw", "verbs.atomic_bw"}) {
    for (const char* list : {"1", "8"}) {
      verbs_control().reset();
      const auto results = run(kernel, {{"qps", "17"},
                                        {"post_list", list},
                                        {"depth", "32"},
                                        {"signal_every", "8"},
                                        {"verify", "false"},  // no proof, whose posts would count
                                        {"iterations", "1001"}});
      expect_passed(results, kernel);
      double counted = 0;
      for (const Point& point : results[0].points) counted += point.sample_count();
      EXPECT_EQ(counted, 2 * 8) << kernel;  // of 8 from each of 17, the last one short
      const bool sends_words = std::string_view(kernel) == "verbs.send_bw" ||
                               std::string_view(kernel) == "verbs.write_imm_bw";
      EXPECT_EQ(verbs_control().writes, 1001U + (sends_words ? 1 : 0)) << kernel;
    }
  }
}

TEST_F(Family, WhereNoByteIsComparedNothingIsVerified) {
  for (const char* kernel : {"verbs.write_lat", "verbs.write_imm_lat", "verbs.send_lat"}) {
    const auto results = run(kernel, {{"sizes", "1,2"}, {"iterations", "20"}});
    expect_passed(results, kernel);
    ASSERT_EQ(results[0].points.size(), 2U) << kernel;
    EXPECT_FALSE(results[0].points[0].verified()) << kernel;
    EXPECT_TRUE(results[0].points[1].verified()) << kernel;
  }
}

TEST_F(Family, CompareAndSwapSucceedsEachTime) {
  expect_passed(run("verbs.atomic_lat", {{"operation", "compare_swap"}, {"iterations", "500"}}),
                "latency");
  expect_passed(
      run("verbs.atomic_bw", {{"operation", "compare_swap"}, {"iterations", "5000"}, {"qps", "3"}}),
      "bandwidth");
}

TEST_F(Family, OneAtomicThatDidNotDoItsWorkIsFoundByTheSum) {
  for (const char* operation : {"fetch_add", "compare_swap"}) {
    verbs_control().reset();
    verbs_control().flip_write = 777;
    const auto results = run("verbs.atomic_bw", {{"operation", operation}, {"iterations", "1000"}});
    ASSERT_FALSE(results[0].status) << operation;
    EXPECT_THAT(results[0].status.error().message,
                AllOf(HasSubstr("the words add up to "),
                      HasSubstr(", expected 1000, as many as completed")));
  }
}

TEST_F(Family, AWrongReadIsFoundAtTheInitiator) {
  verbs_control().flip_write = 1000;
  const auto results = run("verbs.read_bw", {{"sizes", "64"}, {"iterations", "1000"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_THAT(results[0].status.error().message, HasSubstr("fake0:1: verify a 64 read: byte "));
}

TEST_F(Family, AWrongSendIsFoundInTheReceiversBuffers) {
  for (const char* srq : {"false", "true"}) {
    verbs_control().reset();
    verbs_control().flip_write = 990;
    const auto results = run("verbs.send_bw", {{"sizes", "64"},
                                               {"iterations", "1000"},
                                               {"qps", "2"},
                                               {"receive_depth", "64"},
                                               {"srq", srq}});
    ASSERT_FALSE(results[0].status);
    EXPECT_THAT(results[0].status.error().message, HasSubstr("fake1:1: verify a 64 send: byte "));
  }
}

TEST_F(Family, ASendWaitsForReceivesThatComeLate) {
  for (const char* srq : {"false", "true"})
    expect_passed(run("verbs.send_bw", {{"receive_depth", "1"},
                                        {"iterations", "500"},
                                        {"sizes", "8,4KiB"},
                                        {"qps", "2"},
                                        {"srq", srq}}),
                  srq);
}

TEST_F(Family, ALocalFaultNamesTheStatusTheStateAndThisSide) {
  for (const auto& [kernel, words] :
       std::map<std::string, std::string>{{"verbs.read_lat", "fake0:1: read from rank 1 (fake1:1)"},
                                          {"verbs.send_bw", "fake0:1: send to rank 1 (fake1:1)"},
                                          {"verbs.write_lat", ": write to rank "}}) {
    verbs_control().reset();
    verbs_control().unregister_at = 11;
    const auto results = run(kernel, {{"sizes", "4KiB"}, {"iterations", "100"}});
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status) << kernel;
      EXPECT_THAT(result.status.error().message,
                  AllOf(HasSubstr(words), HasSubstr(": local protection error; this side is at "
                                                    "fault, the queue pair here is in state ERR")));
    }
  }
}

TEST_F(Family, AsManyReadsAreOutstandingAsTheDevicesAllow) {
  const auto reads = run("verbs.read_bw", {{"iterations", "10"}});
  expect_passed(reads, "read");
  EXPECT_EQ(reads[0].facts.at("outstanding_reads"), "16");
  EXPECT_EQ(verbs_control().last_outstanding_reads, 16U);
  expect_passed(run("verbs.write_bw", {{"iterations", "10"}}), "write");
  EXPECT_EQ(verbs_control().last_outstanding_reads, 1U);
}

TEST_F(Family, FewerReadsAreOutstandingWhereTheTaskSaysSo) {
  const auto few = run("verbs.read_bw", {{"iterations", "10"}, {"outstanding", "4"}});
  expect_passed(few, "read");
  EXPECT_EQ(few[0].facts.at("outstanding_reads"), "4");
  EXPECT_EQ(verbs_control().last_outstanding_reads, 4U);
  const auto many = run("verbs.atomic_lat", {{"iterations", "10"}, {"outstanding", "17"}});
  ASSERT_FALSE(many[0].status);
  EXPECT_THAT(many[0].status.error().message,
              HasSubstr("parameter outstanding: 17 is above 16, which fake0:1 and "));
}

TEST_F(Family, MemoryIsPagedOnDemandWhereTheAdapterCan) {
  const auto paged = run("verbs.write_bw", {{"iterations", "10"}, {"on_demand", "true"}});
  expect_passed(paged, "write");
  EXPECT_EQ(paged[0].facts.at("path"), "host, on demand");
  EXPECT_EQ(run("verbs.write_bw", {{"iterations", "10"}})[0].facts.at("path"), "host");
  verbs_control().no_on_demand = EOPNOTSUPP;
  const auto none = run("verbs.send_lat", {{"iterations", "10"}, {"on_demand", "true"}});
  ASSERT_FALSE(none[0].status);
  EXPECT_EQ(none[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(none[0].status.error().message, HasSubstr("leave out on_demand"));
  verbs_control().no_on_demand = EIO;
  const auto broken = run("verbs.send_lat", {{"iterations", "10"}, {"on_demand", "true"}});
  ASSERT_FALSE(broken[0].status);
  EXPECT_EQ(broken[0].status.error().message.find("leave out on_demand"), std::string::npos);
}

TEST_F(Family, WrongUseNamesTheParameterItsValueAndWhatIsAllowed) {
  struct Row {
    const char* kernel;
    Parameters parameters;
    const char* words;
  };
  const std::vector<Row> rows{
      {"verbs.write_bw",
       {{"post_list", "100"}},
       "post_list: 100 and signal_every 32 need a depth of 131"},
      {"verbs.write_bw", {{"duration", "1ms"}}, "parameter duration: 1ms is shorter than a slot"},
      {"verbs.read_bw", {{"duration", "1s"}, {"iterations", "5"}}, "parameter iterations: "},
      {"verbs.send_bw", {{"direction", "both"}, {"poll", "events"}}, "parameter poll: events"},
      {"verbs.send_bw", {{"direction", "both"}, {"duration", "200s"}}, "200s is above 100s"},
      {"verbs.send_bw",
       {{"transport", "UD"}, {"sizes", "8KiB"}},
       "parameter sizes: 8KiB is above the path MTU of 4096 bytes"},
      {"verbs.write_bw",
       {{"pkey_index", "2"}},
       "parameter pkey_index: 2 is not in the port's table"},
  };
  for (const Row& row : rows) {
    const auto results = run(row.kernel, row.parameters);
    ASSERT_FALSE(results[0].status) << row.words;
    EXPECT_EQ(results[0].status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(results[0].status.error().message, HasSubstr(row.words));
  }
  for (const char* kernel : {"verbs.read_bw", "verbs.atomic_lat"})
    EXPECT_FALSE(Params::parse(find_kernel(kernel)->info(), {{"transport", "UC"}})) << kernel;
}

TEST_F(Family, MoreThanTheDeviceHasIsRefusedByParameter) {
  const auto deep = run("verbs.write_bw", {{"qps", "512"}});
  ASSERT_FALSE(deep[0].status);
  EXPECT_EQ(deep[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_THAT(deep[0].status.error().message,
              HasSubstr("parameter depth: 65544 completions of all queue pairs are above the "
                        "device's 16384"));
  const auto many = run("verbs.write_bw", {{"qps", "1024"}, {"depth", "8"}, {"signal_every", "8"}});
  ASSERT_FALSE(many[0].status);
  EXPECT_THAT(many[0].status.error().message, HasSubstr("parameter qps: 1024 queue pairs"));
}

TEST_F(Family, AMessageAboveThePortsLargestIsRefused) {
  verbs_control().max_message = 65536;
  const auto results = run("verbs.read_lat", {{"sizes", "8,128KiB"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("parameter sizes: 128KiB is above the port's largest message of 65536"));
}

}  // namespace
}  // namespace railgauge
