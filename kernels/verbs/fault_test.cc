// The kernels' behaviour when timed writes arrive wrong, and when a device is faulty or gone.
#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/catalog.h"
#include "kernels/dl/verbs.h"
#include "kernels/fakes/pair.h"
#include "kernels/fakes/verbs/fake_verbs.h"
#include "kernels/verbs/transport/device.h"

namespace railgauge {
namespace {

using fake::PairOptions;
using fake::RankResult;
using fake::run_pair;
using fake::verbs_control;
using ::testing::AllOf;
using ::testing::HasSubstr;

class Faults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv(kVerbsLibraryVariable, RAILGAUGE_FAKE_LIBIBVERBS, 1); }
  void SetUp() override { verbs_control().reset(); }
  void TearDown() override {
    verbs_control().reset();
    EXPECT_EQ(verbs_control().live_handles, 0);
  }
  static auto run(std::string_view kernel, std::map<std::string, std::string> parameters) {
    parameters["stall_timeout"] = "2s";
    return run_pair(*find_kernel(kernel), {.parameters = std::move(parameters)});
  }
};

void expect_wrong_byte(const std::array<RankResult, 2>& results, const std::string& words) {
  for (const RankResult& result : results) {
    ASSERT_FALSE(result.status) << words;
    EXPECT_EQ(result.status.error().code, Code::kDataLoss);
    EXPECT_THAT(result.status.error().message, AllOf(HasSubstr(words), HasSubstr(", expected 0x")));
    EXPECT_TRUE(result.points.empty());
  }
}

TEST_F(Faults, OneTimedWriteOfTheLastLapThatIsWrongFailsTheBandwidth) {
  constexpr std::uint64_t kSlotCount = 64;  // of 64 B
  for (const std::uint64_t wrong : {937U, 966U, 1000U}) {
    verbs_control().reset();
    verbs_control().flip_write = wrong;
    const std::uint64_t offset = (wrong - 1) % kSlotCount * 64 + 32;
    expect_wrong_byte(run("verbs.write_bw", {{"sizes", "64"}, {"iterations", "1000"}}),
                      "fake1:1: verify a 64 write: byte " + std::to_string(offset) + " is 0x");
  }
}

TEST_F(Faults, TheLastTimedWriteOfAMessageAboveThePageIsCompared) {
  verbs_control().flip_write = 100;
  expect_wrong_byte(run("verbs.write_bw", {{"sizes", "64KiB"}, {"iterations", "100"}}),
                    "fake1:1: verify a 64KiB write: byte 32768 is 0x");
}

TEST_F(Faults, AWrongWriteOfALaterSizeIsFoundThere) {
  constexpr std::uint64_t kProofRing = 128;  // of the first size
  verbs_control().flip_write = 100 + kProofRing + 90;
  const auto results = run("verbs.write_bw", {{"sizes", "64,128"}, {"iterations", "100"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].points.size(), 2U) << "of the first size";
  const int offset = 89 % 32 * 128 + 64;
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("fake1:1: verify a 128 write: byte " + std::to_string(offset) + " is 0x"));
}

TEST_F(Faults, TheLastBallOfEitherSideIsCompared) {
  constexpr std::uint64_t kBalls = 20;  // ten of each side
  for (const std::uint64_t rank : {0U, 1U}) {
    verbs_control().reset();
    verbs_control().flip_write = kBalls - 1 + rank;
    expect_wrong_byte(
        run("verbs.write_lat", {{"sizes", "4KiB"}, {"iterations", "10"}}),
        std::string("fake") + (rank == 0 ? "1" : "0") + ":1: verify a 4KiB write: byte 2048 is 0x");
  }
}

TEST_F(Faults, ASizeEndsWithAnEmptyQueueAlsoWhereNothingIsVerified) {
  // Seven does not divide the depth: the last group of an adaptive size has no completion. The
  // kernel CHECKs that none of it is left for the next size to count.
  const auto results = run("verbs.write_bw", {{"sizes", "64,128,256"},
                                              {"verify", "false"},
                                              {"depth", "100"},
                                              {"signal_every", "7"},
                                              {"min_samples", "1"},
                                              {"max_samples", "3"}});
  for (const RankResult& result : results)
    ASSERT_TRUE(result.status) << result.status.error().message;
  EXPECT_EQ(results[0].points.size(), 6U);
  for (const Point& point : results[0].points) EXPECT_FALSE(point.verified());
}

TEST_F(Faults, AGroupOfHugeMessagesHoldsNoMoreThanItsBytes) {
  const auto results = run("verbs.write_bw", {{"sizes", "64KiB,4MiB,16MiB"}, {"iterations", "5"}});
  ASSERT_TRUE(results[0].status) << results[0].status.error().message;
  ASSERT_EQ(results[0].points.size(), 6U);
  const auto every = [&](std::size_t i) { return results[0].points[i].facts().at("signal_every"); };
  EXPECT_EQ(every(0), "32");
  EXPECT_EQ(every(2), "2");
  EXPECT_EQ(results[0].points[2].sample_count(), 3);  // 2, 2, 1
  EXPECT_EQ(every(4), "1");
}

TEST_F(Faults, AReleaseThatFailsIsALineOnStderrAndTheTaskGoesOn) {
  for (const char* kernel : {"verbs.write_lat", "verbs.write_bw"}) {
    verbs_control().fail_destroy = 1;
    ::testing::internal::CaptureStderr();
    const auto results = run(kernel, {{"iterations", "50"}});
    const std::string said = ::testing::internal::GetCapturedStderr();
    for (const RankResult& result : results)
      EXPECT_TRUE(result.status) << result.status.error().message;
    EXPECT_THAT(said, AllOf(HasSubstr("verbs: destroy the queue pair: "),
                            HasSubstr("verbs: close the device: ")));
  }
}

TEST_F(Faults, ADeviceThatCannotBeOpenedDoesNotEndTheSearchForOne) {
  ASSERT_TRUE(load_verbs());
  constexpr std::uint64_t kOpenOfTheFirst = 2;  // after the list
  verbs_control().fail_call = kOpenOfTheFirst;
  const auto found = verbs::Device::open("");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->endpoint(), "fake1:1");
}

TEST_F(Faults, ADeviceThatWasAskedForAndCannotBeOpenedIsAnError) {
  ASSERT_TRUE(load_verbs());
  verbs_control().fail_call = 2;
  const auto found = verbs::Device::open("fake0");
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("fake0: open: "));
}

}  // namespace
}  // namespace railgauge
