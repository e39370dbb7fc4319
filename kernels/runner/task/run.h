// The run of one rank of one task: prepare, wait for the others, connect, measure, tear down, write
// the final record. The same under an agent, between two terminals, and alone.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"
#include "kernels/core/params.h"
#include "kernels/runner/task/record_writer.h"

namespace railgauge {

// One rank's work, checked and ready to run. `row` lives as long as the process.
struct Task {
  const KernelRow& row;
  Params params;
  std::string endpoint;
  // CLOCK_MONOTONIC.
  double deadline_monotonic_ns = 0;
  bool raw_samples = false;
  // 0: unknown.
  double spawned_monotonic_ns = 0;
  // The time of this process's first statement; 0: unknown.
  double entered_monotonic_ns = 0;
  // Known before the kernel runs.
  std::map<std::string, std::string> facts = {};
};

// Called once when prepare has ended, with its result. Returns when this rank may continue: on an
// agent's "go", or when the peer is ready. After a failed prepare the answer is ignored.
using Ready = std::function<Status(const Status& prepared)>;

// Runs the kernel once. Never throws: an exception of a kernel becomes an error. The final record
// is written last, after the kernel is torn down, unless the caller reports the error to peers
// first. Returns the error that decides the outcome.
Status run_kernel(const Task& task, Group& group, RecordWriter& records, const Ready& ready);

// kInternal: the clock drifted by more than TickClock::kMaxDriftPpm (parts per million), so its
// figures are invalid. This is no fault of the fabric, so the outcome is crashed, not failed.
Status drift_status(std::string_view source, double drift_ppm);

// Returns the part of the started record that is known before the kernel runs: the declaration, the
// effective parameters, the facts of the task. The group has `ranks` ranks.
Started started_of(const Task& task, std::uint32_t ranks);

// Returns the seconds until the deadline; negative past it.
inline double left_seconds(double deadline_monotonic_ns) {
  return (deadline_monotonic_ns - monotonic_now_ns()) / 1e9;
}

// Writes the final record for the result of run_kernel(); returns the exit code.
int finish_task(const Status& ended, RecordWriter& records);

}  // namespace railgauge
