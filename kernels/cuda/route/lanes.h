// Several streams of one or more GPUs, started together by one gate and timed by events of their
// own.
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
  // Most operations of a lane behind the closed gate. More would fill the driver's queue, which
  // blocks the caller before it can open the gate.
  static constexpr std::uint64_t kMaxQueued = 128;

  // Queues the lane's operation number `operation`, counted from 0 over all runs since the last
  // restart_count().
  using Enqueue = std::function<Status(cu::Stream stream, std::uint64_t operation)>;
  // One lane's work in a run: `marks` times `repeat` operations and an event. The product is at
  // most kMaxQueued; only a lane of one mark (a load) may have more, queued after the gate opens.
  struct Quota {
    std::uint64_t marks = 1;
    std::uint64_t repeat = 1;
    [[nodiscard]] std::uint64_t queued_first() const {
      return std::min(marks * repeat, kMaxQueued);
    }
    [[nodiscard]] std::uint64_t queued_later() const { return marks * repeat - queued_first(); }
  };

  // Makes the gate in the current context, which is `gpu`'s; the GPU outlives the lanes.
  // kUnimplemented when the driver has no gate.
  static Result<Lanes> create(const gpu::Gpu& gpu);
  // Adds a lane with its own stream. The context of `gpu` queues and runs the operations; the GPU
  // outlives the lanes.
  Status add(const gpu::Gpu& gpu, Enqueue enqueue);

  // Runs one operation of each lane in turn, without a gate: work that a driver does at the first
  // use of a function or a copy (loading, for example) would wait for ever behind a gate.
  Status touch(double deadline_monotonic_ns);
  // One lane's times in ns after the opening: its begin and each mark, ascending.
  struct Passed {
    double opened_ns = 0;
    std::vector<double> marks_ns{};
    // Returns the marks in ns after the lane's own begin.
    [[nodiscard]] std::vector<double> own_marks_ns() const {
      std::vector<double> own = marks_ns;
      for (double& mark : own) mark -= opened_ns;
      return own;
    }
  };
  // Lets the next run() open its gate at this time, or at once where that has passed.
  void open_at(double monotonic_ns) { open_at_ns_ = monotonic_ns; }
  // Returns when the last run() opened its gate, on CLOCK_MONOTONIC.
  [[nodiscard]] double opened_monotonic_ns() const { return opened_ns_; }
  // Queues all work on every lane, opens the gate and waits. Returns each lane's begin and marks in
  // ns after the earliest begin of a lane on its GPU: streams that share a hardware queue take
  // turns, in any order, and later ones begin when earlier ones have ended. Lanes of different GPUs
  // pass the gate within a few us.
  Result<std::vector<Passed>> run(const std::vector<Quota>& quotas, double deadline_monotonic_ns);

  // Runs only the first lane, without a gate and by the CPU's clock, for operations that return
  // when complete (pageable memory). Waits for the stream before each mark.
  Result<std::vector<double>> run_by_cpu(const TickClock& clock, const Quota& quota,
                                         double deadline_monotonic_ns);

  // Returns the lane's operations since restart_count().
  [[nodiscard]] std::uint64_t operations(std::size_t lane) const {
    return lanes_[lane]->operations;
  }
  // Restarts every lane's operation number at 0.
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
  void count_from_opening(std::vector<Passed>& passed) const;
  void drain(double deadline_monotonic_ns);

  std::vector<std::unique_ptr<Lane>> lanes_;
  double open_at_ns_ = 0;
  double opened_ns_ = 0;
  // Declared last, so that the gate opens before the streams are destroyed.
  gpu::StreamGate gate_;
};

}  // namespace railgauge::cuda
