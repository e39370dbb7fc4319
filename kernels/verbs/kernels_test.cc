// The write kernels, both ranks in this process, on the fake libibverbs.
#include <gmock/gmock.h>

#include <algorithm>
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
using ::testing::StartsWith;

class WriteKernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1); }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override { EXPECT_EQ(verbs_control().live_handles, 0); }

  static auto run(std::string_view kernel, const PairOptions& options) {
    return run_pair(*find_kernel(kernel), options);
  }
};

// Small fixed tasks, so that a test is over in milliseconds.
PairOptions short_lat() {
  return {.parameters = {{"sizes", "8,64KiB"}, {"iterations", "300"}, {"stall_timeout", "30s"}}};
}
PairOptions short_bw() {
  return {.parameters = {{"sizes", "64,64KiB"},
                         {"iterations", "1000"},
                         {"depth", "128"},
                         {"signal_every", "100"},
                         {"stall_timeout", "30s"}}};
}

double seconds_since(double begin_ns) { return (monotonic_now_ns() - begin_ns) / 1e9; }

void expect_passed(const std::array<RankResult, 2>& results) {
  for (const RankResult& result : results)
    EXPECT_TRUE(result.status) << result.status.error().message;
}

TEST_F(WriteKernels, LatencyGivesOnePointASizeOnRankZero) {
  const auto results = run("verbs.write_lat", short_lat());
  expect_passed(results);
  ASSERT_EQ(results[0].points.size(), 2U);
  EXPECT_TRUE(results[1].points.empty());
  const Point& point = results[0].points[0];
  EXPECT_EQ(point.metric(), "latency_ns");
  EXPECT_EQ(point.meaning(), "half_rtt");
  EXPECT_EQ(point.unit(), "ns");
  EXPECT_EQ(point.message_bytes(), 8);
  EXPECT_EQ(point.sample_count(), 300);
  EXPECT_EQ(point.stop_reason(), "iterations");
  EXPECT_GT(point.median(), 0);
  EXPECT_TRUE(point.synthetic());
  EXPECT_TRUE(point.verified());
  EXPECT_TRUE(point.samples().empty());
  EXPECT_EQ(results[0].points[1].message_bytes(), 64 * 1024);
}

