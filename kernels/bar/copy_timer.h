// Times copies one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/bar/copy_routines.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/kernel.h"
#include "kernels/core/sampler.h"

namespace railgauge::bar {

struct TimedCopy {
  Copy copy = nullptr;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  std::uint64_t repeat = 1;  // copies in one sample
};

// stamps[0] before the first sample, stamps[i] after sample i: one reading of the clock a sample.
// No allocation, no system call where the clock needs none.
void stamp_copies(const TickClock& clock, const TimedCopy& timed, std::uint64_t count,
                  std::uint64_t* stamps);

// Samples of `timed`: nanoseconds of one copy (the mean of its `repeat`), or its bytes per second.
// kDeadlineExceeded between two batches at the context's deadline. `ready` as Sampler::run has it.
enum class SampleUnit : std::uint8_t { kNanoseconds, kBytesPerSecond };
Result<Sampled> sample_copies(const Context& context, const SamplerOptions& options,
                              const TimedCopy& timed, SampleUnit unit, const Sampler::Ready& ready);

// kDeadlineExceeded at the context's deadline; `act` appears in the message.
Status check_deadline(const Context& context, const char* act);

}  // namespace railgauge::bar
