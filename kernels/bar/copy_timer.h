// Times copies one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/bar/routine/copy_routines.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/gpu/session/session.h"

namespace railgauge::bar {

// A copy as plain values, so that the timed loop reads no kernel object.
struct TimedCopy {
  Copy copy = nullptr;
  // Both ranges have `bytes` bytes and do not overlap.
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  // Copies in one sample; at least 1.
  std::uint64_t repeat = 1;
};

// Copies and stamps: stamps[0] before the first sample, stamps[i] after sample i, one clock reading
// a sample. No allocation, and no system call unless the clock needs one.
void stamp_copies(const TickClock& clock, const TimedCopy& timed, std::uint64_t count,
                  std::uint64_t* stamps);

// The unit of a sample: nanoseconds of one copy (the mean of its `repeat`), or its bytes per
// second.
enum class SampleUnit : std::uint8_t { kNanoseconds, kBytesPerSecond };
// Samples `timed` by the options. kDeadlineExceeded between two batches, at the context's deadline.
// `ready` as in gpu::Session::sample. With `before_each` each sample is one copy behind a call of
// it, which is not timed; an error of it ends the sampling.
Result<Sampled> sample_copies(Context& context, gpu::Session& session,
                              const SamplerOptions& options, const TimedCopy& timed,
                              SampleUnit unit, const Sampler::Ready& ready,
                              const std::function<Status()>& before_each = {});

// Returns kDeadlineExceeded after the context's deadline; `act` appears in the message.
Status check_deadline(const Context& context, const char* act);

}  // namespace railgauge::bar
