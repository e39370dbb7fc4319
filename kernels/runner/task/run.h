// The life of one rank of one task: prepare, wait for the others, connect, measure, tear down,
// final record. The same in all forms: under an agent, between two terminals, alone.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/kernel.h"
#include "kernels/core/params.h"
#include "kernels/runner/task/record_writer.h"

namespace railgauge {

struct Task {
  const KernelRow& row;
  Params params;
  std::string endpoint;
  double deadline_monotonic_ns = 0;
  bool raw_samples = false;
  double spawned_monotonic_ns = 0;                // 0: unknown
  double entered_monotonic_ns = 0;                // this process's first statement
  std::map<std::string, std::string> facts = {};  // known before the kernel runs
};

// Hears how prepare ended and answers when to go on: an agent's "go", or the peer's readiness. On a
// failed prepare its answer is ignored.
using Ready = std::function<Status(const Status& prepared)>;

// Runs the kernel once. Never throws: an exception of a kernel becomes an error. The final record
// is written last, after the kernel is torn down, unless the caller reports the error to peers
// first. Returns the error that decides the outcome.
Status run_kernel(const Task& task, Group& group, RecordWriter& records, const Ready& ready);

// kInternal where the clock drifted too far for its figures to count: that says nothing about the
// fabric, so the task crashed and did not fail.
Status drift_status(std::string_view source, double drift_ppm);

// The final record for what run_kernel returned; the exit code.
int finish_task(const Status& ended, RecordWriter& records);

}  // namespace railgauge
