// The equipment of every GPU in a copy measurement: the pattern for verification and, for SM
// copies, the device code.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/kernel.h"
#include "kernels/cuda/route/area.h"
#include "kernels/cuda/route/plan.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/pattern.h"
#include "kernels/memory/host_buffer.h"

namespace railgauge::cuda {

// The unit that moves the bytes.
enum class Engine : std::uint8_t {
  kCopyEngine,  // the driver's copy call
  kSm,          // the GPU's threads load and store
  kTma,         // bulk asynchronous copies through shared memory, one thread a block
  kMulticast,   // the GPU's threads; their stores reach all GPUs of a multicast team
  kSmBoth,      // SM threads; one kernel moves half of the bytes each way
  kSmBothAgain  // the same, each word kTimesAgain times before the next
};
// Reports whether one launch moves bytes in both directions.
inline bool moves_both_ways(Engine engine) {
  return engine == Engine::kSmBoth || engine == Engine::kSmBothAgain;
}
// Moves of each word by kSmBothAgain, as in nvbandwidth.
inline constexpr unsigned kTimesAgain = 16;

// One kit for each GPU of a session. The GPUs outlive it. Not thread safe.
class Kits {
 public:
  // Loads code into each GPU's context and keeps the contexts while a KeepWarm lives. SM engines
  // waive when the build or the driver has no device code. Leaves the first GPU's context current.
  static Result<Kits> create(std::span<const gpu::Gpu> gpus, Engine engine);
  // Reports pattern_code and path; for SM engines also copy_code and copy_threads (the grid of a
  // launch).
  void report_facts(Reporter& reporter) const;

  // One copy of `bytes` by the threads or the engines of `runs_on`. For engines that move both
  // ways, `bytes` is the total: odd units of 512 bytes go from source to target, even ones back.
  struct Copy {
    const gpu::Gpu* runs_on;
    cu::DevicePtr target;
    cu::DevicePtr source;
    std::uint64_t bytes;
    std::uint64_t beside = 1;  // copies that run on this GPU at once, this one among them
  };
  // Queues the copy on `stream` of its GPU, whose context is current.
  Status copy(const Copy& copy, cu::Stream stream) const;
  // Returns the blocks of a kSm, kTma or kMulticast launch when `beside` copies run on the GPU at
  // once; 0 for other engines.
  [[nodiscard]] unsigned copy_blocks(const gpu::Gpu& gpu, std::uint64_t beside) const;

  // Fills the first `bytes` with the pattern of `seed`. Changes the current context.
  Status fill(const Area& area, std::uint64_t bytes, std::uint64_t seed);
  // Fills both areas with the pattern of `seed`, except for the units that come from the other
  // area.
  Status fill_both(const gpu::Gpu& runs_on, const Area& target, const Area& source,
                   std::uint64_t bytes, std::uint64_t seed);
  // Returns kDataLoss when the first `bytes` are not the pattern of `seed`.
  Status verify(const Area& area, std::uint64_t bytes, std::uint64_t seed);
  // Verifies after `copies` copies through the slots of `rotation`: their bytes are the pattern of
  // `source_seed` at their place, all others still the pattern of `target_seed`.
  Status verify_slots(const Area& area, const Rotation& rotation, std::uint64_t copies,
                      std::uint64_t source_seed, std::uint64_t target_seed);

 private:
  // The kernels of copy.cu in one context, and the grid that fills the GPU.
  struct CopyCode {
    gpu::LoadedCode code;
    cu::Function copy = nullptr;
    cu::Function copy_both = nullptr;
    cu::Function copy_both_again = nullptr;
    cu::Function clear_units = nullptr;
    unsigned blocks = 1;
  };
  // A GPU's equipment; its module is unloaded under its own context.
  struct Kit {
    const gpu::Gpu* gpu;
    gpu::Pattern pattern;
    std::optional<CopyCode> code;
    ~Kit() { static_cast<void>(gpu->make_current()); }
  };

  static Result<CopyCode> load_code(const gpu::Gpu& gpu);
  static Result<CopyCode> load_tma_code(const gpu::Gpu& gpu);
  static Result<CopyCode> load_multicast_code(const gpu::Gpu& gpu);
  static Status fill_grid(const gpu::Gpu& gpu, unsigned threads, CopyCode& code);
  // Grid and block of a one-dimensional launch.
  struct Shape {
    unsigned blocks;
    unsigned threads;
  };
  static Status launch(const Kit& kit, cu::Function function, const Shape& shape, void** arguments,
                       cu::Stream stream);
  static Status launch_both(const Kit& kit, const Copy& copy, bool again, cu::Stream stream);
  [[nodiscard]] Kit& kit_of(const gpu::Gpu& gpu) const;
  Status clear_units(const Kit& kit, const Area& area, std::uint64_t bytes, unsigned parity) const;

  // Returns at least `bytes` of the pattern in host memory. Grows the store, never shrinks it.
  Result<std::span<const std::byte>> host_pattern(std::uint64_t seed, std::uint64_t bytes);

  Engine engine_ = Engine::kCopyEngine;
  std::vector<std::unique_ptr<Kit>> kits_;
  // By seed, because patterns are slow to make.
  std::map<std::uint64_t, HostBuffer> host_patterns_;
};

// Returns the first byte of `seen` that differs from `base` or, within the copies of `copy_bytes`
// bytes that begin at `offsets` (ascending, apart), from `written`; absent when none does. Pure.
std::optional<Mismatch> first_difference(std::span<const std::byte> seen,
                                         std::span<const std::byte> base,
                                         std::span<const std::byte> written,
                                         std::span<const std::uint64_t> offsets,
                                         std::uint64_t copy_bytes);

}  // namespace railgauge::cuda
