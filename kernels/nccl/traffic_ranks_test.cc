// The all-to-all with unequal parts, and the hypercube, between ranks on the fakes.
#include "kernels/core/base/outcome.h"
#include "kernels/nccl/testing/on_fake_ranks.h"

namespace railgauge::nccl {
namespace {

using ::testing::HasSubstr;

class UnequalParts : public OnFakeRanks {};

TEST_F(UnequalParts, OfAMatrixArriveAndTheLongestCounts) {
  const auto results =
      run("nccl.all_to_all_v", 3,
          {{"traffic", "0 4096 16; 1024 0 0; 0 64 0"}, {"sizes", "4160"}, {"datatype", "uint8"}});
  expect_passed(results);
  for (const Point& point : results[0].points) {
    EXPECT_TRUE(point.verified());
    EXPECT_EQ(
        point.facts().at("proved_bytes"),
        std::to_string((4096 + 16 + 1024 + 64) * std::stoull(point.facts().at("proved_messages"))));
    EXPECT_FALSE(point.facts().contains("moved_bytes")) << "rank 1 receives 4,160 bytes";
  }
}

TEST_F(UnequalParts, OfARuleHaveAllTypesAndSpreads) {
  for (const char* spread : {"0", "0.5", "1"})
    for (const char* type : {"uint8", "float64"})
      expect_passed(run("nccl.all_to_all_v", 4,
                        {{"spread", spread}, {"datatype", type}, {"sizes", "8,1000,64KiB"}}));
}

TEST_F(UnequalParts, ThatAMatrixCannotGiveAreRefusedOnAllRanks) {
  const auto results = run("nccl.all_to_all_v", 3, {{"traffic", "1 2; 3 4"}});
  for (const auto& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kInvalidArgument);
    EXPECT_THAT(result.status.error().message, HasSubstr("2 rows; 3 ranks need as many"));
  }
}

TEST_F(UnequalParts, AreFoundWhereOneGoesToTheWrongPlace) {
  fake::nccl_control().fault = 4;  // two results in each other's place
  fake::nccl_control().fault_of = 2;
  fake::nccl_control().fault_every = 5;
  const auto results = run("nccl.all_to_all_v", 3, {{"spread", "0"}});
  for (const auto& result : results) {
    ASSERT_FALSE(result.status);
    EXPECT_EQ(result.status.error().code, Code::kDataLoss) << result.status.error().message;
  }
}

TEST_F(UnequalParts, OfAHypercubeNeedAPowerOfTwo) {
  const auto results = run("nccl.hypercube", 3, {});
  ASSERT_FALSE(results[0].status);
  EXPECT_EQ(outcome_of(results[0].status.error().code), kWaived);
  EXPECT_THAT(results[0].status.error().message,
              HasSubstr("nccl.hypercube on 3 ranks: a hypercube has 2, 4, 8, 16"));
  const auto eight = run("nccl.hypercube", 8, {{"sizes", "64KiB"}});
  expect_passed(eight);
  EXPECT_EQ(eight[0].points.at(0).facts().at("moved_bytes"), "57344") << "seven shares of eight";
  EXPECT_EQ(eight[0].points.at(0).facts().at("shares_bytes"), "65536");
}

}  // namespace
}  // namespace railgauge::nccl
