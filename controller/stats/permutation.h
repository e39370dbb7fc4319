// Permutation tests, which assume no shape of distribution. Pure: `seed` decides all draws.
#pragma once

#include <cstdint>
#include <span>

namespace railgauge::analysis {

// Returns the one-sided p of a mean above 0 under random signs: exact up to 12 values, else by
// 10,000 draws. Needs at least one value.
double sign_flip_p(std::span<const double> values, std::uint64_t seed);

// Returns the one-sided p of a larger mean of `treated` under exchanged labels, by Welch's
// statistic: exact for at most 20,000 exchanges, else by 10,000 draws. Needs at least two values in
// each group.
double exchange_p(std::span<const double> treated, std::span<const double> controls,
                  std::uint64_t seed);

// Returns a seed from words that name the tested data; equal on every machine.
std::uint64_t seed_of(std::span<const char> words);

}  // namespace railgauge::analysis
