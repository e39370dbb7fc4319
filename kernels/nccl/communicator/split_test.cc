#include "kernels/nccl/communicator/split.h"

#include <gmock/gmock.h>

#include <vector>

namespace railgauge::nccl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::uint32_t> colors(std::string_view text) {
  std::vector<std::uint32_t> all;
  const auto split = parse_split(text);
  for (std::uint32_t rank = 0; split && rank < 8; ++rank) all.push_back(split->color(rank));
  return all;
}

TEST(Split, HasTheColorsOfNcclTests) {
  EXPECT_THAT(colors("mod 2"), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_THAT(colors("DIV 4"), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
  EXPECT_EQ(colors("AND 0x1"), colors("%2"));
  EXPECT_EQ(colors("&0b11"), colors("mod 4"));
  EXPECT_THAT(colors("|0x3"), ElementsAre(3, 3, 3, 3, 7, 7, 7, 7));
  EXPECT_THAT(colors(""), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Split, SaysWhatItCanBe) {
  for (const char* wrong :
       {"2", "mod", "mod 0", "/0", "xor 3", "mod 2x", "and 0x", "or 0x80000000"})
    EXPECT_THAT(parse_split(wrong) ? "" : parse_split(wrong).error().message,
                HasSubstr("is not as mod 2"))
        << wrong;
}

TEST(Split, GivesEachRankItsPlaceInAGroup) {
  const auto place = place_of(*parse_split("mod 2"), 6, 5);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->groups, 2U);
  EXPECT_EQ(place->ranks, 3U);
  EXPECT_EQ(place->rank, 2U);
  EXPECT_EQ(place_of({}, 6, 5)->rank, 5U);
  EXPECT_THAT(place_of(*parse_split("mod 2"), 5, 0).error().message,
              HasSubstr("groups of 3 and of 2"));
}

}  // namespace
}  // namespace railgauge::nccl
