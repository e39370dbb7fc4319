// Every NCCL kernel on a fake that corrupts, drops, repeats or swaps one result of 100,000 at one
// rank: the proof after the timed part finds it, on all ranks, and names call and fault. The short
// check has one of 1,000, but one of 100,000 where a send is corrupted.
#include <algorithm>
#include <array>
#include <tuple>

#include "kernels/nccl/testing/on_fake_ranks.h"
#include "kernels/testing/corruption.h"

namespace railgauge::nccl {
namespace {

using fake::nccl_control;
using fake::RankResult;
using ::testing::HasSubstr;

constexpr std::size_t kCorrupted = 1;  // of NcclControl::fault

std::uint64_t every_how_many(const std::string& kernel, std::size_t fault) {
  const bool always = kernel == "nccl.send_recv" && fault == kCorrupted;
  return always || full_check() ? 100'000 : 1'000;
}

// NcclControl::fault, and what the kernels call it.
constexpr std::array<const char*, 5> kFaults{"none", "corrupt", "dropped", "repeated",
                                             "out of order"};

class NcclCorruption : public OnFakeRanks,
                       public ::testing::WithParamInterface<std::tuple<std::string, std::size_t>> {
 protected:
  // A rank that gets a result: rank 0 is the root.
  static std::uint64_t receiver(const std::string& kernel) {
    return kernel == "nccl.gather" || kernel == "nccl.reduce" ? 0 : 1;
  }
  static std::vector<RankResult> run_faulty(const std::string& kernel, std::size_t fault,
                                            std::uint64_t every, Parameters parameters) {
    nccl_control().fault = fault;
    nccl_control().fault_of = receiver(kernel) + 1;
    nccl_control().fault_every = every;
    parameters.insert({{"iterations", "3"}, {"sizes", "64"}});
    return fake::run_ranks(*find_kernel(kernel),
                           {.parameters = parameters, .ranks = 2, .deadline_seconds = 400});
  }
  static void expect_found(const std::vector<RankResult>& results, const std::string& kernel,
                           const std::string& message_pattern, const std::string& fault) {
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status) << kernel;
      const std::string& message = result.status.error().message;
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << message;
      EXPECT_THAT(message, HasSubstr(kernel + ": message "));
      EXPECT_THAT(message, ::testing::ContainsRegex(message_pattern));
      EXPECT_THAT(message, HasSubstr(", expected "));
      EXPECT_THAT(message, ::testing::EndsWith(fault));
      EXPECT_TRUE(result.points.empty());
    }
  }
};

TEST_P(NcclCorruption, OfOneCallOfManyFailsAllRanksAndIsNamed) {
  const auto& [kernel, fault] = GetParam();
  if (!full_check() && kernel != "nccl.all_reduce" && kernel != "nccl.send_recv" &&
      kernel != "nccl.all_gather")
    GTEST_SKIP() << "in the full check";
  const std::uint64_t every = every_how_many(kernel, fault);
  const char* time = fault != 0 ? "300s" : full_check() ? "2s" : "100ms";
  const auto results =
      run_faulty(kernel, fault, every, {{"proof_time", time}, {"tell_choice", "false"}});
  const bool passed = bool{results[0].status};
  print_corruption(kernel, kFaults[fault], fault == 0 ? 0 : every, outcome_word(results[0].status),
                   passed ? results[0].points[0].facts().at("proved_messages") : "0");
  if (fault == 0) return expect_passed(results);
  // A hypercube's message is what a rank receives: one share of two.
  const char* bytes = kernel == "nccl.hypercube" ? "32" : "64";
  expect_found(results, kernel,
               std::string("message 9[0-9][0-9]+ of ") + bytes + ", slot [0-9]+: element ",
               kFaults[fault]);
}

std::string name_of_fault(
    const ::testing::TestParamInfo<std::tuple<std::string, std::size_t>>& chosen) {
  const auto& [kernel, fault] = chosen.param;
  std::string name = kernel.substr(std::string_view("nccl.").size()) + "_" + kFaults[fault];
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Catalog, NcclCorruption,
                         ::testing::Combine(::testing::ValuesIn(collectives()),
                                            ::testing::Range<std::size_t>(0, kFaults.size())),
                         name_of_fault);

