// Several streams of one or more GPUs, started together by one gate and stamped by their own
// events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/handles.h"
#include "kernels/gpu/timing.h"

namespace railgauge::cuda {

// The lanes of one measurement. Movable. Not thread safe.
class Lanes {
 public:
  // The most that a lane may hold behind the closed gate without filling the driver's queue, which
  // would block the caller before it could open the gate.
  static constexpr std::uint64_t kMaxQueued = 128;

  // Queues the lane's operation number `operation`, counted from 0 over all runs since the count
  // began.
  using Enqueue = std::function<Status(cu::Stream stream, std::uint64_t operation)>;
  // One lane's work in a run: `marks` times `repeat` operations and an event. The product is at
  // most kMaxQueued, except for a lane of one mark (a load): its remainder is queued once the gate
  // is open.
  struct Quota {
    std::uint64_t marks = 1;
    std::uint64_t repeat = 1;
    [[nodiscard]] std::uint64_t queued_first() const {
      return std::min(marks * repeat, kMaxQueued);
    }
    [[nodiscard]] std::uint64_t queued_later() const { return marks * repeat - queued_first(); }
  };

  // The gate's memory belongs to the current context, which is that of `gpu`; the GPU outlives the
  // lanes. kUnimplemented where the driver has no gate.
  static Result<Lanes> create(const gpu::Gpu& gpu);
  // Adds a lane with a stream of its own. `gpu` is the one whose context queues and runs the
  // operations; it outlives the lanes too.
  Status add(const gpu::Gpu& gpu, Enqueue enqueue);

  // Runs one operation of each lane, one lane after the other, without a gate: what a driver does
  // at the first use of a function or a copy (loading it, say) would wait for ever behind one.
  Status touch(double deadline_monotonic_ns);
  // One lane's times in ns after the opening: its begin and each of its marks, ascending.
  struct Passed {
    double opened_ns = 0;
    std::vector<double> marks_ns{};
  };
  // Queues everything on every lane, opens the gate, waits for all. Gives when each lane began and
  // passed its marks, in ns after the opening of its GPU's first lane: streams that share a
  // hardware queue take turns, and the later ones begin when the others have ended. Lanes of
  // different GPUs pass the gate within a few us.
  Result<std::vector<Passed>> run(const std::vector<Quota>& quotas, double deadline_monotonic_ns);

  // For operations that return when they are done (pageable memory): the first lane only, without
  // a gate, by the CPU's clock; its stream is waited for before each mark.
  Result<std::vector<double>> run_by_cpu(const TickClock& clock, const Quota& quota,
                                         double deadline_monotonic_ns);

  // Operations that were queued on the lane since the count began.
  [[nodiscard]] std::uint64_t operations(std::size_t lane) const {
    return lanes_[lane]->operations;
  }
  // Every lane's next operation is number 0 again.
  void restart_count() {
    for (auto& lane : lanes_) lane->operations = 0;
  }

 private:
  // A stream, its events (the first is the opening) and its count. Stream and events are destroyed
  // under their own context.
  struct Lane {
    const gpu::Gpu* gpu = nullptr;
    Enqueue enqueue;
    gpu::Stream stream;
    std::vector<gpu::Event> events;
    std::uint64_t operations = 0;
    ~Lane() {
      // Its stream and events are destroyed under their own context.
      if (gpu != nullptr) static_cast<void>(gpu->make_current());
    }
  };

  explicit Lanes(gpu::StreamGate gate) : gate_(std::move(gate)) {}
  static Status stamp(Lane& lane, std::size_t event);
  static Status operate(Lane& lane);
  Status queue(Lane& lane, const Quota& quota);
  Status queue_all(const std::vector<Quota>& quotas);
  Status queue_rest(const std::vector<Quota>& quotas, double deadline_monotonic_ns);
  Result<Passed> read_marks(Lane& lane, std::uint64_t marks, double deadline_monotonic_ns);
  void drain(double deadline_monotonic_ns);

  std::vector<std::unique_ptr<Lane>> lanes_;
  // Declared last, so that it opens before the streams are destroyed.
  gpu::StreamGate gate_;
};

}  // namespace railgauge::cuda