TEST_F(WriteKernels, LatencyIsHalfTheRoundTripAndNeverLessThanTheWire) {
  verbs_control().delay_ns = 20'000;  // a write cannot be faster than this
  auto options = short_lat();
  options.parameters["iterations"] = "50";
  const auto results = run("verbs.write_lat", options);
  expect_passed(results);
  EXPECT_GE(results[0].points[0].min(), 20'000);
}

TEST_F(WriteKernels, AddedCostMakesEachRoundTripLongerByItsShare) {
  verbs_control().delay_ns = 20'000;
  auto options = short_lat();
  options.parameters["iterations"] = "50";
  options.parameters["added_cost_fraction"] = "1";
  const auto results = run("verbs.write_lat", options);
  expect_passed(results);
  EXPECT_GE(results[0].points[0].min(), 40'000);
}

TEST_F(WriteKernels, AddedCostMakesEachGroupOfWritesLongerByItsShare) {
  verbs_control().delay_ns = 10'000;
  auto options = short_bw();
  options.parameters["iterations"] = "200";
  options.parameters["signal_every"] = "10";
  options.parameters["added_cost_fraction"] = "1";
  const auto results = run("verbs.write_bw", options);
  expect_passed(results);
  EXPECT_EQ(results[0].points[1].metric(), "message_rate_per_second");
  EXPECT_LE(results[0].points[1].max(), 1e9 / 20'000);
}

TEST_F(WriteKernels, RawSamplesComeOnlyWhenAskedFor) {
  auto options = short_lat();
  options.raw_samples = true;
  const auto results = run("verbs.write_lat", options);
  expect_passed(results);
  EXPECT_EQ(results[0].points[0].samples_size(), 300);
}

TEST_F(WriteKernels, EverySignallingIntervalMovesAllMessages) {
  for (const char* every : {"1", "2", "7", "64"}) {
    auto options = short_lat();
    options.parameters["signal_every"] = every;
    expect_passed(run("verbs.write_lat", options));
    options = short_bw();
    options.parameters["signal_every"] = every;
    options.parameters["iterations"] = "333";  // the last group is short
    options.parameters["depth"] = "64";
    options.parameters["sizes"] = "8";
    options.parameters["verify"] = "false";  // no proof, whose messages would count
    verbs_control().writes = 0;
    const auto results = run("verbs.write_bw", options);
    expect_passed(results);
    EXPECT_EQ(verbs_control().writes, 333U);
  }
}

TEST_F(WriteKernels, BandwidthCountsEachByteOnceAndItsMeanIsTheAggregate) {
  auto options = short_bw();
  options.raw_samples = true;
  const auto results = run("verbs.write_bw", options);
  expect_passed(results);
  ASSERT_EQ(results[0].points.size(), 4U);
  const Point& bandwidth = results[0].points[2];
  const Point& rate = results[0].points[3];
  EXPECT_EQ(bandwidth.metric(), "bandwidth_bytes_per_second");
  EXPECT_EQ(bandwidth.meaning(), "unidirectional");
  EXPECT_TRUE(bandwidth.larger_is_better());
  EXPECT_EQ(bandwidth.message_bytes(), 64 * 1024);
  EXPECT_EQ(bandwidth.sample_count(), 10);
  EXPECT_TRUE(bandwidth.verified());
  EXPECT_TRUE(bandwidth.synthetic());
  EXPECT_EQ(rate.metric(), "message_rate_per_second");
  EXPECT_DOUBLE_EQ(bandwidth.median(), rate.median() * 64 * 1024);
  // Ten windows of equally many writes: the mean over all time is their harmonic mean.
  double inverse = 0;
  for (const double sample : bandwidth.samples()) inverse += 1 / sample;
  EXPECT_NEAR(bandwidth.mean() * inverse / 10, 1, 0.01);
}

TEST_F(WriteKernels, AdaptiveBandwidthSaysHowManyWritesAWindowHas) {
  auto options = short_bw();
  options.parameters = {{"sizes", "4KiB"}, {"max_samples", "60"}, {"signal_every", "16"}};
  const auto results = run("verbs.write_bw", options);
  expect_passed(results);
  const Point& point = results[0].points[0];
  const auto window = std::stoul(point.facts().at("window_writes"));
  EXPECT_GT(window, 0U);
  EXPECT_EQ(window % 16, 0U);
  EXPECT_GE(point.sample_count(), 30);
  EXPECT_GT(point.warmup_count(), 0);
}

TEST_F(WriteKernels, AdaptiveLatencyWarmsUpAndStopsByItsRule) {
  PairOptions options{.parameters = {{"sizes", "8"}, {"max_samples", "5000"}}};
  const auto results = run("verbs.write_lat", options);
  expect_passed(results);
  const Point& point = results[0].points[0];
  EXPECT_GE(point.sample_count(), 1000);
  EXPECT_GT(point.warmup_count(), 0);
  EXPECT_THAT(point.stop_reason(), ::testing::AnyOf("converged", "iterations"));
  // Neighbours that resemble each other, as on a busy machine, can leave too little for an
  // interval.
  EXPECT_TRUE(point.has_median_low() || point.effective_sample_count() < 10);
  constexpr double kLeastForP99 = 459;  // stats.h
  EXPECT_TRUE(point.has_p99() || point.effective_sample_count() < kLeastForP99);
}

TEST_F(WriteKernels, FactsSayWhatTheSystemChose) {
  const auto results = run("verbs.write_lat", short_lat());
  expect_passed(results);
  const auto& facts = results[1].facts;
  EXPECT_EQ(facts.at("device"), "fake1");
  EXPECT_EQ(facts.at("port"), "1");
  EXPECT_EQ(facts.at("peer"), "fake0:1");
  EXPECT_EQ(facts.at("driver"), "fake");
  EXPECT_EQ(facts.at("memory"), "host");
  EXPECT_EQ(facts.at("path"), "host");
  EXPECT_EQ(facts.at("gid"), "::ffff:192.0.2.2");
  EXPECT_EQ(facts.at("gid_index"), "3");
  EXPECT_EQ(facts.at("gid_type"), "RoCE v2");
  EXPECT_EQ(facts.at("mtu_bytes"), "4096");
  EXPECT_EQ(facts.at("link_layer"), "ethernet");
  EXPECT_EQ(facts.at("inline_bytes"), "220");
  EXPECT_EQ(facts.at("port_rate_bits_per_second"), "200000000000");
  EXPECT_EQ(facts.at("synthetic"), "true");
  EXPECT_THAT(facts.at("ibverbs_path"), HasSubstr("libibverbs-fake.so"));
}

TEST_F(WriteKernels, InlineFallsBackToWhatTheDeviceTakes) {
  verbs_control().max_inline = 64;
  const auto results = run("verbs.write_lat", short_lat());
  expect_passed(results);
  EXPECT_EQ(results[0].facts.at("inline_bytes"), "55");  // 220, 110, 55
  EXPECT_EQ(results[0].points[0].facts().at("sent_inline"), "true");
  EXPECT_EQ(results[0].points[1].facts().at("sent_inline"), "false");
  verbs_control().max_inline = 0;
  const auto without = run("verbs.write_lat", short_lat());
  expect_passed(without);
  EXPECT_EQ(without[0].facts.at("inline_bytes"), "0");
  EXPECT_EQ(without[0].points[0].facts().at("sent_inline"), "false");
}

TEST_F(WriteKernels, WrongBytesFailBothRanksAndNameTheOffset) {
  verbs_control().flip_byte = 1;
  for (const char* kernel : {"verbs.write_lat", "verbs.write_bw"}) {
    auto options = short_lat();
    options.parameters["sizes"] = "64KiB";
    const auto results = run(kernel, options);
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status) << kernel;
      EXPECT_EQ(result.status.error().code, Code::kDataLoss);
      EXPECT_THAT(result.status.error().message,
                  AllOf(HasSubstr("fake1:1: verify a 64KiB write: byte 32768 is 0x"),
                        HasSubstr(", expected 0x")));
      EXPECT_TRUE(result.points.empty());
    }
  }
}

TEST_F(WriteKernels, AVanishedPeerEndsBothRanksWithTheStatusInWords) {
  for (const char* kernel : {"verbs.write_lat", "verbs.write_bw"}) {
    verbs_control().reset();
    verbs_control().lose_after = 150;
    auto options = short_lat();
    options.parameters["stall_timeout"] = "50ms";
    const auto results = run(kernel, options);
    ASSERT_FALSE(results[0].status) << kernel;
    EXPECT_FALSE(results[1].status) << kernel;
    EXPECT_EQ(results[0].status.error().code, Code::kUnavailable);
    if (std::string_view(kernel) == "verbs.write_bw") {
      EXPECT_THAT(results[0].status.error().message,
                  AllOf(HasSubstr("fake0:1: write to rank 1 (fake1:1): transport retry counter "
                                  "exceeded; the path or the other side"),
                        HasSubstr("in state ERR")));
    }
  }
}

TEST_F(WriteKernels, TheTasksDeadlineEndsASamplingThatWouldGoOn) {
  for (const char* kernel : {"verbs.write_lat", "verbs.write_bw"}) {
    PairOptions options{.parameters = {{"min_samples", "1000000"},
                                       {"max_samples", "1000000"},
                                       {"stall_timeout", "30s"}},
                        .deadline_seconds = 0.15};
    const double begin_ns = monotonic_now_ns();
    const auto results = run(kernel, options);
    ASSERT_FALSE(results[0].status) << kernel;
    ASSERT_FALSE(results[1].status) << kernel;
    // The other rank may have left at the deadline just before.
    const auto deadline = [](const RankResult& result) {
      return result.status.error().code == Code::kDeadlineExceeded;
    };
    EXPECT_TRUE(std::ranges::any_of(results, deadline)) << results[0].status.error().message;
    EXPECT_LT(seconds_since(begin_ns), 5) << kernel;
  }
}

TEST_F(WriteKernels, AnAbsentDeviceIsNotFoundAndTheErrorListsWhatThereIs) {
  auto options = short_lat();
  options.endpoints[0] = "mlx5_7:1";
  const auto results = run("verbs.write_lat", options);
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kNotFound);
  EXPECT_EQ(results[0].status.error().message,
            "there is no RDMA device mlx5_7; there is fake0, fake1");
  EXPECT_EQ(results[1].status.error().code, Code::kUnavailable);
}

