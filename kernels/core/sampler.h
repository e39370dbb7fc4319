// The one owner of warm-up, batches, stop rule and time cap. A kernel supplies the operation: "do
// `count` of it and append `count` samples". Every sample that it appends is
// kept; none is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"

namespace railgauge {

struct SamplerOptions {
  std::uint64_t min_samples = 1000;
  std::uint64_t max_samples = 100'000;
  double relative_half_width = 0.01;  // stop when the 95 % interval of the median is this narrow
  double time_cap_ns = 5e9;           // of warm-up and measuring together
  // Exactly this many samples, no stop rule and no time cap (profiles of other tools); 0 is
  // adaptive. The batch bounds a fixed run's time: it fails at the task's deadline.
  std::uint64_t fixed_samples = 0;
  bool warm_up = true;        // until two blocks' medians agree within 1 %, or 10 % of the cap
  std::uint64_t batch = 100;  // samples between two decisions
  // At most `batch`; of samples that are kept no fewer at once, though the time cap be passed by
  // half as much: an operation whose first sample differs where its batch begins (a GPU that idled)
  // then has few such.
  std::uint64_t least_batch = 1;
};

struct Sampled {
  std::vector<double> samples;  // in the unit of the operation, in time order
  std::uint64_t warmup_count = 0;
  double measure_ns = 0;
  bool converged = false;
  std::string stop_reason;  // "converged", "iterations", "time_cap"
};

class Sampler {
 public:
  // Appends exactly `count` samples to `out`, which has the capacity already: no allocation inside.
  using Batch = std::function<Status(std::uint64_t count, std::vector<double>& out)>;
  // Called once, after the warm-up (also where there is none) and before the first kept sample. Its
  // time counts for nothing. A kernel makes its targets wrong here, so that what it verifies later
  // is the work of kept samples.
  using Ready = std::function<Status()>;

  Sampler(const Clock& clock, SamplerOptions options) : clock_(clock), options_(options) {}
  // Warms up, then samples until the stop rule, the time cap or the count. Errors are the batch's
  // own, or `ready`'s; zero samples within the cap is kDeadlineExceeded.
  Result<Sampled> run(const Batch& batch, const Ready& ready = {});

 private:
  const Clock& clock_;
  SamplerOptions options_;
};

}  // namespace railgauge
