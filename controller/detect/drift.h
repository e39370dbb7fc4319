// Slow movements: stairs of steps that a line explains better, and slopes that no step shows. Pure.
#pragma once

#include <vector>

#include "controller/detect/fit.h"

namespace railgauge::analysis {

// A level that moves evenly from run `begin` to run `end` (the last one of the movement).
struct Ramp {
  std::size_t begin = 0;
  std::size_t end = 0;
  double before = 0;  // levels on the detector's scale
  double after = 0;
  double deviation = 0;  // standard deviation of after - before
};

// Takes steps out of `fit` that a ramp explains better than they do, and returns the ramps.
std::vector<Ramp> stairs_to_ramps(Fit& fit);

// A slope within the last piece (at most 60 runs of it): Theil and Sen's, when Mann and Kendall's
// test shows it. Appended to `ramps`.
void find_late_drift(const Fit& fit, std::vector<Ramp>& ramps);

}  // namespace railgauge::analysis
