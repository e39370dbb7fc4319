// How requests are handed over on the fake libibverbs: at a limited rate, by ibv_wr_*, and by
// several threads of one port.
#include <gmock/gmock.h>

#include <cerrno>
#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/core/base/outcome.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/verbs/fake_verbs.h"

namespace railgauge {
namespace {

using fake::RankResult;
using fake::verbs_control;
using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

class Posting : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1); }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    verbs_control().reset();
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  static auto run(std::string_view kernel, Given given) {
    given.emplace("stall_timeout", "30s");
    return fake::run_pair(*find_kernel(kernel), {.parameters = std::move(given)});
  }
  static void expect_verified(const std::array<RankResult, 2>& results) {
    for (const RankResult& result : results)
      ASSERT_TRUE(result.status) << result.status.error().message;
    ASSERT_FALSE(results[0].points.empty());
    for (const Point& point : results[0].points) EXPECT_TRUE(point.verified());
  }
  static void expect_waived(const std::array<RankResult, 2>& results, const char* words) {
    ASSERT_FALSE(results[0].status);
    EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
    EXPECT_THAT(results[0].status.error().message, HasSubstr(words));
  }
};

TEST_F(Posting, SendsCarryImmediateDataAndItsLossIsFound) {
  for (const char* kernel : {"verbs.send_bw", "verbs.send_lat"})
    for (const char* transport : {"RC", "UD", "XRC"}) {
      const Given given{{"immediate", "true"},
                        {"transport", transport},
                        {"sizes", "8,1KiB"},
                        {"iterations", "100"}};
      verbs_control().reset();
      expect_verified(run(kernel, given));
      verbs_control().no_immediate = 1;
      const auto results = run(kernel, given);
      ASSERT_FALSE(results[0].status) << kernel << " " << transport;
      EXPECT_EQ(results[0].status.error().code, Code::kDataLoss);
      EXPECT_THAT(results[0].status.error().message, HasSubstr("without their immediate data"));
    }
  verbs_control().reset();
  expect_verified(
      run("verbs.send_bw",
          {{"immediate", "true"}, {"post", "extended"}, {"sizes", "64"}, {"iterations", "100"}}));
}

TEST_F(Posting, TheCompletionVectorIsTheGivenOneOfTheDevice) {
  const Given given{
      {"completion_vector", "3"}, {"poll", "events"}, {"sizes", "64"}, {"iterations", "100"}};
  verbs_control().completion_vectors = 4;
  expect_verified(run("verbs.send_bw", given));
  EXPECT_EQ(verbs_control().highest_vector, 3U);
  verbs_control().completion_vectors = 3;
  const auto results = run("verbs.send_bw", given);
  ASSERT_FALSE(results[0].status);
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("parameter completion_vector: 3 is above the device's last, 2"));
}

// 0.08 Gb/s are 10 MB/s: 4 KiB each 410 us, on any machine far below what the fake copies.
TEST_F(Posting, AtARateOfTheCpuIsNeverFaster) {
  constexpr double kBytesPerSecond = 0.08e9 / 8;
  for (const char* burst : {"1", "8"}) {
    const auto results = run(
        "verbs.write_bw",
        {{"sizes", "4KiB"}, {"iterations", "240"}, {"rate_limit", "0.08"}, {"rate_burst", burst}});
    expect_verified(results);
    const Point& point = results[0].points[0];
    // The first burst is not waited for.
    EXPECT_LT(point.rate(), 1.08 * kBytesPerSecond) << burst;
    EXPECT_GT(point.rate(), 0.4 * kBytesPerSecond) << burst;
    EXPECT_THAT(point.facts().at("paced"), HasSubstr("0.08 Gb/s"));
  }
}

TEST_F(Posting, AtARateAlsoOverSeveralQueuePairsAndAStretchOfTime) {
  const auto results =
      run("verbs.write_bw",
          {{"sizes", "4KiB"}, {"qps", "3"}, {"duration", "300ms"}, {"rate_limit", "0.08"}});
  expect_verified(results);
  EXPECT_LT(results[0].points[0].rate(), 1.1 * 0.08e9 / 8);
}

TEST_F(Posting, AtARateRefusesWhatItCannotKeep) {
  const auto code = [](const std::array<RankResult, 2>& results) {
    return results[0].status ? Code::kInternal : results[0].status.error().code;
  };
  EXPECT_EQ(code(run("verbs.write_bw", {{"rate_limit", "0.001"}, {"sizes", "1MiB"}})),
            Code::kInvalidArgument)
      << "a message of 8 s";
  EXPECT_EQ(code(run("verbs.write_bw", {{"rate_limit", "1"}, {"rate_burst", "200"}})),
            Code::kInvalidArgument)
      << "above depth";
  EXPECT_EQ(code(run("verbs.write_bw", {{"rate_limit", "1"}, {"poll", "events"}})),
            Code::kInvalidArgument);
}

TEST_F(Posting, AtARateOfTheAdapterSetsItOnEachQueuePair) {
  const Given limited{{"sizes", "4KiB"},
                      {"iterations", "100"},
                      {"rate_limit", "2.5"},
                      {"rate_limit_by", "hardware"}};
  expect_verified(run("verbs.write_bw", limited));
  EXPECT_EQ(verbs_control().last_rate_limit, 2'500'000U);
  verbs_control().no_rate_limit = EOPNOTSUPP;
  expect_waived(run("verbs.write_bw", limited), "no packet pacing");
}

TEST_F(Posting, ByExtendedRequestsMovesTheSameBytes) {
  for (const char* kernel : {"verbs.write_bw", "verbs.write_imm_bw", "verbs.read_bw",
                             "verbs.send_bw", "verbs.atomic_bw"}) {
    SCOPED_TRACE(kernel);
    verbs_control().reset();
    Given given{{"post", "extended"}, {"iterations", "300"}, {"post_list", "4"}};
    if (std::string_view(kernel) != "verbs.atomic_bw") given.emplace("sizes", "64,4KiB");
    expect_verified(run(kernel, given));
    EXPECT_GT(verbs_control().extended_chains, 0U);
  }
  verbs_control().reset();
  expect_verified(run("verbs.send_bw", {{"post", "extended"},
                                        {"transport", "UD"},
                                        {"sizes", "64"},
                                        {"inline_bytes", "64"},
                                        {"iterations", "100"}}));
}

TEST_F(Posting, ByExtendedRequestsFindsAWrongByte) {
  verbs_control().flip_byte = 1;
  const auto results = run("verbs.write_bw", {{"post", "extended"}, {"sizes", "4KiB"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kDataLoss);
}

TEST_F(Posting, ByExtendedRequestsWaivesWhereTheProviderHasNone) {
  verbs_control().no_extended = 1;
  expect_waived(run("verbs.write_bw", {{"post", "extended"}}), "extended work requests");
}

TEST_F(Posting, BySeveralThreadsOfAPortIsOneFigure) {
  for (const char* kernel : {"verbs.write_bw", "verbs.send_bw"}) {
    const auto results = run(kernel, {{"threads", "2"}, {"sizes", "4KiB"}, {"duration", "200ms"}});
    expect_verified(results);
    ASSERT_EQ(results[0].points.size(), 2U) << "bandwidth and message rate";
    EXPECT_EQ(results[0].points[0].facts().at("links"), "2");
    EXPECT_THAT(results[0].points[0].facts().at("threads"), HasSubstr("2 for each"));
  }
}

TEST_F(Posting, IsRefusedWhereAStagingStreams) {
  const auto results = run("verbs.write_bw", {{"threads", "2"}, {"memory", "staged"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace railgauge
