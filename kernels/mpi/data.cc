// Message contents that are unique in the task, so that a message that arrives late, twice, or from
// the wrong rank differs from the expected one.
#include "kernels/mpi/data.h"

#include <cstring>

#include <fmt/format.h>

#include "kernels/memory/host_buffer.h"

namespace railgauge::mpi {
namespace {

// Constants of the contents; the multiplier is 2^64 divided by the golden ratio, which spreads
// consecutive numbers over all bits.
constexpr std::uint64_t kSeed = 0x6d7069;
constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
constexpr std::uint64_t kValues = 7;

// Differs for each size, rank and block.
std::uint64_t seed_of(const Segment& segment, std::size_t size_index) {
  std::uint64_t seed = kSeed;
  for (const std::uint64_t part :
       {std::uint64_t{size_index}, std::uint64_t{segment.rank}, segment.block})
    seed = (seed ^ part) * kMix + part;
  return seed;
}

// The factors repeat after so many ranks.
constexpr std::uint32_t kFactors = 64;

// 1 to 7, the same on all ranks; each rank multiplies it with its own factor.
float base_value(std::uint64_t element, std::size_t size_index) {
  return static_cast<float>(1 + (((element + size_index) * kMix) >> 32U) % kValues);
}

// 1 to 64. Sums stay whole numbers below 2^24, which a float holds exactly in any order of adding,
// for up to some 70,000 ranks.
std::uint64_t factor_of(std::uint32_t rank) { return rank % kFactors + 1; }
std::uint64_t sum_of_factors(std::uint32_t ranks) {
  std::uint64_t sum = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += factor_of(rank);
  return sum;
}

// A segment of a reduction is whole floats.
std::uint64_t float_count(const Segment& segment) { return segment.bytes / sizeof(float); }

}  // namespace

// Floats are copied byte by byte: a segment may begin at any offset.
void fill_segment(std::span<std::byte> memory, const Segment& segment, std::size_t size_index,
                  bool reduces) {
  const auto bytes = memory.subspan(segment.offset, segment.bytes);
  if (!reduces) return fill_pattern(bytes, seed_of(segment, size_index));
  for (std::uint64_t i = 0; i < float_count(segment); ++i) {
    const float value =
        base_value(segment.block + i, size_index) * static_cast<float>(factor_of(segment.rank));
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
}

// Sums are compared exactly, which base_value() and factor_of() make possible.
std::optional<std::string> wrong_in(std::span<const std::byte> memory, const Segment& segment,
                                    std::size_t size_index, bool reduces, std::uint32_t ranks) {
  const auto bytes = memory.subspan(segment.offset, segment.bytes);
  if (!reduces) {
    const auto wrong = find_mismatch(bytes, seed_of(segment, size_index));
    if (!wrong) return std::nullopt;
    return fmt::format("byte {} is 0x{:02x}, expected 0x{:02x}", segment.offset + wrong->offset,
                       wrong->seen, wrong->expected);
  }
  const auto factor = static_cast<float>(sum_of_factors(ranks));
  for (std::uint64_t i = 0; i < float_count(segment); ++i) {
    const float expected = base_value(segment.block + i, size_index) * factor;
    float seen = 0;
    std::memcpy(&seen, bytes.data() + i * sizeof seen, sizeof seen);
    if (seen != expected) return fmt::format("element {} is {}, expected {}", i, seen, expected);
  }
  return std::nullopt;
}

}  // namespace railgauge::mpi
