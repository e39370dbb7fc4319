// Tests that need no shape of distribution. Pure: the chance in them comes from `seed`.
#pragma once

#include <cstdint>
#include <span>

namespace railgauge::analysis {

// One-sided p that the mean is above 0 when signs could as well be turned: exact up to 12 values,
// else by 10,000 draws. At least one value.
double sign_flip_p(std::span<const double> values, std::uint64_t seed);

// One-sided p that `treated` has the larger mean when labels could as well be exchanged, by Welch's
// statistic: exact while there are at most 20,000 ways, else by 10,000 draws. At least two values
// each.
double exchange_p(std::span<const double> treated, std::span<const double> controls,
                  std::uint64_t seed);

// A seed from words that name what is tested, the same on every machine.
std::uint64_t seed_of(std::span<const char> words);

}  // namespace railgauge::analysis
