// A CUDA driver without hardware: libcuda-fake.so, loaded through RAILGAUGE_LIBCUDA. GPU memory is
// host memory; a stream is a thread with a queue of work; events have real times; native twins,
// found by function name, replace device code. An unsupported call fails with
// CUDA_ERROR_NOT_SUPPORTED. Points are marked `synthetic`.
//
// Tests link it and control it here; other processes by RAILGAUGE_FAKE_CUDA=NAME=VALUE,... with the
// names below. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace railgauge::fake {

struct CudaControl {
  // Calls since reset() that could fail: all except releases, error texts, and queries of an event
  // or a stream that is not done.
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> fail_call{0};  // this call fails, once; 0: none
  // From this call on all fail, queries and releases too, as with a GPU that is gone; 0: none. A
  // release frees its object nevertheless.
  std::atomic<std::uint64_t> fail_from{0};
  std::atomic<std::uint64_t> fail_error{999};  // with this CUresult

  // Live objects.
  std::atomic<std::int64_t> contexts{0};  // references to primary contexts
  std::atomic<std::int64_t> streams{0};
  std::atomic<std::int64_t> events{0};
  std::atomic<std::int64_t> modules{0};
  std::atomic<std::int64_t> allocations{0};  // of GPU and managed memory, and mapped imports
  std::atomic<std::int64_t> pinned{0};       // allocated or registered host memory
  std::atomic<std::int64_t> externals{0};    // imported memory
  std::atomic<std::int64_t> graphs{0};       // and executable ones
  std::atomic<std::int64_t> physical{0};     // handles of cuMemCreate, and reserved addresses
  [[nodiscard]] std::int64_t live_handles() const;

  std::atomic<std::uint64_t> gpus{2};
  std::atomic<std::uint64_t> mig{0};                 // 1: every GPU is a slice
  std::atomic<std::uint64_t> driver_version{13000};  // CUDA release
  std::atomic<std::uint64_t> capability{90};
  std::atomic<std::uint64_t> total_bytes{8ULL << 30U};  // memory of a GPU
  std::atomic<std::uint64_t> free_bytes{0};             // at most this much is free; 0: no limit
  std::atomic<std::uint64_t> no_stream_memops{0};
  std::atomic<std::uint64_t> no_peer{0};
  std::atomic<std::uint64_t> no_twins{0};  // 1: device code cannot be loaded
  // 1: a byte of every asynchronous copy above 8 bytes is wrong, and the end of a pointer chase.
  std::atomic<std::uint64_t> flip_byte{0};
  std::atomic<std::uint64_t> flip_synchronous{0};  // the same for cuMemcpyHtoD and cuMemcpyDtoH
  // Measurable copies since reset(): on a created stream (by a copy engine or by our device code),
  // launches of the pointer chase, and synchronous copies above 8 bytes.
  std::atomic<std::uint64_t> copies{0};
  std::atomic<std::uint64_t> copy_blocks{0};  // of the last launch among them
  // From this copy on they report success but only take time; 0: none.
  std::atomic<std::uint64_t> drop_copies_from{0};
  // Additional time of an asynchronous copy from the host's memory to a GPU's.
  std::atomic<std::uint64_t> slow_h2d_us{0};
  // When either is not 0, each stream's events have a separate clock, which only asynchronous
  // copies between the host and a GPU advance: times are the test's, on any machine. Copies to the
  // host take a quarter from this number on (from 1); 0: none.
  std::atomic<std::uint64_t> h2d_ns{0};
  std::atomic<std::uint64_t> d2h_ns{0};
  std::atomic<std::uint64_t> d2h_quick_from{0};
  std::atomic<std::uint64_t> opens_late_ns{0};  // with these clocks: all streams of a gate but one
  std::atomic<std::uint64_t> d2h_timed{0};      // such copies since reset()
  // This asynchronous copy from the host to a GPU, or the reverse, moves nothing; 0: none.
  std::atomic<std::uint64_t> drop_to_gpu{0};
  std::atomic<std::uint64_t> drop_to_host{0};
  std::atomic<std::uint64_t> copies_to_gpu{0};  // asynchronous ones since reset()
  std::atomic<std::uint64_t> copies_to_host{0};
  std::atomic<std::uint64_t> writes_ordering{200};  // GPU_DIRECT_RDMA_WRITES_ORDERING
  std::atomic<std::uint64_t> no_flush{0};           // 1: the host cannot flush remote writes
  std::atomic<std::uint64_t> flushes{0};            // done since reset()
  // Delay until a running kernel sees the fake wire's writes into GPU memory; a flush by the host
  // or a read by the adapter ends it. 0: no delay.
  std::atomic<std::uint64_t> hold_writes_us{0};
  std::atomic<std::uint64_t> flush_does_nothing{0};  // 1: it reports success nevertheless
  std::atomic<std::uint64_t> dmabuf{1};              // memory can be exported
  std::atomic<std::uint64_t> dmabuf_mmap{0};         // and the export mapped
  std::atomic<std::uint64_t> pcie_mapping{0};        // 1: exports by the PCIe mapping work
  std::atomic<std::uint64_t> coherent{0};            // plain loads and stores reach the GPU
  std::atomic<std::uint64_t> import_other{0};        // 1: imports other memory than exported
  std::atomic<std::uint64_t> fabric{0};              // 1: memory has handles for other nodes
  std::atomic<std::uint64_t> multicast{0};           // 1: GPUs can be of multicast teams
  // A multicast store does not reach the GPU of this number, from 1, or a byte of it is wrong
  // there.
  std::atomic<std::uint64_t> multicast_skips{0};
  std::atomic<std::uint64_t> multicast_flips{0};

  // The release of NCCL whose headers the twins of kernels/nccl/gin are made of.
  std::atomic<std::uint64_t> gin_headers{22809};

  // Resets to the values in RAILGAUGE_FAKE_CUDA; live objects stay.
  void reset();
  // Returns the names of the calls since reset(), in order: call number N is at N - 1.
  [[nodiscard]] std::vector<std::string> call_names() const;
  std::atomic<std::uint64_t> streams_made{0};  // since reset()
  // Returns the stream of each of `copies`, in order: the first made since reset() is 1; 0 is none.
  [[nodiscard]] std::vector<std::uint64_t> copy_streams() const;
};

// Returns the control of the loaded library, one a process.
CudaControl& cuda_control();

// Waits until every stream is idle; false when one is not after `seconds`. Detects a leaked closed
// gate.
bool cuda_idle(double seconds);

}  // namespace railgauge::fake
