#include "kernels/nccl/communicator/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railgauge::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Told rank_on(const std::string& host, const std::string& gpu = "") {
  Told told;
  told.set_host(host);
  told.set_gpu(gpu);
  told.set_nccl("2.28.3");
  told.set_parameters("p");
  return told;
}

TEST(Meeting, NumbersTheGpusOfAHostInTheOrderOfItsRanks) {
  Told told;
  number_gpus({rank_on("a"), rank_on("b"), rank_on("a"), rank_on("b")}, told);
  EXPECT_THAT(told.gpus(), ElementsAre(0, 0, 1, 1));
}

TEST(Meeting, LeavesAChosenGpuAlone) {
  Told chosen = rank_on("a");
  chosen.set_chosen(true);
  Told told;
  number_gpus({chosen, rank_on("a"), rank_on("a")}, told);
  EXPECT_THAT(told.gpus(), ElementsAre(0, 0, 1));
}

TEST(Meeting, SendsNoNumbersWhereEachRankIsAlone) {
  Told told;
  number_gpus({rank_on("a"), rank_on("b")}, told);
  EXPECT_TRUE(told.gpus().empty());
}

TEST(Meeting, RefusesTwoRanksOnOneGpu) {
  EXPECT_TRUE(check_gpus({rank_on("a", "GPU-1"), rank_on("b", "GPU-1"), rank_on("a", "GPU-2")}));
  const Status refused =
      check_gpus({rank_on("a", "GPU-1"), rank_on("a", "GPU-2"), rank_on("a", "GPU-1")});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("ranks 0 and 2: both use GPU-1"));
}

TEST(Meeting, RefusesOtherParametersAndAnotherNccl) {
  const Told first = rank_on("a");
  EXPECT_TRUE(check_alike({first, rank_on("b")}));
  Told other = rank_on("b");
  other.set_parameters("q");
  EXPECT_THAT(check_alike({first, first, other}).error().message, HasSubstr("rank 2"));
  other = rank_on("b");
  other.set_nccl("2.20.5");
  EXPECT_EQ(check_alike({first, other}).error().code, Code::kFailedPrecondition);
}

// The expected data of a place depends on its offset, so all ranks must use the same places.
TEST(Meeting, TakesTheLargestColdMemoryForAll) {
  Told large = rank_on("a");
  large.set_cold_bytes(200);
  Told small = rank_on("b");
  small.set_cold_bytes(100);
  EXPECT_EQ(cold_bytes_of_all({small, large, rank_on("c")}), 200U);
  EXPECT_EQ(cold_bytes_of_all({}), 0U);
}

TEST(Meeting, HasOneHostIdentityInOneProcess) {
  EXPECT_FALSE(host_identity().empty());
  EXPECT_EQ(host_identity(), host_identity());
}

}  // namespace
}  // namespace railgauge::nccl
