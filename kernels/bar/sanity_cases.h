// Which unaligned pieces bar.sanity copies. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace railgauge::bar {

// A piece of a mapping, with the place in a host buffer that it is copied from or to.
struct Piece {
  // In the mapping, in bytes.
  std::size_t offset = 0;
  std::size_t bytes = 0;
  // In a host buffer that begins on a page; below 64, so that all alignments occur.
  std::size_t host_offset = 0;
};

// Bytes around each piece that must stay as they are.
inline constexpr std::size_t kGuardBytes = 64;

// Starts beside each width that a copy routine steps by (1 to 64 bytes), beside pages of 4 KiB and
// GPU pages of 64 KiB, with lengths beside the same marks. Each piece and its guards lie within
// `window_bytes`; host offsets run through all alignments.
std::vector<Piece> unaligned_pieces(std::size_t window_bytes);

// The bytes that unaligned_pieces() needs for all of its pieces.
std::size_t unaligned_window_bytes();

}  // namespace railgauge::bar
