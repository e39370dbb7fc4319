// The statistics that a task reports of its samples, from the distribution that the samples would
// have: no sample is drawn, except where a suite asks for them. Pure; thread safe.
#pragma once

#include <cstdint>

#include "agent/fleet/model/keyed_random.h"
#include "kernels/core/base/record.pb.h"

namespace railgauge::fleet {

// The samples of one size. A sample is the figure times a factor of median 1 whose slow tail is the
// longer one; pauses and lost packets add to some of them.
struct SampleShape {
  // Median of the samples: nanoseconds, or a rate.
  double figure = 0;
  bool is_rate = false;
  // Standard deviation of the samples within the task, as a share of the figure.
  double spread = 0.01;
  double count = 1'000;
  double measure_ns = 1e9;
  // Pauses in the time measured, and the length of each.
  double pauses = 0;
  double pause_ns = 0;
  // Share of the samples that wait for a packet to be sent again, and how long they wait.
  double resent_share = 0;
  double resend_ns = 0;
  bool raw_samples = false;
};

// Fills every statistic of `point`. Those that too few samples would bound stay absent, by the
// rules of kernels/core/stats. `key` draws the error of the estimates.
void fill_statistics(const SampleShape& shape, const DrawKey& key, Point& point);

}  // namespace railgauge::fleet
