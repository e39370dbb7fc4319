// Warm-up, batches, stop rule and time cap. The clock is read between batches only, so that a
// decision costs no sample.
#include "kernels/core/sampler.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "kernels/core/stats/stats.h"

namespace railgauge {
namespace {

// Relative difference of two blocks' medians below which an operation is warm.
constexpr double kSteady = 0.01;
// Share of the time cap that the warm-up may take.
constexpr double kWarmUpShare = 0.1;
// Share of the time cap between two readings of the clock, at most.
constexpr double kBatchShare = 0.02;
// Growth of the number of samples from one check of the interval to the next: all checks together
// cost a few times the last one.
constexpr double kCheckGrowth = 1.5;
// Measuring between two checks takes at least this many times a check.
constexpr double kCheckCost = 20;
// A batch is planned to take no more time caps than this, whatever its least count; one that takes
// more, and more than as many times its plan, is no measurement.
constexpr double kBatchCaps = 2;
// The same of the pause between two batches, which is no sample's.
constexpr double kPauseCaps = 10;
// The same of both for a fixed count, which has no cap.
constexpr double kLongestBatchNs = 3600e9;
// Samples of a run at most: 128 MiB of doubles.
constexpr std::uint64_t kMaxSamples = 16U << 20U;

// The median of a block, by sorting: blocks are small.
double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return quantile_sorted(values, 0.5);
}

// One run, with the state between its batches.
class Session {
 public:
  Session(const Clock& clock, const SamplerOptions& options, const Sampler::Batch& batch)
      : clock_(clock),
        options_(options),
        batch_(batch),
        begin_ns_(clock.now_ns()),
        last_ns_(begin_ns_) {}

  Status warm_up();
  Status get_ready(const Sampler::Ready& ready);
  Status measure();
  Sampled take() { return std::move(out_); }

 private:
  [[nodiscard]] double elapsed_ns() const { return clock_.now_ns() - begin_ns_; }
  [[nodiscard]] bool is_adaptive() const { return options_.fixed_samples == 0; }
  [[nodiscard]] double expected_ns() const;
  [[nodiscard]] std::uint64_t block_size(double until_ns, std::uint64_t least) const;
  [[nodiscard]] double batch_limit_ns(std::uint64_t count) const;
  Result<double> append(std::uint64_t count, std::vector<double>& samples);
  Status check_clock(const char* act, std::uint64_t count, double limit_ns);
  [[nodiscard]] bool narrow_enough();
  [[nodiscard]] bool is_rate_narrow() const;
  [[nodiscard]] bool is_time_over() const;
  [[nodiscard]] Status check_median() const;

