// GPU time by events: a gate holds the stream until a whole batch is queued, so that the time to
// queue it is in no sample.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "kernels/core/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/handles.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::gpu {

// A stream and an event of the current context.
Result<Stream> make_stream(const Gpu& gpu);
Result<Event> make_event(const Gpu& gpu);

// Returns when the event was reached. Looks at it often first, then every 50 us. kDeadlineExceeded
// at `deadline_monotonic_ns`, with `act` in its message; an error of earlier work of the stream
// shows here.
Status wait_for(const Gpu& gpu, const Event& event, double deadline_monotonic_ns,
                std::string_view act);

// Streams of any GPU wait for a word of host memory; release() lets all of them go within a few us
// of each other. The driver's stream memory operations do it, so no device code is needed. Not
// thread safe. kUnimplemented where the driver has no such operation.
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
  std::uint32_t generation_ = 0;  // what the next hold waits for is generation_ + 1
};

// Times operations of one stream, each on its own: event, operation, event, operation ... event.
// The step of an event's clock is about 0.5 us (CUDA's documentation), so `repeat` of a short
// operation can share a sample.
class EventTimer {
 public:
  // What may be queued behind a closed gate without filling the driver's queue, which would block
  // the caller before it could open the gate.
  static constexpr std::uint64_t kMaxQueued = 128;

  static Result<EventTimer> create(const Gpu& gpu);

  // Queues one operation on stream(); any error ends the batch.
  using Enqueue = std::function<Status(cu::Stream stream)>;
  struct Batch {
    std::uint64_t samples = 1;  // at most kMaxQueued / repeat
    std::uint64_t repeat = 1;   // operations in one sample
    double deadline_monotonic_ns = 0;
  };
  // Appends `batch.samples` times in ns, each of one operation (the mean of its `repeat`).
  Status run(const Batch& batch, const Enqueue& enqueue, std::vector<double>& out_ns);

  [[nodiscard]] cu::Stream stream() const { return stream_.get(); }

 private:
  EventTimer(const Gpu& gpu, StreamGate gate) : gpu_(&gpu), gate_(std::move(gate)) {}
  Status queue(const Batch& batch, const Enqueue& enqueue);

  const Gpu* gpu_;  // outlives the timer
  Stream stream_;
  std::vector<Event> events_;
  StreamGate gate_;  // released before the stream is destroyed: declared last
};

}  // namespace railgauge::gpu
