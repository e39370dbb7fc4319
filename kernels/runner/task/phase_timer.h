// The durations of a task's phases, counted from the request for its process.
#pragma once

#include <algorithm>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/record.pb.h"
#include "kernels/runner/task/record_writer.h"
#include "kernels/runner/task/run.h"

namespace railgauge {

// A timer of laps on CLOCK_MONOTONIC, in ns, each passed to the records at once.
class PhaseTimer {
 public:
  PhaseTimer(RecordWriter& records, const Task& task) : records_(records) {
    if (task.spawned_monotonic_ns > 0)
      phases_.set_start_ns(std::max(0.0, task.entered_monotonic_ns - task.spawned_monotonic_ns));
    last_ns_ = task.entered_monotonic_ns > 0 ? task.entered_monotonic_ns : monotonic_now_ns();
    records_.phases(phases_);
  }
  // Stores the time since the previous lap, in ns, by the setter `set`.
  void lap(void (Phases::*set)(double)) {
    const double now = monotonic_now_ns();
    (phases_.*set)(now - last_ns_);
    last_ns_ = now;
    records_.phases(phases_);
  }

 private:
  // Receives the phases after each lap, so that a crash keeps the earlier ones.
  RecordWriter& records_;
  Phases phases_;
  double last_ns_ = 0;
};

}  // namespace railgauge