  const Clock& clock_;
  const SamplerOptions& options_;
  const Sampler::Batch& batch_;
  double begin_ns_;
  // The clock's last reading by check_clock().
  double last_ns_;
  // Duration of one operation in the last batch; 0 before the first.
  double operation_ns_ = 0;
  // A batch took longer than the time cap.
  bool passed_cap_ = false;
  Sampled out_;
};

// The time of one operation: by the last batch, else by the kernel's own word; 0: not known.
double Session::expected_ns() const {
  return operation_ns_ > 0 ? operation_ns_ : options_.operation_ns;
}

// The number of operations that end before `until_ns`, estimated from the last batch; at least
// `least` where these do not take kBatchCaps, at most the batch.
std::uint64_t Session::block_size(double until_ns, std::uint64_t least) const {
  const std::uint64_t most = std::max<std::uint64_t>(1, options_.batch);
  least = std::clamp<std::uint64_t>(least, 1, most);
  if (const double one_ns = expected_ns(); is_adaptive() && one_ns > 0) {
    const double in_caps = std::clamp(kBatchCaps * options_.time_cap_ns / one_ns, 1.0,
                                      static_cast<double>(kMaxSamples));
    least = std::min(least, static_cast<std::uint64_t>(in_caps));
  }
  if (operation_ns_ <= 0) return least;
  const double time_ns = std::min(until_ns - elapsed_ns(), kBatchShare * options_.time_cap_ns);
  const double fit = std::clamp(time_ns / operation_ns_, 1.0, static_cast<double>(kMaxSamples));
  return std::clamp(static_cast<std::uint64_t>(fit), least, most);
}

// The longest that a batch may take. One operation of unknown length has the time cap: it may have
// hung. Twice the plan counts where that is more, since a kernel knew of such long operations.
double Session::batch_limit_ns(std::uint64_t count) const {
  if (!is_adaptive()) return kLongestBatchNs;
  const double planned_ns = kBatchCaps * static_cast<double>(count) * expected_ns();
  if (count == 1 && expected_ns() <= 0) return options_.time_cap_ns;
  return std::max({kBatchCaps * options_.time_cap_ns, planned_ns, options_.hang_ns});
}

// Compares the clock with its last reading. `limit_ns` bounds the time since then; a clock that
// jumps makes every figure of the run worthless.
Status Session::check_clock(const char* act, std::uint64_t count, double limit_ns) {
  const double before_ns = std::exchange(last_ns_, clock_.now_ns());
  const double took_ns = last_ns_ - before_ns;
  if (took_ns < 0)
    return fail(Code::kInternal,
                "{} {} operations: the clock went back by {:.3g} s; nothing is counted, see the "
                "kernel's log for its clock source",
                act, count, -took_ns / 1e9);
  if (took_ns > limit_ns)
    return fail(Code::kDeadlineExceeded,
                "{} {} operations took {:.3g} s, beyond the bound of {:.3g} s: the operation hung, "
                "the clock jumped, or time_cap is too short",
                act, count, took_ns / 1e9, limit_ns / 1e9);
  return {};
}

// Runs one batch and returns its duration in ns. A sample that is not finite is a defect of the
// kernel, a negative one of the clock.
Result<double> Session::append(std::uint64_t count, std::vector<double>& samples) {
  const std::size_t before = samples.size();
  const double pause_ns = is_adaptive() ? kPauseCaps * options_.time_cap_ns : kLongestBatchNs;
  RG_TRY_OK(check_clock("the pause before", count, pause_ns));
  const double start_ns = last_ns_;
  RG_TRY_OK(batch_(count, samples));
  RG_TRY_OK(check_clock("a batch of", count, batch_limit_ns(count)));
  const double took_ns = last_ns_ - start_ns;
  passed_cap_ = passed_cap_ || (is_adaptive() && took_ns > options_.time_cap_ns);
  RG_CHECK(samples.size() == before + count);
  for (std::size_t i = before; i < samples.size(); ++i) {
    if (!std::isfinite(samples[i]))
      return fail(Code::kInternal, "sample {} is not a finite number", i);
    if (samples[i] < 0)
      return fail(Code::kInternal, "sample {} is negative ({:.4g}): the clock went back within it",
                  i, samples[i]);
  }
  operation_ns_ = took_ns / static_cast<double>(count);
  return took_ns;
}

// Repeats blocks until two in a row have nearly the same median, or the share of the time cap is
// used.
Status Session::warm_up() {
  const double until_ns = kWarmUpShare * options_.time_cap_ns;
  std::vector<double> block;
  block.reserve(std::max<std::uint64_t>(1, options_.batch));
  std::optional<double> last;
  do {
    const std::uint64_t count = block_size(until_ns, 1);
    block.clear();
    RG_TRY_OK(append(count, block));
    out_.warmup_count += count;
    const double median = median_of(block);
    // A first block of one operation sizes the next; it does not measure steadiness.
    const bool steady = last && std::abs(median - *last) <= kSteady * std::abs(*last);
    if (steady) return {};
    if (out_.warmup_count > 1) last = median;
  } while (elapsed_ns() < until_ns);
  return {};
}

// The time of `ready` is taken out of the run's clock.
Status Session::get_ready(const Sampler::Ready& ready) {
  if (!ready) return {};
  const double start_ns = clock_.now_ns();
  RG_TRY_OK(ready());
  last_ns_ = clock_.now_ns();
  if (last_ns_ < start_ns)
    return fail(Code::kInternal, "before the first sample: the clock went back by {:.3g} s",
                (start_ns - last_ns_) / 1e9);
  begin_ns_ += last_ns_ - start_ns;
  return {};
}

// The stop rule: the interval for the whole allowed time is within the asked share of the median. A
// fixed count is the whole time.
bool Session::narrow_enough() {
  const auto count = static_cast<double>(out_.samples.size());
  out_.allowed_count = count;
  if (is_adaptive() && out_.measure_ns > 0) {
    const double left_ns = std::max(0.0, options_.time_cap_ns - elapsed_ns());
    out_.allowed_count = std::min(std::max(count, static_cast<double>(options_.max_samples)),
                                  count + left_ns * count / out_.measure_ns);
  }
  return is_precise(out_.samples, out_.allowed_count, options_.relative_half_width) &&
         is_rate_narrow();
}

// Pauses scatter the rate over all time and not the median.
bool Session::is_rate_narrow() const {
  if (options_.rate == SamplerOptions::Rate::kNone) return true;
  return is_rate_precise(stretches_of(out_, options_.rate), options_.relative_half_width,
                         out_.allowed_ns());
}

// At the time cap, or where the smallest batch would end further behind it than this moment is
// before it.
bool Session::is_time_over() const {
  const std::uint64_t least =
      std::min(options_.least_batch, std::max<std::uint64_t>(1, options_.batch));
  const bool rounds = least > 1 && !out_.samples.empty();
  const double half_ns = rounds ? static_cast<double>(least) * operation_ns_ / 2 : 0;
  return elapsed_ns() + half_ns >= options_.time_cap_ns;
}

// A figure of 0 is none: an empty operation, or a clock too coarse for it. No sample is negative.
Status Session::check_median() const {
  const auto zeros = std::ranges::count(out_.samples, 0.0);
  if (2 * zeros <= std::ssize(out_.samples)) return {};
  return fail(Code::kInternal,
              "the median of {} samples is 0: the operation moves nothing, or the clock is too "
              "coarse for it",
              out_.samples.size());
}

// Fixed runs end by their count; adaptive ones by the stop rule, the sample limit or the time cap.
Status Session::measure() {
  const bool adaptive = is_adaptive();
  std::uint64_t wanted = adaptive ? options_.max_samples : options_.fixed_samples;
  out_.precision = options_.relative_half_width;
  // A fixed count that is cut would be another measurement: only the task's deadline ends it.
  const double until_ns = adaptive ? options_.time_cap_ns : std::numeric_limits<double>::infinity();
  auto next_check = static_cast<double>(options_.min_samples);
  double next_check_ns = options_.least_measure_ns;
  // Touched now, so that no page fault lands in a timed batch.
  out_.samples.resize(wanted);
  out_.samples.clear();
  out_.stop_reason = "iterations";
  while (out_.samples.size() < wanted) {
    if (adaptive && is_time_over()) {
      out_.stop_reason = "time_cap";
      break;
    }
    // Samples that turn out shorter than expected must not end a rate before its time.
    if (adaptive && out_.samples.size() + options_.batch >= wanted && wanted < kMaxSamples &&
        out_.measure_ns < options_.least_measure_ns) {
      wanted = std::min(kMaxSamples, wanted + wanted / 2 + options_.batch);
      out_.samples.reserve(wanted);
    }
    const std::uint64_t left = wanted - out_.samples.size();
    const std::uint64_t count = std::min(left, block_size(until_ns, options_.least_batch));
    out_.measure_ns += RG_TRY(append(count, out_.samples));
    const auto count_now = static_cast<double>(out_.samples.size());
    if (!adaptive || count_now < next_check || out_.measure_ns < next_check_ns) continue;
    const double check_ns = clock_.now_ns();
    if (narrow_enough() && !passed_cap_) {
      out_.stop_reason = "converged";
      out_.converged = true;
      return check_median();
    }
    next_check = kCheckGrowth * count_now;
    next_check_ns = out_.measure_ns + kCheckCost * (clock_.now_ns() - check_ns);
  }
  if (out_.samples.empty())
    return fail(Code::kDeadlineExceeded,
                "no sample within the time cap of {:.3g} s: {} warm-up operations took {:.3g} s",
                options_.time_cap_ns / 1e9, out_.warmup_count, elapsed_ns() / 1e9);
  const bool narrow = narrow_enough();
  out_.converged =
      narrow && !passed_cap_ && (!adaptive || out_.samples.size() >= options_.min_samples);
  return check_median();
}

}  // namespace