TEST_F(WriteKernels, AWrongPortNamesThePortsThatThereAre) {
  auto options = short_bw();
  options.endpoints[0] = "fake0:3";
  const auto results = run("verbs.write_bw", options);
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kNotFound);
  EXPECT_EQ(results[0].status.error().message, "fake0 has no port 3; it has ports 1 to 1");
  options.endpoints[0] = "fake0:x";
  EXPECT_EQ(run("verbs.write_bw", options)[0].status.error().code, Code::kInvalidArgument);
}

TEST_F(WriteKernels, AnEmptyEndpointTakesTheFirstActivePort) {
  auto options = short_bw();
  options.endpoints = {"", "fake1"};
  const auto results = run("verbs.write_bw", options);
  expect_passed(results);
  EXPECT_EQ(results[0].facts.at("device"), "fake0");
  EXPECT_EQ(results[1].facts.at("device"), "fake1");
}

TEST_F(WriteKernels, APortThatIsDownCannotRunHere) {
  verbs_control().port_down = 1;
  const auto named = run("verbs.write_lat", short_lat());
  ASSERT_FALSE(named[0].status);
  EXPECT_EQ(named[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(named[0].status.error().message, "fake0:1 is down; an active port is needed");
  auto options = short_lat();
  options.endpoints[0] = "";
  EXPECT_THAT(run("verbs.write_lat", options)[0].status.error().message,
              AllOf(StartsWith("fake0:1 is down"), HasSubstr("fake1:1 is down")));
}

TEST_F(WriteKernels, AnEmptyGidEntryNamesTheFilledOnes) {
  auto options = short_lat();
  options.parameters["gid_index"] = "9";
  const auto results = run("verbs.write_lat", options);
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(results[0].status.error().message, AllOf(HasSubstr("gid_index: entry 9 is empty"),
                                                       HasSubstr("3 (RoCE v2 ::ffff:192.0.2.1)")));
}

TEST_F(WriteKernels, RanksWithDifferentGidTypesDoNotFit) {
  auto options = short_lat();
  options.target_parameters["gid_index"] = "2";  // RoCE v1
  const auto results = run("verbs.write_lat", options);
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kFailedPrecondition);
  EXPECT_EQ(results[0].status.error().message,
            "fake0:1 and fake1:1 do not fit: the GID type is RoCE v2 here and RoCE v1 there");
}

TEST_F(WriteKernels, RanksMustTakeTheSameParameters) {
  auto options = short_lat();
  options.target_parameters["sizes"] = "16";
  const auto results = run("verbs.write_lat", options);
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(results[0].status.error().message, HasSubstr("parameter sizes is \"8,64KiB\""));
}

TEST_F(WriteKernels, ThePathMtuIsTheParametersWhereOneIsGiven) {
  auto options = short_lat();
  options.parameters["mtu"] = "1024";
  const auto results = run("verbs.write_lat", options);
  expect_passed(results);
  EXPECT_EQ(results[0].facts.at("mtu_bytes"), "1024");
}

TEST_F(WriteKernels, SignallingLessOftenThanTheQueueIsDeepIsWrongUse) {
  auto options = short_bw();
  options.parameters["depth"] = "16";
  const auto results = run("verbs.write_bw", options);
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(results[0].status.error().message, HasSubstr("signal_every: 100 is above depth"));
}

TEST_F(WriteKernels, RelaxedOrderingIsTheDefaultAndAFactSaysWhatWasUsed) {
  for (const auto& [asked, used] :
       {std::pair{"auto", "on"}, std::pair{"on", "on"}, std::pair{"off", "off"}}) {
    auto options = short_bw();
    options.parameters["relaxed_ordering"] = asked;
    const auto results = run("verbs.write_bw", options);
    expect_passed(results);
    for (const auto& result : results) EXPECT_EQ(result.facts.at("relaxed_ordering"), used);
  }
  for (const char* polled : {"verbs.write_lat", "verbs.write_imm_lat"})
    EXPECT_EQ(run(polled, short_lat())[0].facts.at("relaxed_ordering"), "off") << polled;
}

TEST_F(WriteKernels, LatenciesOfReadsAndSendsAreRelaxedAsPerftestsAre) {
  for (const char* kernel : {"verbs.read_lat", "verbs.send_lat"})
    for (const auto& [asked, used] :
         {std::pair{"auto", "on"}, std::pair{"on", "on"}, std::pair{"off", "off"}}) {
      auto options = short_lat();
      options.parameters["relaxed_ordering"] = asked;
      const auto results = run(kernel, options);
      expect_passed(results);
      for (const auto& result : results)
        EXPECT_EQ(result.facts.at("relaxed_ordering"), used) << kernel;
    }
  for (const char* strict : {"verbs.write_lat", "verbs.write_imm_lat", "verbs.atomic_lat"}) {
    const auto all = find_kernel(strict)->info().parameters();
    EXPECT_TRUE(std::ranges::none_of(all, [](const ParameterInfo& one) {
      return one.name() == "relaxed_ordering";
    })) << strict;
  }
}

}  // namespace
}  // namespace railgauge
