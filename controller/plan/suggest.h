// "Did you mean": the nearest of a list of words. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace railgauge::plan {

// The candidate at the smallest edit distance (swapped neighbours count 1) from `word`, when that
// is at most a third of the longer one's length; "" otherwise. Of equals the first.
std::string_view nearest(std::string_view word, std::span<const std::string> candidates);

// "; did you mean X", or "" when nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace railgauge::plan
