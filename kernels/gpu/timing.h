// The parts of GPU time by events: streams, events, and a gate that holds streams until a whole
// batch is queued, so that the time to queue it is in no sample.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/handles.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::gpu {

// A stream and an event of the current context. Errors as gpu_status().
Result<Stream> make_stream(const Gpu& gpu);
Result<Event> make_event(const Gpu& gpu);

// Returns when the event was reached. Polls at first, then sleeps 50 us between two looks.
// kDeadlineExceeded at `deadline_monotonic_ns`, with `act` in its message; an error of earlier work
// of the stream shows here.
Status wait_for(const Gpu& gpu, const Event& event, double deadline_monotonic_ns,
                std::string_view act);

// Streams of any GPU wait for a word of host memory; release() lets all of them go within a few us
// of each other. The driver's stream memory operations do it, so no device code is needed. Not
// thread safe. kUnimplemented where the driver has no such operation, or has it turned off, as
// those before CUDA 11.7 have unless their module was loaded with NVreg_EnableStreamMemOPs=1.
class StreamGate {
 public:
  static Result<StreamGate> create(const Gpu& gpu);
  StreamGate(StreamGate&&) = default;
  StreamGate& operator=(StreamGate&&) = default;
  ~StreamGate() { release(); }  // or the stream's destruction would wait for ever

  // Queues the wait; the stream's context must be current.
  Status hold(const Gpu& gpu, cu::Stream stream);
  // Opens for every stream that was held since the last release.
  void release();

 private:
  explicit StreamGate(PinnedBuffer word) : word_(std::move(word)) {}

  PinnedBuffer word_;
  // Releases so far. The next hold waits for generation_ + 1.
  std::uint32_t generation_ = 0;
};

}  // namespace railgauge::gpu
