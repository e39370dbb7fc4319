// Message contents that are unique in the task, so that a message that arrives late, twice, or from
// the wrong rank differs from the expected one.
#include "kernels/mpi/data.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "kernels/memory/host_buffer.h"

namespace railgauge::mpi {
namespace {

// Constants of the contents; the multiplier is 2^64 divided by the golden ratio, which spreads
// consecutive numbers over all bits.
constexpr std::uint64_t kSeed = 0x6d7069;
constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;

// Differs for each size, number, rank and block.
std::uint64_t seed_of(const Segment& segment, const Content& content) {
  std::uint64_t seed = kSeed;
  for (const std::uint64_t part : {std::uint64_t{content.size_index}, content.number, content.place,
                                   std::uint64_t{segment.rank}, segment.block})
    seed = (seed ^ part) * kMix + part;
  return seed;
}

// The factors repeat after so many ranks.
constexpr std::uint32_t kFactors = 64;
constexpr std::uint64_t kExactFloats = 1U << 24U;  // whole numbers up to here
constexpr std::uint64_t kLeastValues = 7;

// 1 to 64, of the rank.
std::uint64_t factor_of(std::uint32_t rank) { return rank % kFactors + 1; }
std::uint64_t sum_of_factors(std::uint32_t ranks) {
  constexpr std::uint64_t kOfAll = std::uint64_t{kFactors} * (kFactors + 1) / 2;
  const std::uint64_t rest = ranks % kFactors;
  return ranks / kFactors * kOfAll + rest * (rest + 1) / 2;
}

// The same elements on all ranks; each rank multiplies them with its own factor. Sums stay whole
// numbers below 2^24, which a float holds exactly in any order of adding, for up to some 70,000
// ranks. Fewer ranks have larger numbers, so that two calls hardly ever have equal elements.
class Values {
 public:
  explicit Values(const Content& content)
      : seed_((kSeed + content.size_index) * kMix + content.number * kStep +
              content.place * kPlaceStep),
        count_(std::max(kLeastValues, (kExactFloats - 1) / sum_of_factors(content.ranks))) {}
  [[nodiscard]] float at(std::uint64_t element) const {
    std::uint64_t mixed = seed_ + element * kMix;
    mixed = (mixed ^ (mixed >> 30U)) * kStep;
    return static_cast<float>(1 + (mixed >> 32U) % count_);
  }

 private:
  static constexpr std::uint64_t kStep = 0xbf58476d1ce4e5b9U;
  static constexpr std::uint64_t kPlaceStep = 0x94d049bb133111ebU;
  std::uint64_t seed_;
  std::uint64_t count_;
};

// The first byte that differs from the expected ones.
std::optional<std::string> first_difference(std::span<const std::byte> seen,
                                            std::span<const std::byte> expected,
                                            std::uint64_t offset) {
  const auto [wrong, right] = std::ranges::mismatch(seen, expected);
  if (wrong == seen.end()) return std::nullopt;
  return fmt::format("byte {} is 0x{:02x}, expected 0x{:02x}",
                     offset + static_cast<std::uint64_t>(wrong - seen.begin()), *wrong, *right);
}

// Memory that was kNotReceived, after `calls` that each added the given numbers.
template <class Number>
void add_to_untouched(std::span<std::byte> numbers, std::uint64_t calls) {
  for (std::size_t at = 0; at + sizeof(Number) <= numbers.size(); at += sizeof(Number)) {
    Number added = 0;
    std::memcpy(&added, numbers.data() + at, sizeof added);
    Number value = 0;
    std::memset(&value, static_cast<int>(kNotReceived), sizeof value);
    value += static_cast<Number>(calls) * added;
    std::memcpy(numbers.data() + at, &value, sizeof value);
  }
}

// Memory after calls that each changed it by the segment's content.
std::vector<std::byte> changed(const Segment& segment, const Content& content) {
  std::vector<std::byte> bytes(segment.bytes);
  fill_pattern(bytes, seed_of(segment, content));
  const bool is_before = segment.state == Segment::State::kBefore && content.calls > 0;
  const std::uint64_t calls = content.calls - (is_before ? 1 : 0);
  if (content.effect == Effect::kAddsWords) add_to_untouched<std::uint32_t>(bytes, calls);
  if (content.effect == Effect::kAddsNumbers) add_to_untouched<std::uint64_t>(bytes, calls);
  if (content.effect == Effect::kSwaps && calls % 2 == 0) std::ranges::fill(bytes, kNotReceived);
  return bytes;
}

// A segment of a reduction is whole floats.
std::uint64_t float_count(const Segment& segment) { return segment.bytes / sizeof(float); }

}  // namespace

// Floats are copied byte by byte: a segment may begin at any offset.
void fill_segment(std::span<std::byte> memory, const Segment& segment, const Content& content) {
  const auto bytes = memory.subspan(segment.offset, segment.bytes);
  if (segment.state == Segment::State::kUntouched) {
    std::ranges::fill(bytes, kNotReceived);
    return;
  }
  if (!content.reduces) return fill_pattern(bytes, seed_of(segment, content));
  const Values values(content);
  const auto factor = static_cast<float>(factor_of(segment.rank));
  for (std::uint64_t i = 0; i < float_count(segment); ++i) {
    const float value = values.at(segment.block + i) * factor;
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
}

// Sums are compared exactly, which Values and factor_of() make possible.
std::optional<std::string> wrong_in(std::span<const std::byte> memory, const Segment& segment,
                                    const Content& content) {
  const auto bytes = memory.subspan(segment.offset, segment.bytes);
  if (content.effect != Effect::kReplaces)
    return first_difference(bytes, changed(segment, content), segment.offset);
  if (!content.reduces) {
    const auto wrong = find_mismatch(bytes, seed_of(segment, content));
    if (!wrong) return std::nullopt;
    return fmt::format("byte {} is 0x{:02x}, expected 0x{:02x}", segment.offset + wrong->offset,
                       wrong->seen, wrong->expected);
  }
  const Values values(content);
  const auto factor = static_cast<float>(sum_of_factors(content.ranks));
  for (std::uint64_t i = 0; i < float_count(segment); ++i) {
    const float expected = values.at(segment.block + i) * factor;
    float seen = 0;
    std::memcpy(&seen, bytes.data() + i * sizeof seen, sizeof seen);
    if (seen != expected) return fmt::format("element {} is {}, expected {}", i, seen, expected);
  }
  return std::nullopt;
}

}  // namespace railgauge::mpi
