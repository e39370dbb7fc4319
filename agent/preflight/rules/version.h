// Version numbers in free text, compared part by part. Pure.
#pragma once

#include <string_view>
#include <vector>

namespace railgauge::agent {

// Returns the first run of digits and points: {24, 10} for "MLNX_OFED_LINUX-24.10-0.7.0", {6, 8, 0}
// for "6.8.0-48-generic". Empty when there is no number.
std::vector<unsigned> version_of(std::string_view text);
// Whether the version in `text` is `least` or later. Missing parts count as 0. False when `text`
// has no number.
bool at_least(std::string_view text, std::string_view least);

}  // namespace railgauge::agent
