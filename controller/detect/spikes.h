// One or two runs far from their neighbours: named as spikes and kept from passing for steps. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace railgauge::analysis {

// The running median of 5; the first and last two values have the nearest window.
std::vector<double> running_median(std::span<const double> values);

struct Clipped {
  std::vector<double> values;        // with spikes pulled to `limit` from the running median
  std::vector<std::size_t> indices;  // of those that were pulled
};

// `limit` > 0 in the values' own unit. At least 5 values, else nothing is a spike.
Clipped clip_spikes(std::span<const double> values, double limit);

}  // namespace railgauge::analysis
