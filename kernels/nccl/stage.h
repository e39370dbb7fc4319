// One rank's side of the measurement: stream, events, buffers, and the timed batches. All ranks
// must run the same batches. Calls wait for other ranks, so a Worker makes them.
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
#include "kernels/core/proof/proof_plan.h"
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
  // Captures the work that `queue` puts onto the stream. kUnimplemented when the driver lacks
  // graphs (CUDA 11.4 is the first with the required calls). Capturing ends even after an error.
  static Result<Graph> capture(const gpu::Gpu& gpu, cu::Stream stream,
                               const std::function<Status()>& queue);

  // Reports whether there is a graph to launch.
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

  // Made from the graph, and released before it.
  Handle<GraphTraits> graph_;
  Handle<ExecutableTraits> executable_;
};

// Who allocates the buffers of a call, and whether NCCL knows them before the call.
enum class BufferKind : std::uint8_t { kPlain, kAllocated, kRegistered, kSymmetric };
// Read a word of the parameter `registered`, and write the fact `buffers`.
BufferKind kind_of_buffers(std::string_view word);
const char* words_of(BufferKind kind);
// Returns kPlain in place of kAllocated where this NCCL cannot allocate (before 2.19): nccl-tests
// built with such a release has memory by CUDA too. Others are returned as they are.
BufferKind kind_here(BufferKind asked, const Nccl& nccl);
// The fact `registered` of a task that asked for kAllocated and has `kind`.
std::string registration_words(BufferKind kind, bool is_graph, const Nccl& nccl);

// A buffer on the current context's GPU. Release a registered one before its communicator.
class Buffer {
 public:
  Buffer() = default;
  // Allocates without registration. Errors as GpuBuffer::allocate.
  static Result<Buffer> plain(const gpu::Gpu& gpu, std::uint64_t bytes);
  // Allocates by NCCL, which then registers what a graph captures, without a registration of ours.
  // kUnimplemented when this NCCL cannot (before 2.19).
  static Result<Buffer> allocated(const gpu::Gpu& gpu, std::uint64_t bytes);
  // Allocates and registers. kUnimplemented when this NCCL has no registration (before 2.19).
  static Result<Buffer> registered(const gpu::Gpu& gpu, const Communicator& comm,
                                   std::uint64_t bytes);
  // Allocates for a window; register_window() makes it, on all ranks together with equal sizes.
  // kUnimplemented when this NCCL has no windows (before 2.27), kFailedPrecondition when the ranks'
  // GPUs cannot have one.
  static Result<Buffer> symmetric(const gpu::Gpu& gpu, std::uint64_t bytes);
  Status register_window(const gpu::Gpu& gpu, const Communicator& comm);

  [[nodiscard]] cu::DevicePtr data() const { return data_; }
  // Returns the window that register_window() made.
  [[nodiscard]] nc::Window window() const { return window_.get().window; }
  // Releases the registration; call before the communicator ends.
  void deregister() {
    registration_.reset();
    window_.reset();
  }

 private:
  // Releases ncclMemAlloc's memory by ncclMemFree.
  struct MemoryTraits {
    using Type = void*;
    static Type empty() { return nullptr; }
    static void release(Type memory) {
      note_release("free memory", loaded_nccl().mem_free(memory));
    }
  };
  // The two arguments of ncclCommDeregister.
  struct Registration {
    nc::Comm comm = nullptr;
    void* handle = nullptr;
    bool operator==(const Registration&) const = default;
  };
  struct RegistrationTraits {
    using Type = Registration;
    static Type empty() { return {}; }
    static void release(Type made) {
      note_release("deregister memory", loaded_nccl().comm_deregister(made.comm, made.handle));
    }
  };

  // The two arguments of ncclCommWindowDeregister.
  struct OwnWindow {
    nc::Comm comm = nullptr;
    nc::Window window = nullptr;
    bool operator==(const OwnWindow&) const = default;
  };
  struct WindowTraits {
    using Type = OwnWindow;
    static Type empty() { return {}; }
    static void release(Type made) {
      note_release("deregister a window", loaded_nccl().window_deregister(made.comm, made.window));
    }
  };
  // Memory of ncclMemAlloc.
  static Result<Buffer> by_nccl(const gpu::Gpu& gpu, std::uint64_t bytes);

  GpuBuffer plain_;
  Handle<MemoryTraits> memory_;
  // Declared after the memory, so that they are released first.
  Handle<RegistrationTraits> registration_;
  Handle<WindowTraits> window_;
  cu::DevicePtr data_ = 0;
  std::uint64_t size_ = 0;  // of memory for a window
};

// The operation that a task's parameters select; equal on all ranks except for `rank`.
struct Plan {
  std::uint32_t ranks = 1;
  std::uint32_t rank = 0;
  std::uint32_t root = 0;
  nc::DataType type = nc::kFloat32;
  nc::RedOp reduction = nc::kSum;
  bool in_place = false;
  BufferKind buffers = BufferKind::kPlain;
  std::uint32_t groups = 1;                  // of so many ranks each, at once
  std::uint32_t color = 0;                   // of this rank's group
  std::shared_ptr<const Traffic> traffic{};  // of an operation that has one
  bool verify = true;
  // Memory through which the timed calls move, each way, in bytes; 0: all in one place.
  std::uint64_t cold_bytes = 0;
  std::uint64_t graph_calls = 0;  // in one graph; 0: without graphs
  std::uint64_t aggregate = 1;    // calls in one group of NCCL
  // The longest time of a sample, in ns.
  double stall_timeout_ns = 0;
};

