// The one owner of warm-up, batches, stop rule and time cap. A kernel supplies the operation: "run
// it `count` times and append `count` samples". Every appended sample is kept; none is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/core/stats/rate.h"

namespace railgauge {

// The settings of a run; sampler_options() fills them from the parameters.
struct SamplerOptions {
  std::uint64_t min_samples = 1000;
  std::uint64_t max_samples = 100'000;
  // Stops when the median's 95 % interval ends within this share of the median on both sides. The
  // interval is for the median over the whole time that the cap or max_samples allows.
  double relative_half_width = 0.01;
  // The limit of warm-up and measuring together, in nanoseconds.
  double time_cap_ns = 5e9;
  // Exactly this many samples, without stop rule and time cap (profiles of other tools); 0 selects
  // adaptive sampling. A fixed run ends early only at the task's deadline, where its batch fails.
  std::uint64_t fixed_samples = 0;
  // Warms up until two blocks' medians agree within 1 %, or 10 % of the time cap is used.
  bool warm_up = true;
  // Most samples between two decisions of the stop rule.
  std::uint64_t batch = 100;
  // Smallest batch of kept samples, at most `batch`, even where it overruns the time cap by half
  // its own length; but no more than two time caps hold. Limits the number of first samples for
  // operations whose first sample in a batch differs (a GPU that idled).
  std::uint64_t least_batch = 1;
  // The time of one operation in nanoseconds, where the kernel has found it by more than one before
  // the run; 0: the first batch shows it. An operation that is longer than the time cap counts only
  // with it.
  double operation_ns = 0;
  // A batch of several operations below this many nanoseconds did not hang: a busy host stops a
  // process for tenths of a second. Above the time cap it keeps the run from converging.
  double hang_ns = 1e9;
  // Neither the stop rule nor max_samples ends the run before the kept samples took this long, in
  // nanoseconds: a rate must not stop before a rare pause can come.
  double least_measure_ns = 0;
  // How samples make a rate over all time, whose own interval the stop rule then asks for too: not
  // at all, each as the time of an equal amount, or each as the rate of an equal amount.
  enum class Rate : std::uint8_t { kNone, kOfTimes, kOfRates };
  Rate rate = Rate::kNone;
};

// The samples of one run and the reason for its end.
struct Sampled {
  // In the unit of the operation, in time order.
  std::vector<double> samples;
  std::uint64_t warmup_count = 0;
  // Time inside the kept batches.
  double measure_ns = 0;
  // The asked relative_half_width; 0: none was asked.
  double precision = 0;
  // Whether is_precise() held at the end, with at least min_samples; for a rate also
  // is_rate_precise(). It speaks of what the run met: a state or a pause that it did not meet moves
  // other runs.
  bool converged = false;
  // Samples that the time cap and max_samples would have allowed at the measured speed; the
  // interval covers that time.
  double allowed_count = 0;
  // "converged", "iterations" or "time_cap".
  std::string stop_reason;

  // The time of allowed_count samples at the measured speed; 0 without any.
  [[nodiscard]] double allowed_ns() const {
    return samples.empty() ? 0 : measure_ns * allowed_count / static_cast<double>(samples.size());
  }
};

// Makes the stretches of a rate from samples that are `rate`, not kNone. Their times add up to
// measure_ns.
std::vector<Stretch> stretches_of(const Sampled& sampled, SamplerOptions::Rate rate);

// Samples one operation. Not thread safe. The clock outlives it.
class Sampler {
 public:
  // Appends exactly `count` samples to `out`, which already has the capacity: no allocation inside.
  using Batch = std::function<Status(std::uint64_t count, std::vector<double>& out)>;
  // Called once, after the warm-up (or where there is none) and before the first kept sample. Its
  // time does not count. A kernel overwrites its targets here with wrong bytes, so that later
  // verification covers the work of kept samples.
  using Ready = std::function<Status()>;

  Sampler(const Clock& clock, SamplerOptions options) : clock_(clock), options_(options) {}
  // Warms up, then samples until the stop rule, the time cap or the sample limit. Nothing counts
  // after an error: the batch's or `ready`'s own; kDeadlineExceeded without a sample within the
  // cap, where one operation of unknown time takes longer than the cap, and where a batch takes
  // longer than two caps, twice its expected time and hang_ns (it hung, or the clock jumped). A
  // batch above the cap and within these bounds counts, and the run never converges. kInternal
  // where the clock goes back, a sample is no finite number or negative, or the median is 0.
  Result<Sampled> run(const Batch& batch, const Ready& ready = {});

 private:
  const Clock& clock_;
  SamplerOptions options_;
};

}  // namespace railgauge
