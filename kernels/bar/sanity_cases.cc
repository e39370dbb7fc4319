// Starts and lengths beside each width of a routine's step or of a page.
#include "kernels/bar/sanity_cases.h"

#include <algorithm>
#include <array>

namespace railgauge::bar {
namespace {

// Pages of the host and of the GPU, in bytes.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kGpuPage = 65536;

// Offsets from the mapping's beginning, after the guard.
constexpr std::array<std::size_t, 22> kStarts{
    0,  1,  2,  3,  4,  7,  8,         9,     15,           16,       17,
    31, 32, 33, 63, 64, 65, kPage - 1, kPage, kGpuPage - 1, kGpuPage, kGpuPage + 1};
// Lengths in bytes.
constexpr std::array<std::size_t, 22> kLengths{
    1,  2,  3,  4,  7,  8,   9,    15,        16,        17,           31,
    32, 33, 63, 64, 65, 127, 1000, kPage - 1, kPage + 1, kGpuPage - 1, kGpuPage + 1};

}  // namespace

// Every start with every length that fits into the window.
std::vector<Piece> unaligned_pieces(std::size_t window_bytes) {
  std::vector<Piece> pieces;
  for (const std::size_t start : kStarts)
    for (const std::size_t bytes : kLengths) {
      const std::size_t offset = kGuardBytes + start;
      if (offset + bytes + kGuardBytes > window_bytes) continue;
      // 37 is odd: every alignment of the host's side comes in turn.
      pieces.push_back({offset, bytes, 37 * pieces.size() % 64});
    }
  return pieces;
}

std::size_t unaligned_window_bytes() {
  return 2 * kGuardBytes + std::ranges::max(kStarts) + std::ranges::max(kLengths);
}

}  // namespace railgauge::bar
