// Communication that GPUs begin, on the fakes.
#include <algorithm>

#include "kernels/core/base/outcome.h"
#include "kernels/nccl/gin/bench.h"
#include "kernels/nccl/gin/side.h"
#include "kernels/nccl/testing/on_fake_ranks.h"
#include "kernels/testing/corruption.h"

namespace railgauge::nccl {
namespace {

using fake::nccl_control;
using fake::RankResult;
using ::testing::HasSubstr;

// The process's library, whose release is read once: 2.30.7, or RAILGAUGE_FAKE_NCCL's.
constexpr const char* kReleaseWithGet = "version=23007";
constexpr std::uint64_t kWithoutGet = 23'000;
constexpr std::uint64_t kOtherRelease = 22'907;

TEST(GinHeaders, FitTheirOwnReleaseAndFrom230OnLaterOnes) {
  EXPECT_TRUE(check_headers({.release = 22809}, 22809));
  EXPECT_TRUE(check_headers({.release = 22907}, 22907));
  EXPECT_TRUE(check_headers({.release = 23003}, 23007));
  const auto words = [](int headers, int library) {
    const Status status = check_headers({.release = headers}, library);
    return status ? std::string("fits") : status.error().message;
  };
  EXPECT_EQ(words(22809, 22703),
            "NCCL 2.27.3: it has no GPU-initiated networking (GIN); 2.28.7 and later have");
  EXPECT_EQ(
      words(22809, 23007),
      "NCCL 2.30.7: this build's device code is made of the headers of 2.28.9, which fit that "
      "release alone; build with the library's own headers");
  // Libraries of 2.30 refuse GIN to them: the code must be compiled again.
  EXPECT_THAT(words(22902, 23007), HasSubstr("of 2.29.2, which fit that release alone"));
  EXPECT_THAT(words(22907, 23007), HasSubstr("of 2.29.7, which fit that release alone"));
  EXPECT_EQ(words(23007, 22907),
            "NCCL 2.29.7: this build's device code is made of the headers of 2.30.7, which are "
            "newer; build with the library's own headers");
}

TEST(GinKernels, AreMadeWithoutACallOfALibrary) {
  for (const GinVerb verb : {GinVerb::kPut, GinVerb::kSignal, GinVerb::kGet})
    EXPECT_NE(make_gin(verb), nullptr);
}

TEST(GinKinds, AreNamed) {
  EXPECT_THAT(gin_kind_words(nc::kGinProxy), HasSubstr("a thread of the CPU"));
  EXPECT_THAT(gin_kind_words(nc::kGinGdaki), HasSubstr("GDAKI"));
  EXPECT_THAT(gin_kind_words(9), HasSubstr("kind 9"));
}

class Gin : public OnFakeRanks {
 protected:
  static void SetUpTestSuite() {
    setenv("RAILGAUGE_FAKE_NCCL", kReleaseWithGet, 0);
    OnFakeRanks::SetUpTestSuite();
  }
  void SetUp() override { reset_fakes(); }
  static void reset_fakes() {
    OnFakeRanks::reset_fakes();
    fake::cuda_control().gin_headers = nccl_control().version.load();
  }
  static std::vector<RankResult> run_gin(const std::string& verb, std::uint32_t ranks,
                                         Parameters parameters = {}) {
    parameters.insert({"iterations", "40"});
    if (verb == "put") parameters.insert({"proof_time", "0s"});
    if (verb != "signal") parameters.insert({"sizes", "8,4KiB"});
    return fake::run_ranks(*find_kernel("nccl.gin_" + verb + "_lat"),
                           {.parameters = parameters, .ranks = ranks});
  }
  static void expect_all(const std::vector<RankResult>& results, std::string_view outcome,
                         const std::string& words) {
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status);
      EXPECT_EQ(outcome_of(result.status.error().code), outcome) << result.status.error().message;
      EXPECT_THAT(result.status.error().message, HasSubstr(words));
      EXPECT_TRUE(result.points.empty());
    }
  }
};

// A row of the table of wrong messages, whose column is the number of the first wrong one.
void print_fault(const std::string& verb, const std::string& fault,
                 const std::vector<RankResult>& results) {
  print_corruption("nccl.gin_" + verb + "_lat", fault,
                   std::max<std::uint64_t>(1, nccl_control().gin_fault_from),
                   outcome_word(results[0].status), "0");
}

TEST_F(Gin, HasAFigureOfEachSizeForTwoToFourRanks) {
  for (const std::uint32_t ranks : {2U, 3U, 4U})
    for (const std::string verb : {"put", "signal", "get"}) {
      reset_fakes();
      const auto results = run_gin(verb, ranks);
      expect_passed(results);
      ASSERT_EQ(results[0].points.size(), verb == "signal" ? 1U : 2U);
      for (const Point& point : results[0].points) {
        EXPECT_TRUE(point.verified()) << verb;
        EXPECT_TRUE(point.synthetic());
        EXPECT_EQ(point.meaning(), verb == "get" ? "completion" : "hop");
        EXPECT_EQ(point.sample_count(), 40);
        EXPECT_GT(point.median(), 0);
        EXPECT_EQ(point.facts().at("ranks"), std::to_string(ranks));
      }
      EXPECT_THAT(results[0].facts.at("path"), HasSubstr("GDAKI"));
      EXPECT_EQ(results[0].facts.at("nccl_headers"), "2.30.7");
      for (std::uint32_t rank = 1; rank < ranks; ++rank)
        EXPECT_TRUE(results[rank].points.empty()) << "rank 0 reports";
    }
}

