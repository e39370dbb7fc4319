// Building blocks of GPU time by events: streams, events, and a gate that holds streams until a
// whole batch is queued, so that no sample includes queueing time.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/handles.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::gpu {

// Make a stream or an event in the current context. Errors as gpu_status().
Result<Stream> make_stream(const Gpu& gpu);
Result<Event> make_event(const Gpu& gpu);

// Returns when the event is reached. Polls at first, then sleeps 50 us between two looks.
// kDeadlineExceeded at `deadline_monotonic_ns`, with `act` in its message. Errors of earlier work
// in the stream appear here.
Status wait_for(const Gpu& gpu, const Event& event, double deadline_monotonic_ns,
                std::string_view act);

// Makes streams of any GPU wait for a word of host memory; release() frees all of them within a few
// us of each other. Uses the driver's stream memory operations, so needs no device code. Not thread
// safe. kUnimplemented where the driver lacks the operation or has it disabled: the default before
// CUDA 11.7, unless the module was loaded with NVreg_EnableStreamMemOPs=1.
class StreamGate {
 public:
  static Result<StreamGate> create(const Gpu& gpu);
  StreamGate(StreamGate&&) = default;
  StreamGate& operator=(StreamGate&&) = default;
  ~StreamGate() { release(); }  // or the stream's destruction would wait for ever

  // Queues the wait; the stream's context must be current.
  Status hold(const Gpu& gpu, cu::Stream stream);
  // Opens the gate for every stream held since the last release.
  void release();

 private:
  explicit StreamGate(PinnedBuffer word) : word_(std::move(word)) {}

  PinnedBuffer word_;
  // Releases so far. The next hold waits for generation_ + 1.
  std::uint32_t generation_ = 0;
};

}  // namespace railgauge::gpu
