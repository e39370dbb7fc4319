// Synthetic series for tests and the benchmark; equal seeds give equal series on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace railgauge::analysis {

// Normal and uniform numbers with the same sequence under every standard library.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : bits_(seed) {}
  double uniform();  // (0, 1)
  double normal();

 private:
  std::mt19937_64 bits_;
  double spare_ = 0;
  bool has_spare_ = false;
};

enum class Null {
  kGaussian,
  kSkewed,
  kCorrelated,
  kBimodal,
  kSpiky,
  kQuantised,
  kSticky,
  // Harder ones: runs that depend on many before them, bursts of 3 to 6 runs, 8 deviations high, 1
  // of 40 runs beginning one, and a walk, whose level moves by a deviation a run.
  kStronglyCorrelated,
  kBursts,
  kWalk,
};
inline constexpr Null kHarderNulls[] = {Null::kStronglyCorrelated, Null::kBursts, Null::kWalk};
// Without the harder ones.
inline constexpr Null kAllNulls[] = {Null::kGaussian, Null::kSkewed, Null::kCorrelated,
                                     Null::kBimodal,  Null::kSpiky,  Null::kQuantised,
                                     Null::kSticky};
std::string_view name(Null kind);

// Makes a series of `runs` without change, about 100 with a deviation of 1, as in the tables.
std::vector<double> null_series(Null kind, std::size_t runs, std::uint64_t seed);

// Makes `before` runs of normal noise about 100 (deviation 1), then `after` runs higher by `shift`.
std::vector<double> step_series(std::size_t before, std::size_t after, double shift,
                                std::uint64_t seed);

}  // namespace railgauge::analysis