// Not thread safe; its GPU's context must be current. All references passed in outlive it.
class Stage {
 public:
  // Makes buffers for shares of each of `counts` elements, and for their proofs' slots. Waives when
  // memory is lacking. After an error the communicator is still alive.
  static Result<std::unique_ptr<Stage>> create(const gpu::Gpu& gpu, const TickClock& clock,
                                               const Operation& operation, const Plan& plan,
                                               Communicator& comm, Progress& progress,
                                               const std::vector<std::uint64_t>& counts);
  ~Stage();
  // Registers symmetric memory, once all ranks have theirs: the call waits for all of them.
  Status register_windows();

  // Begins shares of `count` elements: fills fresh data and makes the first calls, which may
  // connect.
  Status begin_size(std::uint64_t count);
  // Fills the receive buffer with wrong bytes and the send buffer with its input, another one each
  // time. All ranks do so equally often.
  Status reset_data();
  // Takes `count` samples by events, in ns an iteration: each is the mean of `repeat` iterations in
  // a row. With graphs, `repeat` counts launches.
  Status batch(std::uint64_t count, std::uint64_t repeat, std::vector<double>& samples_ns);
  // Takes one sample by the CPU's clock: queues `count` iterations, waits, and divides; in ns.
  Status wall(std::uint64_t count, std::vector<double>& samples_ns);
  // Makes one call, never by a graph, and waits for it.
  Status call();
  // Makes one more call (with graphs, one more launch) after reset_data(), on all ranks together,
  // and waits for it. Data of the measured calls would be right even if the last one did nothing.
  Status call_to_verify();
  // Returns kDataLoss when what the last calls received is wrong: each place that they wrote since
  // reset_data(), or the latest of many. Does not wait for other ranks.
  Status check_data();
  // Makes the calls of a proof's round, each with input of its own in a slot of its own, and
  // compares all results; kDataLoss names the first wrong call and its fault. With a graph the
  // calls are one graph's. All ranks together.
  Status prove(const ProofRound& round);

  // Aborts the communicator, which ends waits for other ranks; nothing can run any more.
  void give_up();
  // Ends the communicator orderly, with all ranks.
  Status finish();

  [[nodiscard]] std::string data_runs_on() const { return data_ ? data_->runs_on() : ""; }
  // Returns the calls in a sample of a batch.
  [[nodiscard]] std::uint64_t calls_in_sample() const {
    return (plan_.graph_calls == 0 ? 1 : plan_.graph_calls) * plan_.aggregate;
  }

  // Most samples of one batch: each needs an event, and one more marks the beginning.
  static constexpr std::uint64_t kMaxBatch = 64;

 private:
  Stage(const gpu::Gpu& gpu, const TickClock& clock, const Operation& operation, const Plan& plan,
        Communicator& comm, Progress& progress);
  Status allocate(const std::vector<std::uint64_t>& counts);
  [[nodiscard]] Share share(std::uint64_t count) const;
  // The call whose buffers begin so many bytes into the memory.
  [[nodiscard]] Call call_at(std::uint64_t bytes) const;
  // The call of a proof's slot.
  [[nodiscard]] Call call_in(std::uint64_t slot) const { return call_at(slot * stride_bytes_); }
  // Steps of prove().
  Status begin_round(const ProofRound& round);
  Status run_round(const ProofRound& round);
  Status queue_checks(const ProofRound& round);
  Status judge_round(const ProofRound& round);
  Status describe_round(const ProofRound& round, std::uint64_t slot, const Segment& wrong);
  [[nodiscard]] Values values_of(std::uint64_t number) const;
  [[nodiscard]] std::string what() const;
  // Another one for each size, and for each group of ranks: data of another group is wrong data.
  [[nodiscard]] std::uint64_t seed_of_size(std::uint64_t count) const;
  Status queue_one();
  Status queued(nc::Return returned);
  Status queue_call();
  Status queue_sample();
  // Puts `queue` into one group of NCCL, where calls are aggregated.
  Status in_group(const std::function<Status()>& queue);
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
  Buffer receive_;  // in place: empty, send_ has all data
  Buffer aligner_;
  std::optional<Data> data_;
  gpu::Stream stream_;
  std::vector<gpu::Event> events_;
  Graph graph_;
  // A proof's: its graph, the distance of two slots in bytes, and a word for each segment of each
  // slot, where the checks write.
  Graph proof_graph_;
  std::uint64_t stride_bytes_ = 0;
  GpuBuffer found_;
  std::vector<Segment> segments_;  // of the size's result
  Call call_;                      // of the first place
  // The places of a size's timed calls, one after the other in memory: each call moves to the next.
  std::uint64_t places_ = 1;
  std::uint64_t place_bytes_ = 0;
  std::uint64_t next_place_ = 0;
  std::uint64_t used_places_ = 0;  // since reset_data(), up to the one before the next
  Values values_;
  std::uint64_t fills_ = 0;  // of reset_data(), in this size
  // Set once the stage owns the communicator's end too.
  bool whole_ = false;
};

}  // namespace railgauge::nccl
