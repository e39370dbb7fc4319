// Selects the unaligned pieces that bar.sanity copies. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace railgauge::bar {

// A piece of a mapping, and its place in the host buffer at the other end of the copy.
struct Piece {
  // In the mapping, in bytes.
  std::size_t offset = 0;
  std::size_t bytes = 0;
  // In a page-aligned host buffer; below 64, so that all alignments occur.
  std::size_t host_offset = 0;
};

// Bytes around each piece that must remain unchanged.
inline constexpr std::size_t kGuardBytes = 64;

// Returns pieces that start beside each width of a copy routine's steps (1 to 64 bytes), beside
// pages of 4 KiB and GPU pages of 64 KiB, with lengths beside the same marks. Each piece and its
// guards fit in `window_bytes`; host offsets cover all alignments.
std::vector<Piece> unaligned_pieces(std::size_t window_bytes);

// Returns the bytes that unaligned_pieces() needs for all of its pieces.
std::size_t unaligned_window_bytes();

}  // namespace railgauge::bar
