#include "kernels/nccl/traffic.h"

#include <gmock/gmock.h>

namespace railgauge::nccl {
namespace {

using ::testing::HasSubstr;

TEST(Traffic, GrowsWithTheDistanceOfTheRanksAsInNcclTests) {
  const Traffic far = Traffic::by_distance(1, 4, 4);
  constexpr std::uint64_t kCount = 6 * 64;  // six parts: one, two and three of them
  EXPECT_EQ(far.part(0, 0, kCount), 0U);
  EXPECT_EQ(far.part(0, 1, kCount), 64U);
  EXPECT_EQ(far.part(0, 2, kCount), 128U);
  EXPECT_EQ(far.part(0, 3, kCount), 192U);
  EXPECT_EQ(far.part(3, 0, kCount), 64U) << "the ranks are a ring";
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(far.sent(rank, kCount), kCount);
    EXPECT_EQ(far.received(rank, kCount), kCount);
  }
  EXPECT_EQ(far.most(kCount), kCount);
  const Traffic even = Traffic::by_distance(0, 4, 4);
  for (std::uint32_t to = 0; to < 4; ++to) EXPECT_EQ(even.part(1, to, kCount), kCount / 4);
}

TEST(Traffic, OfOneRankIsItsOwnAndOfAFewBytesIsNotNothing) {
  EXPECT_EQ(Traffic::by_distance(1, 1, 4).part(0, 0, 10), 8U) << "down to 16 bytes";
  const Traffic small = Traffic::by_distance(1, 5, 4);
  EXPECT_GT(small.most(2), 0U);
  EXPECT_EQ(small.part(0, 4, 2), 1U);
}

TEST(Traffic, OfAMatrixIsItsBytesWhereTheSizeIsItsHighestTotal) {
  constexpr const char* kMatrix = "1024 2048 512\n512,1024,768\n 3072 1536 2048\n";
  const std::uint64_t bytes = *Traffic::matrix_bytes(kMatrix, 3);
  EXPECT_EQ(bytes, 3072U + 1536 + 2048);
  const auto traffic = Traffic::by_matrix(kMatrix, 3, 1);
  ASSERT_TRUE(traffic) << traffic.error().message;
  EXPECT_EQ(traffic->part(0, 1, bytes), 2048U);
  EXPECT_EQ(traffic->part(1, 2, bytes), 768U);
  EXPECT_EQ(traffic->part(2, 0, bytes), 3072U);
  EXPECT_EQ(traffic->received(1, bytes), 2048U + 1024 + 1536);
  EXPECT_EQ(traffic->most(bytes), bytes);
  EXPECT_EQ(traffic->part(2, 0, 2 * bytes), 2 * 3072U) << "a size scales it";
  EXPECT_EQ(*Traffic::matrix_bytes(kMatrix, 2), 1024U + 2048) << "the first ranks alone";
}

TEST(Traffic, SaysWhatIsWrongWithAMatrix) {
  const auto refusal = [](std::string_view text, std::uint32_t ranks) {
    const auto read = Traffic::by_matrix(text, ranks, 4);
    EXPECT_FALSE(read);
    return read ? "" : read.error().message;
  };
  EXPECT_THAT(refusal("1 2; 3", 2), HasSubstr("row 2 has 1 numbers; the matrix has 2 rows"));
  EXPECT_THAT(refusal("1 2; 3 x", 2), HasSubstr("row 2: \"x\" is no whole number"));
  EXPECT_THAT(refusal("1 -2; 3 4", 2), HasSubstr("\"-2\" is no whole number"));
  EXPECT_THAT(refusal("1 2; 3 4", 3), HasSubstr("2 rows; 3 ranks"));
  EXPECT_THAT(refusal("0 0; 0 0", 2), HasSubstr("are 0"));
  EXPECT_THAT(refusal("", 1), HasSubstr("0 rows; 1 ranks"));
  EXPECT_THAT(refusal("9999999999999999999999", 1), HasSubstr("no whole number"));
}

}  // namespace
}  // namespace railgauge::nccl