std::vector<Stretch> stretches_of(const Sampled& sampled, SamplerOptions::Rate rate) {
  return rate == SamplerOptions::Rate::kOfTimes
             ? equal_units(sampled.samples, sampled.measure_ns)
             : equal_amounts(sampled.samples, sampled.measure_ns);
}

// The bound protects the allocation below from a wrong parameter.
Result<Sampled> Sampler::run(const Batch& batch, const Ready& ready) {
  const std::uint64_t wanted = std::max(options_.max_samples, options_.fixed_samples);
  if (wanted == 0 || wanted > kMaxSamples || options_.batch > kMaxSamples)
    return invalid("{} samples in batches of {}: 1 to {} are allowed", wanted, options_.batch,
                   kMaxSamples);
  if (!(options_.time_cap_ns > 0) || !std::isfinite(options_.time_cap_ns))
    return invalid("a time cap of {} ns: it must be above 0 and finite", options_.time_cap_ns);
  if (!(options_.relative_half_width > 0))
    return invalid("a precision of {}: it must be above 0", options_.relative_half_width);
  Session session(clock_, options_, batch);
  if (options_.warm_up) RG_TRY_OK(session.warm_up());
  RG_TRY_OK(session.get_ready(ready));
  RG_TRY_OK(session.measure());
  return session.take();
}

}  // namespace railgauge
