// Version numbers as people write them, compared part by part. Pure.
#pragma once

#include <string_view>
#include <vector>

namespace railgauge::agent {

// The first run of digits and points: {24, 10, 0} of "MLNX_OFED_LINUX-24.10-0.7.0" is {24, 10}; of
// "6.8.0-48-generic" {6, 8, 0}. Empty when there is no number.
std::vector<unsigned> version_of(std::string_view text);
// Missing parts count as 0. False when `text` has no number.
bool at_least(std::string_view text, std::string_view least);

}  // namespace railgauge::agent
