// Seeded random choices, equal on every machine and with every standard library. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace railgauge::plan {

// Generator and shuffle of our own: std::shuffle and the distributions of <random> differ between
// standard libraries. Not thread safe.
class Seeded {
 public:
  explicit Seeded(std::uint64_t seed) : state_(seed) {}

  // Returns the next number of the sequence, by splitmix64.
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  // Returns a number from 0 to n - 1, uniform up to a bias of n / 2^64. `n` is above 0.
  std::size_t below(std::size_t n) { return next() % n; }

  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace railgauge::plan
