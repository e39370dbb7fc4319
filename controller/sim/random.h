// Random numbers that are equal on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace railgauge::simulator {

// Generator by splitmix64, a well mixed counter. A plain value of 8 bytes: a copy continues the
// same sequence.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // Equal generators give the same numbers from here on.
  bool operator==(const Random&) const = default;
  // Returns the next 64 bits.
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  // Returns a number from 0 to n - 1; n is small compared with 2^32.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>(((bits() >> 32U) * n) >> 32U);
  }
  // Returns a uniform number in (0, 1), without the ends.
  double uniform() { return (static_cast<double>(bits() >> 11U) + 0.5) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// Standard normal numbers from a table of quantiles, exact beyond its ends: some nanoseconds each,
// since a night of simulated fabrics takes 10^11 of them.
// Immutable after construction; thread safe.
class Normal {
 public:
  Normal();
  // One standard normal number; uses one draw, or a few in the tails.
  float operator()(Random& random) const {
    const std::uint64_t bits = random.bits();
    const auto cell = static_cast<std::size_t>(bits >> (64U - kBits));
    if (cell == 0 || cell + 1 == kCells) return tail(random, cell == 0);
    const float part = static_cast<float>((bits >> 16U) & 0xFFFFFFU) * 0x1p-24F;
    return quantiles_[cell] + part * (quantiles_[cell + 1] - quantiles_[cell]);
  }

 private:
  static constexpr unsigned kBits = 14;
  static constexpr std::size_t kCells = 1U << kBits;
  // A number beyond the table; `low` selects the lower tail.
  float tail(Random& random, bool low) const;
  // The lower edge of each cell.
  std::vector<float> quantiles_;
};

}  // namespace railgauge::simulator
