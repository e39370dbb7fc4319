// One rank's side of the measuring: stream, events and buffers, and the batches that are timed on
// them. All ranks must run the same batches. Its calls wait for other ranks: a Worker makes them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/clock.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"
#include "kernels/dl/cuda.h"
#include "kernels/dl/nccl.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/handles.h"
#include "kernels/memory/gpu_buffer.h"
#include "kernels/nccl/communicator/team.h"
#include "kernels/nccl/communicator/worker.h"
#include "kernels/nccl/data.h"
#include "kernels/nccl/operation.h"

namespace railgauge::nccl {

// A CUDA graph of NCCL calls. Empty until capture().
class Graph {
 public:
  // Captures the work that `queue` puts onto the stream. kUnimplemented where the driver has no
  // graphs (CUDA 11.4 is the first with the calls needed). The stream captures no more, also after
  // an error.
  static Result<Graph> capture(const gpu::Gpu& gpu, cu::Stream stream,
                               const std::function<Status()>& queue);

  // Whether there is a graph to launch.
  explicit operator bool() const { return static_cast<bool>(executable_); }
  Status launch(const gpu::Gpu& gpu, cu::Stream stream) const;

 private:
  // Errors of a release are counted and printed, since a destructor returns nothing.
  struct GraphTraits {
    using Type = cu::Graph;
    static Type empty() { return nullptr; }
    static void release(Type graph) {
      gpu::note_release("destroy the graph", loaded_cuda().graph_destroy(graph));
    }
  };
  struct ExecutableTraits {
    using Type = cu::GraphExec;
    static Type empty() { return nullptr; }
    static void release(Type graph) {
      gpu::note_release("destroy the executable graph", loaded_cuda().graph_exec_destroy(graph));
    }
  };

  // The executable graph is made of the other one, and is released before it.
  Handle<GraphTraits> graph_;
  Handle<ExecutableTraits> executable_;
};

// A buffer of the current context's GPU. A registered one must end before its communicator does.
class Buffer {
 public:
  Buffer() = default;
  // Errors as GpuBuffer::allocate.
  static Result<Buffer> plain(const gpu::Gpu& gpu, std::uint64_t bytes);
  // kUnimplemented where this NCCL has no registration (before 2.19).
  static Result<Buffer> registered(const gpu::Gpu& gpu, const Communicator& comm,
                                   std::uint64_t bytes);

  [[nodiscard]] cu::DevicePtr data() const { return data_; }
  // Its communicator ends next.
  void deregister() { registration_.reset(); }

 private:
  // ncclMemFree for memory of ncclMemAlloc.
  struct MemoryTraits {
    using Type = void*;
    static Type empty() { return nullptr; }
    static void release(Type memory) { static_cast<void>(loaded_nccl().mem_free(memory)); }
  };
  // ncclCommDeregister needs both.
  struct Registration {
    nc::Comm comm = nullptr;
    void* handle = nullptr;
    bool operator==(const Registration&) const = default;
  };
  struct RegistrationTraits {
    using Type = Registration;
    static Type empty() { return {}; }
    static void release(Type made) {
      static_cast<void>(loaded_nccl().comm_deregister(made.comm, made.handle));
    }
  };

  GpuBuffer plain_;
  Handle<MemoryTraits> memory_;
  // Ends before the memory does: declared after it.
  Handle<RegistrationTraits> registration_;
  cu::DevicePtr data_ = 0;
};

// The operation that a task's parameters select; the same on all ranks but for `rank`.
struct Plan {
  std::uint32_t ranks = 1;
  std::uint32_t rank = 0;
  std::uint32_t root = 0;
  nc::DataType type = nc::kFloat32;
  nc::RedOp reduction = nc::kSum;
  bool in_place = false;
  bool registered = false;
  bool verify = true;
  std::uint64_t graph_calls = 0;  // in one graph; 0: no graph
  // No sample takes longer, in ns.
  double stall_timeout_ns = 0;
};

// Not thread safe; its GPU's context must be current. All that is given by reference outlives it.
class Stage {
 public:
  // With buffers for shares of up to `most` elements. Waives where memory is lacking. After an
  // error the communicator still lives.
  static Result<std::unique_ptr<Stage>> create(const gpu::Gpu& gpu, const TickClock& clock,
                                               const Operation& operation, const Plan& plan,
                                               Communicator& comm, Progress& progress,
                                               std::uint64_t most);
  ~Stage();

  // Shares of `count` elements from now on: fresh data, and the first calls, which may connect.
  Status begin_size(std::uint64_t count);
  // The receive buffer wrong, the send buffer as it must be.
  Status reset_data();
  // `count` samples by events, in ns an iteration: each is the mean of `repeat` iterations in a
  // row; with a graph of as many launches' calls.
  Status batch(std::uint64_t count, std::uint64_t repeat, std::vector<double>& samples_ns);
  // One sample: `count` iterations queued and waited for, by the CPU's clock, in ns, divided.
  Status wall(std::uint64_t count, std::vector<double>& samples_ns);
  // One call, waited for; of graphs it knows nothing.
  Status call();
  // After reset_data(): one more call (of a graph, one more launch), all ranks together, waited
  // for; after the measured calls the data would be right even if the last of them did nothing.
  Status call_to_verify();
  // kDataLoss when the receive buffer is wrong. Waits for nobody.
  Status check_data();

  // Aborts the communicator, and so ends what waits for other ranks; nothing can be run any more.
  void give_up();
  // The orderly end of the communicator, with all ranks.
  Status finish();

  [[nodiscard]] std::string data_runs_on() const { return data_ ? data_->runs_on() : ""; }
  // Calls per sample of a batch.
  [[nodiscard]] std::uint64_t calls_in_sample() const {
    return plan_.graph_calls == 0 ? 1 : plan_.graph_calls;
  }

  // The most samples of one batch: one event is made for each, and one for the beginning.
  static constexpr std::uint64_t kMaxBatch = 64;

 private:
  Stage(const gpu::Gpu& gpu, const TickClock& clock, const Operation& operation, const Plan& plan,
        Communicator& comm, Progress& progress);
  Status allocate(std::uint64_t most);
  [[nodiscard]] Share share(std::uint64_t count) const;
  [[nodiscard]] std::string what() const;
  Status queue_call();
  Status queue_sample();
  Status align();
  Status stamp(std::size_t event);
  Status wait(std::size_t event, std::string_view act, double spin_ns);
  Status capture();

  // Not owned; all outlive the stage.
  const gpu::Gpu* gpu_;
  const TickClock* clock_;
  const Operation* operation_;
  Plan plan_;
  Communicator* comm_;
  Progress* progress_;
  // Registered buffers end before the communicator does.
  Buffer send_;
  Buffer receive_;  // in place: nothing, all is in send_
  Buffer aligner_;
  std::optional<Data> data_;
  gpu::Stream stream_;
  std::vector<gpu::Event> events_;
  Graph graph_;
  Call call_;
  Values values_;
  // From here on its end is the communicator's too.
  bool whole_ = false;
};

}  // namespace railgauge::nccl
