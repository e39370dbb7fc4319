// The selection of ranks whose distributions are kept.
#include "kernels/mpi/far_ranks.h"

#include <gmock/gmock.h>

namespace railgauge::mpi {
namespace {

using testing::ElementsAre;

TEST(FarRanks, AllAreKeptWhereTheyFit) {
  EXPECT_THAT(far_ranks({{3}, {1}, {2}}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(far_ranks({}, 3), ElementsAre());
}

TEST(FarRanks, TheLongestAndTheShortestMediansAreKeptInOrderOfRank) {
  const std::vector<std::vector<double>> by_rank{{50}, {10}, {51}, {90, 90, 1}, {49}, {20}, {80}};
  EXPECT_THAT(far_ranks(by_rank, 4), ElementsAre(1, 3, 5, 6));
  EXPECT_THAT(far_ranks(by_rank, 1), ElementsAre(3)) << "a median, not the least sample";
}

TEST(FarRanks, ARankWithoutSamplesIsAmongTheShortest) {
  EXPECT_THAT(far_ranks({{5}, {6}, {}, {7}}, 2), ElementsAre(2, 3));
}

TEST(FarRanks, OfEqualOnesAsManyAreKept) {
  EXPECT_EQ(far_ranks(std::vector<std::vector<double>>(1'000, {5.0}), 64).size(), 64U);
}

}  // namespace
}  // namespace railgauge::mpi
