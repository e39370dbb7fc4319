// The geometry of blocks: what one rank sends to another is what that one receives from it.
#include "kernels/mpi/collective/collective.h"

#include <gtest/gtest.h>

namespace railgauge::mpi {
namespace {

TEST(Blocks, AreTheSameSeenFromBothEnds) {
  for (const bool uneven : {false, true})
    for (const std::uint32_t ranks : {2U, 3U, 5U}) {
      const auto share = [&](std::uint32_t rank) {
        return Share{.bytes = 1001, .rank = rank, .ranks = ranks, .uneven = uneven};
      };
      for (std::uint32_t from = 0; from < ranks; ++from)
        for (std::uint32_t to = 0; to < ranks; ++to) {
          const Segment sent = blocks_to(share(from), all_ranks(share(from)), false)[to];
          const Segment got = blocks_from(share(to), all_ranks(share(to)), false)[from];
          EXPECT_EQ(sent.bytes, got.bytes);
          EXPECT_EQ(sent.rank, got.rank);
          EXPECT_EQ(sent.block, got.block);
        }
    }
}

TEST(Blocks, FollowEachOtherWithoutGaps) {
  const Share share{.bytes = 1001, .rank = 1, .ranks = 4, .uneven = true};
  const auto segments = blocks_from(share, all_ranks(share), false);
  std::uint64_t next = 0;
  for (const Segment& segment : segments) {
    EXPECT_EQ(segment.offset, next);
    next += segment.bytes;
  }
  EXPECT_EQ(length_of(segments), next);
  EXPECT_NE(segments[0].bytes, segments[1].bytes);
}

}  // namespace
}  // namespace railgauge::mpi
