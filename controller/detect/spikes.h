// One or two runs far from their neighbours: named as spikes and kept from passing for steps. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "controller/detect/fit.h"

namespace railgauge::analysis {

// The running median of 5; the first and last two values have the nearest window.
std::vector<double> running_median(std::span<const double> values);

struct Clipped {
  // The values; spikes are pulled to `limit` from the running median.
  std::vector<double> values;
  // Indices of the pulled values, ascending.
  std::vector<std::size_t> indices;
};

// `limit` > 0 in the values' own unit. At least 5 values, else nothing is a spike.
Clipped clip_spikes(std::span<const double> values, double limit);

// Joins a short piece with its neighbours, and names its far values spikes, when the level before
// it comes back and so many of this series' spikes may well fall together; at the end of a series
// likewise. Keeps fit.clipped and fit.sums in step.
void drop_spike_clusters(Fit& fit);

}  // namespace railgauge::analysis
