// A kernel is a declaration (KernelInfo: names, parameters, ranges) and a class with three steps.
// The runner calls prepare (alone), then connect and measure (with the group), then destroys it.
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

// Where a kernel reports. Points and notes leave as records at once.
class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void point(Point point) = 0;
  virtual void note(std::string_view severity, std::string text) = 0;
  // A fact of the task (gid, mtu, path...): goes into Started, so only during prepare and connect.
  virtual void fact(std::string_view name, std::string value) = 0;
};

// The runner's services for a kernel. Everything outlives it.
struct Context {
  const Params& params;
  Reporter& reporter;
  Clock& clock;
  std::string endpoint;          // "DEV:PORT", "gpuN" or ""
  double deadline_monotonic_ns;  // hard end on CLOCK_MONOTONIC; every wait inside ends before it
  bool raw_samples;
  std::uint32_t rank = 0;  // in the task's group, known before connect
};

// One rank of one measurement. Not thread safe. Errors: kernels/core/base/result.h says which code
// becomes which outcome (`outcome_of` in outcome.h).
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Opens, allocates, registers: everything that needs no peer. Not timed.
  virtual Status prepare(Context& context) = 0;
  // Exchanges addresses and connects. Not timed.
  virtual Status connect(Context& context, Group& group) = 0;
  // Warms up, measures, verifies; reports one or more points on rank 0.
  virtual Status measure(Context& context, Group& group) = 0;
};

// A row of the catalog.
struct KernelRow {
  KernelInfo (*info)();
  std::unique_ptr<Kernel> (*make)();
};

// The row of a kernel's name, or nullptr.
using FindKernel = std::function<const KernelRow*(std::string_view name)>;

// The deadline of a task without a stated one.
inline constexpr double kDefaultDeadlineSeconds = 600;

}  // namespace railgauge
