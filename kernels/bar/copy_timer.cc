// The timed loop of copies, free of allocation and of branches on the result.
#include "kernels/bar/copy_timer.h"

#include <fmt/format.h>

#include "kernels/core/sampling.h"
#include "kernels/core/text/units.h"

namespace railgauge::bar {

// The hot loop. Only the copy and one clock reading are inside.
void stamp_copies(const TickClock& clock, const TimedCopy& timed, std::uint64_t count,
                  std::uint64_t* stamps) {
  stamps[0] = clock.ticks();
  for (std::uint64_t sample = 1; sample <= count; ++sample) {
    for (std::uint64_t i = 0; i < timed.repeat; ++i) timed.copy(timed.to, timed.from, timed.bytes);
    stamps[sample] = clock.ticks();
  }
}

// Compares CLOCK_MONOTONIC with the deadline, between two batches.
Status check_deadline(const Context& context, const char* act) {
  if (monotonic_now_ns() < context.deadline_monotonic_ns) return {};
  return fail(Code::kDeadlineExceeded, fmt::format("{}: not done at the task's deadline", act));
}

// The stamps are allocated once, for the largest batch.
Result<Sampled> sample_copies(Context& context, gpu::Session& session,
                              const SamplerOptions& options, const TimedCopy& timed,
                              SampleUnit unit, const Sampler::Ready& ready,
                              const std::function<Status()>& before_each) {
  const TickClock& clock = tick_clock(context);
  std::vector<std::uint64_t> stamps(options.batch + 1);
  const auto copies = static_cast<double>(timed.repeat);
  const auto bytes = static_cast<double>(timed.bytes);
  const auto batch = [&](std::uint64_t count, std::vector<double>& out) -> Status {
    RG_CHECK(count < stamps.size());
    RG_TRY_OK(check_deadline(context, "copy through the BAR"));
    if (!before_each) stamp_copies(clock, timed, count, stamps.data());
    for (std::uint64_t i = 0; i < count; ++i) {
      if (before_each) {
        RG_TRY_OK(before_each());
        stamps[i] = clock.ticks();
        timed.copy(timed.to, timed.from, timed.bytes);
        stamps[i + 1] = clock.ticks();
      }
      const double one_ns = clock.to_ns(stamps[i + 1] - stamps[i]) / copies;
      out.push_back(unit == SampleUnit::kNanoseconds ? one_ns : bytes / one_ns * 1e9);
    }
    return {};
  };
  return session.sample(context, options, batch, ready);
}

}  // namespace railgauge::bar