// Releases before 2.29.2 take other requirements: this test runs with 2.28.9 too.
TEST_F(Gin, PutsAndSignalsWithTheHeadersOfItsLibrary) {
  for (const std::string verb : {"put", "signal"}) {
    const auto results = run_gin(verb, 2);
    expect_passed(results);
    EXPECT_EQ(results[0].facts.at("nccl_headers"), results[0].facts.at("nccl"));
  }
}

TEST_F(Gin, WithAWrongByteIsAFailure) {
  for (const std::string verb : {"put", "get"}) {
    reset_fakes();
    nccl_control().gin_fault = 1;
    const auto results = run_gin(verb, 3);
    print_fault(verb, "corrupt", results);
    expect_all(results, kFailed, "expected 0x");
  }
}

TEST_F(Gin, WithBytesThatDoNotArriveIsAFailureAlthoughTheSignalDoes) {
  nccl_control().gin_fault = 2;
  expect_all(run_gin("put", 2), kFailed, "is 0xa5, expected 0x");
}

// The right bytes of earlier gets are in each place already: they must not prove a later one.
TEST_F(Gin, WhoseGetEndsBeforeItsBytesIsAFailure) {
  for (const std::uint64_t from : {1U, 10U, 40U}) {
    reset_fakes();
    nccl_control().gin_fault = 2;
    nccl_control().gin_fault_from = from;
    const auto results = run_gin("get", 3, {{"sizes", "4KiB"}});
    print_fault("get", "late", results);
    expect_all(results, kFailed, "ended before their bytes came");
  }
}

TEST_F(Gin, WhoseSignalComesTwiceIsAFailure) {
  for (const std::string verb : {"put", "signal"}) {
    reset_fakes();
    nccl_control().gin_fault = 4;
    nccl_control().gin_fault_from = 30;
    const auto results = run_gin(verb, 2);
    print_fault(verb, "repeated", results);
    expect_all(results, kFailed, "signals came since the begin, expected");
  }
}

// An error that names GIN is no lack of the machine.
TEST_F(Gin, ThatIsBrokenIsAnError) {
  nccl_control().no_gin = 2;
  expect_all(run_gin("put", 2), kCrashed, "Invalid GIN gdaki backend version 7");
}

// The timed rounds are over: 2 sizes of 40 rounds, with 2 ranks.
TEST_F(Gin, ThatLosesBytesInTheProofAloneIsAFailure) {
  nccl_control().gin_fault = 2;
  nccl_control().gin_fault_from = 2 * 40 + 1;
  const auto results = run_gin("put", 2, {{"sizes", "8"}});
  print_fault("put", "dropped", results);
  expect_all(results, kFailed, "came with another round's number");
}

TEST_F(Gin, WhoseSignalIsLostEndsAllRanksInTime) {
  nccl_control().gin_fault = 3;
  nccl_control().gin_fault_from = 5;
  const auto results = run_gin("signal", 2, {{"stall_timeout", "300ms"}});
  print_fault("signal", "dropped", results);
  expect_all(results, kTimedOut, "not done after 0.3 s; another rank is gone or stuck");
}

TEST_F(Gin, WaivesWithTheReasonWhereSomethingLacks) {
  fake::cuda_control().gin_headers = kWithoutGet;
  expect_passed(run_gin("put", 2));
  expect_all(run_gin("get", 2), kWaived,
             "headers of 2.30.0, which have no get; those of 2.30.3 and later have");
  fake::cuda_control().gin_headers = kOtherRelease;
  expect_all(run_gin("put", 2), kWaived, "build with the library's own headers");
  reset_fakes();
  nccl_control().no_gin = 1;
  expect_all(run_gin("signal", 2), kWaived,
             "GIN not supported; a NIC with GPUDirect RDMA that NCCL's GIN can use is needed");
  reset_fakes();
  nccl_control().no_windows = 1;
  expect_all(run_gin("put", 2), kWaived, "NCCL gave none");
}

TEST_F(Gin, RefusesASizeOfHalfAWord) {
  const auto results = run_gin("put", 2, {{"sizes", "12"}});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(results[0].status.error().code, Code::kInvalidArgument);
  EXPECT_THAT(results[0].status.error().message, HasSubstr("12 is no multiple of 8 bytes"));
}

TEST_F(Gin, SurvivesAFailureOfEachCallWithoutALeak) {
  const Parameters few{
      {"iterations", "2"}, {"join_timeout", "300ms"}, {"stall_timeout", "300ms"}, {"sizes", "8"}};
  expect_passed(run_gin("put", 2, few));
  const std::uint64_t calls = nccl_control().calls;
  EXPECT_GT(calls, 6U);
  for (std::uint64_t call = 1; call <= calls; ++call) {
    reset_fakes();
    nccl_control().fail_call = call;
    const auto results = run_gin("put", 2, few);
    settle();
    EXPECT_EQ(nccl_control().live_handles(), 0) << call;
    EXPECT_EQ(fake::cuda_control().live_handles(), 0) << call;
    bool failed = false;
    for (const RankResult& result : results) {
      expect_clear(result.status, call);
      failed = failed || !result.status;
    }
    EXPECT_TRUE(failed) << "call " << call;
  }
}

}  // namespace
}  // namespace railgauge::nccl
