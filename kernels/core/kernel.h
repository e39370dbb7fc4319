// The interface of a kernel: a declaration (KernelInfo: names, parameters, ranges) and a class with
// three steps. The runner calls prepare (alone), then connect and measure (with the group), and
// then destroys the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/core/base/record.pb.h"
#include "kernels/core/base/result.h"
#include "kernels/core/group/group.h"
#include "kernels/core/params.h"

namespace railgauge {

class Clock;  // kernels/core/base/clock.h

// The receiver of a kernel's results. Points and notes leave as records at once. Not thread safe.
class Reporter {
 public:
  virtual ~Reporter() = default;
  // Reports the figure of one size or pair.
  virtual void point(Point point) = 0;
  // Reports a note. `severity` is "info" or "warning"; `text` is one line for people.
  virtual void note(std::string_view severity, std::string text) = 0;
  // Reports a fact of the task (gid, mtu, path...). Facts are part of Started: call during prepare
  // and connect only.
  virtual void fact(std::string_view name, std::string value) = 0;
};

// The runner's services for a kernel. Everything here outlives the kernel.
struct Context {
  const Params& params;
  Reporter& reporter;
  Clock& clock;
  // "DEV:PORT", "gpuN" or "".
  std::string endpoint;
  // Hard end on CLOCK_MONOTONIC in ns; every wait inside a step ends before it.
  double deadline_monotonic_ns;
  // Whether points carry their samples.
  bool raw_samples;
  // This rank in the task's group; known before connect.
  std::uint32_t rank = 0;
};

// One rank of one measurement. Not thread safe. Errors: outcome_of() in outcome.h maps each code to
// an outcome.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Opens, allocates and registers: everything that needs no peer. Not timed. A kernel finds what
  // the machine lacks here.
  virtual Status prepare(Context& context) = 0;
  // Exchanges addresses and connects. Not timed. Does nothing for a kernel of one rank.
  virtual Status connect(Context& /*context*/, Group& /*group*/) { return {}; }
  // Warms up, measures, verifies; reports one or more points on rank 0.
  virtual Status measure(Context& context, Group& group) = 0;
};

// A row of the catalog: functions that return the declaration and a new, unprepared kernel.
struct KernelRow {
  KernelInfo (*info)();
  std::unique_ptr<Kernel> (*make)();
};

// Returns the row of the kernel `name`, or nullptr when there is none.
using FindKernel = std::function<const KernelRow*(std::string_view name)>;

// The deadline of a task without a stated one.
inline constexpr double kDefaultDeadlineSeconds = 600;

}  // namespace railgauge
