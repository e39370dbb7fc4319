#include "kernels/bar/sanity_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace railgauge::bar {
namespace {

TEST(UnalignedPieces, LieWithTheirGuardsInTheWindow) {
  for (const std::size_t window : {std::size_t{2048}, unaligned_window_bytes()})
    for (const Piece& piece : unaligned_pieces(window)) {
      EXPECT_GE(piece.offset, kGuardBytes);
      EXPECT_LE(piece.offset + piece.bytes + kGuardBytes, window);
      EXPECT_GT(piece.bytes, 0U);
    }
}

TEST(UnalignedPieces, ReachTheEndOfTheWindowThatIsAskedFor) {
  std::size_t end = 0;
  for (const Piece& piece : unaligned_pieces(unaligned_window_bytes()))
    end = std::max(end, piece.offset + piece.bytes + kGuardBytes);
  EXPECT_EQ(end, unaligned_window_bytes());
}

TEST(UnalignedPieces, HoldEachAlignmentAndLengthThatARoutineStepsBy) {
  std::set<std::size_t> odd_starts;
  std::set<std::size_t> lengths;
  std::set<std::size_t> host;
  for (const Piece& piece : unaligned_pieces(unaligned_window_bytes())) {
    odd_starts.insert(piece.offset % 64);
    lengths.insert(piece.bytes);
    host.insert(piece.host_offset);
  }
  for (const std::size_t start : {0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63})
    EXPECT_TRUE(odd_starts.contains(start)) << start;
  for (const std::size_t bytes : {1, 2, 3, 7, 15, 31, 63, 64, 65, 65535, 65537})
    EXPECT_TRUE(lengths.contains(bytes)) << bytes;
  EXPECT_EQ(host.size(), 64U);
  EXPECT_LT(*host.rbegin(), 64U);
}

TEST(UnalignedPieces, CrossAPageAndAGpuPageFromAnUnalignedStart) {
  const auto pieces = unaligned_pieces(unaligned_window_bytes());
  for (const std::size_t page : {4096, 65536})
    EXPECT_TRUE(std::ranges::any_of(pieces, [page](const Piece& piece) {
      return piece.offset % 8 != 0 && piece.offset < page && piece.offset + piece.bytes > page;
    })) << page;
}

TEST(UnalignedPieces, OfAWindowWithoutRoomAreNone) {
  EXPECT_TRUE(unaligned_pieces(2 * kGuardBytes).empty());
}

}  // namespace
}  // namespace railgauge::bar
