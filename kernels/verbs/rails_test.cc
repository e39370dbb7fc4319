// Several NICs of a node at once, on the fake's two devices.
#include "kernels/verbs/rails.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/fake_verbs.h"
#include "kernels/fakes/pair.h"

namespace railgauge {
namespace {

using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;
using Pairs = std::vector<verbs::RailPair>;

TEST(RailPairs, SameCrossAndAll) {
  EXPECT_EQ(verbs::rail_pairs("same", 2), (Pairs{{0, 0}, {1, 1}}));
  EXPECT_EQ(verbs::rail_pairs("cross", 3), (Pairs{{0, 1}, {1, 2}, {2, 0}}));
  EXPECT_EQ(verbs::rail_pairs("all", 2), (Pairs{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(verbs::rail_pairs("cross", 1), (Pairs{{0, 0}}));
}

TEST(RailPairs, DevicesAreNamedOnceEach) {
  EXPECT_EQ(*verbs::parse_devices("a:1,b:1"), (std::vector<std::string>{"a:1", "b:1"}));
  EXPECT_FALSE(verbs::parse_devices("a:1,,b:1"));
  EXPECT_FALSE(verbs::parse_devices("a:1,"));
  EXPECT_FALSE(verbs::parse_devices("a:1,a:1"));
}

class Rails : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1); }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    verbs_control().reset();
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  static auto run(std::string_view kernel, Parameters parameters, Parameters target = {}) {
    parameters.emplace("stall_timeout", "2s");
    parameters.emplace("devices", "fake0:1,fake1:1");
    parameters.emplace("duration", "50ms");
    return run_pair(*find_kernel(kernel),
                    {.parameters = std::move(parameters), .target_parameters = std::move(target)});
  }
};

TEST_F(Rails, EachPairHasItsFigureAndTheSumIsTheirsInTheSameTime) {
  for (const char* kernel : {"verbs.write_bw", "verbs.read_bw", "verbs.send_bw",
                             "verbs.write_imm_bw", "verbs.atomic_bw"})
    for (const char* direction : {"one_way", "both"}) {
      const auto results = run(kernel, {{"direction", direction}});
      for (const RankResult& result : results)
        ASSERT_TRUE(result.status) << kernel << ": " << result.status.error().message;
      const auto& points = results[0].points;
      ASSERT_EQ(points.size(), 6U) << kernel;  // bandwidth and rate, of two pairs and the sum
      EXPECT_EQ(points[0].pair(), "fake0:1>fake0:1");
      EXPECT_EQ(points[2].pair(), "fake1:1>fake1:1");
      EXPECT_EQ(points[4].pair(), "");
      EXPECT_NEAR(points[4].mean(), points[0].mean() + points[2].mean(), points[4].mean() * 1e-9);
      EXPECT_EQ(points[4].facts().at("links"), "2");
      EXPECT_TRUE(points[4].verified());
      EXPECT_GT(std::stod(points[4].facts().at("cpu_seconds_per_gigabyte")), 0);
      EXPECT_EQ(results[1].facts.at("peers"), "fake0:1,fake1:1");
    }
}

TEST_F(Rails, CrossAndAllNameTheirPairs) {
  const auto cross = run("verbs.write_bw", {{"rails", "cross"}});
  ASSERT_TRUE(cross[0].status) << cross[0].status.error().message;
  EXPECT_EQ(cross[0].points[0].pair(), "fake0:1>fake1:1");
  EXPECT_EQ(cross[0].points[2].pair(), "fake1:1>fake0:1");
  const auto all = run("verbs.write_bw", {{"rails", "all"}, {"sizes", "64,4KiB"}});
  ASSERT_TRUE(all[0].status) << all[0].status.error().message;
  EXPECT_EQ(all[0].points.size(), 2U * 2 * 5);
}

TEST_F(Rails, AWrongByteOnOneLinkFailsAll) {
  verbs_control().flip_byte = 1;
  for (const RankResult& result : run("verbs.write_bw", {})) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    EXPECT_TRUE(result.points.empty());
  }
}

TEST_F(Rails, APeerThatVanishesEndsBothRanks) {
  verbs_control().lose_after = 300;
  for (const char* kernel : {"verbs.write_bw", "verbs.send_bw"}) {
    const auto results = run(kernel, {{"stall_timeout", "200ms"}});
    ASSERT_FALSE(results[0].status) << kernel;
    EXPECT_FALSE(results[1].status) << kernel;
    EXPECT_EQ(results[0].status.error().code, Code::kUnavailable)
        << results[0].status.error().message;
    verbs_control().writes = 0;
  }
}

TEST_F(Rails, WrongUseNamesTheParameter) {
  const auto counts = run("verbs.write_bw", {}, {{"devices", "fake1:1"}});
  for (const RankResult& result : counts) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(result.status.error().message,
                HasSubstr("parameter devices: 2 at rank 0 and 1 at rank 1"));
  }
  const auto fixed = run("verbs.write_bw", {{"iterations", "5"}, {"duration", "0s"}});
  EXPECT_THAT(fixed[0].status.error().message,
              HasSubstr("parameter iterations: is not for several"));
  const auto absent = run("verbs.write_bw", {{"devices", "fake0:1,mlx5_7:1"}});
  EXPECT_EQ(absent[0].status.error().code, Code::kNotFound);
}

TEST_F(Rails, AFailureOfEachCallLeaksNothing) {
  std::uint64_t call = 1;
  for (; call < 160; ++call) {
    verbs_control().reset();
    verbs_control().fail_call = call;
    const auto results =
        run("verbs.send_bw", {{"sizes", "16"}, {"duration", "10ms"}, {"stall_timeout", "100ms"}});
    ASSERT_EQ(verbs_control().live_handles, 0) << "call " << call;
    EXPECT_TRUE(!results[0].status || !results[1].status) << "call " << call;
  }
}

}  // namespace
}  // namespace railgauge
