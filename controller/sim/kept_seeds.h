// Outcomes of a bench by seed, kept in a file over many calls: a line a seed, so that a bench of
// hours is measured in parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"

namespace railgauge::simulator {

// One seed of one site and noise.
struct KeptSeed {
  // The site in one word: equal words are equal sites.
  std::string site{};
  // Standard deviation of a figure, in percent.
  double noise = 0;
  std::uint64_t seed = 0;
  // Healthy nights, and how many of them had a confirmed finding or a candidate alone.
  std::uint32_t nights = 0;
  std::uint32_t with_finding = 0;
  std::uint32_t with_candidate = 0;
  // A letter a row of the bench: n named, m not named, w named with a wrong part, x a wrong part
  // alone, - not judged.
  std::string outcomes{};
};

// A letter of KeptSeed::outcomes.
char outcome_letter(bool named, bool wrong);
bool is_named(char letter);
bool is_wrong(char letter);

// The line of a seed, with its newline. `commit` and `date` say which program judged it and when.
std::string line_of(const KeptSeed& seed, std::string_view commit, std::string_view date);

// Reads the lines of a file; a last line without its newline is of a bench that was ended, and is
// left out. kDataLoss: a line that this program did not write, with its number; `rows`: the letters
// that each line must have.
Result<std::vector<KeptSeed>> read_seeds(std::string_view text, std::size_t rows);

}  // namespace railgauge::simulator