using NcclProof = NcclCorruption;

TEST_F(NcclProof, HasAllItsMessagesWhereItHasTheTime) {
  if (!full_check()) GTEST_SKIP() << "500,000 messages: in the full check";
  for (const char* kernel : {"nccl.send_recv", "nccl.all_reduce"}) {
    reset_fakes();
    const auto results = run_faulty(kernel, 0, 1, {{"proof_time", "300s"}});
    expect_passed(results);
    for (const Point& point : results[0].points) {
      const std::uint64_t proved = std::stoull(point.facts().at("proved_messages"));
      EXPECT_GE(proved, 500'000U);
      EXPECT_LT(proved, 501'000U);
      // Both ranks get 64 bytes in each call.
      EXPECT_EQ(point.facts().at("proved_bytes"), std::to_string(128 * proved));
    }
    print_corruption(std::string(kernel) + ", all messages", "none", 0, "passed",
                     results[0].points[0].facts().at("proved_messages"));
  }
}

TEST_F(NcclProof, IsOneRoundOfEachSizeWithoutTime) {
  const auto results =
      run_faulty("nccl.all_gather", 0, 1, {{"proof_time", "0s"}, {"sizes", "64,1MiB,16MiB"}});
  expect_passed(results);
  std::vector<std::string> proved;
  for (const Point& point : results[0].points)
    if (point.metric() == "algbw_bytes_per_second" && point.meaning() == "completion")
      proved.push_back(point.facts().at("proved_messages"));
  EXPECT_THAT(proved, ::testing::ElementsAre("512", "8", "1"));
}

TEST_F(NcclProof, FindsFaultsInPlaceToo) {
  for (const char* kernel : {"nccl.all_reduce", "nccl.reduce_scatter", "nccl.all_gather"})
    for (std::size_t fault = 1; fault < kFaults.size(); ++fault) {
      reset_fakes();
      SCOPED_TRACE(std::string(kernel) + " " + kFaults[fault]);
      const auto results =
          run_faulty(kernel, fault, 300, {{"in_place", "true"}, {"proof_time", "0s"}});
      expect_found(results, kernel, "message 2[0-9][0-9] of 64, ", kFaults[fault]);
    }
}

TEST_F(NcclProof, GoesThroughAGraphWhereTheTimedCallsDo) {
  for (std::size_t fault = 0; fault < kFaults.size(); ++fault) {
    reset_fakes();
    SCOPED_TRACE(kFaults[fault]);
    // A faulty message ends the proof; on a busy machine the first comes late.
    const char* time = fault != 0 ? "300s" : "2s";
    const auto results =
        run_faulty("nccl.all_to_all", fault, 3000,
                   {{"mode", "graph"}, {"graph_calls", "7"}, {"proof_time", time}});
    if (fault != 0) {
      expect_found(results, "nccl.all_to_all",
                   "message 2[0-9]+ of 64, slot [0-6]: ", kFaults[fault]);
      continue;
    }
    expect_passed(results);
    EXPECT_THAT(results[0].points[0].facts().at("proved_calls"), HasSubstr("graph"));
  }
}

TEST_F(NcclProof, IsNoneWithoutVerification) {
  const auto results = run_faulty("nccl.broadcast", 0, 1, {{"verify", "false"}});
  expect_passed(results);
  EXPECT_FALSE(results[0].points[0].facts().contains("proved_messages"));
}

// The kept samples' own data: input and wrong bytes are new when they begin.
TEST_F(NcclProof, LooksAtWhatTheTimedCallsLeft) {
  for (const char* kernel : {"nccl.all_gather", "nccl.pairwise"}) {
    reset_fakes();
    const auto results = run_faulty(kernel, 2, 1, {{"proof_time", "0s"}});
    for (const RankResult& result : results) {
      ASSERT_FALSE(result.status);
      EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
    }
  }
}

}  // namespace
}  // namespace railgauge::nccl
