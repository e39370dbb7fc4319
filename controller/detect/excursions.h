// Short pieces that are nothing but spikes which happened to fall together. Pure.
#pragma once

#include "controller/detect/fit.h"

namespace railgauge::analysis {

// Joins a short piece with its neighbours, and names its far values spikes, when the level before
// it comes back and so many of this series' spikes may well fall together; at the end of a series
// likewise. Keeps fit.clipped and fit.sums in step.
void drop_spike_clusters(Fit& fit);

}  // namespace railgauge::analysis
