// The equipment of every GPU in a copy measurement: the pattern that proves the bytes and, for SM
// copies, the code that copies.
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

// The means by which bytes move.
enum class Engine : std::uint8_t {
  kCopyEngine,  // the driver's copy call
  kSm,          // the GPU's threads load and store
  kSmBoth,      // those, half of the bytes one way and half the other in one kernel
  kSmBothAgain  // the same, each word kTimesAgain times before the next
};
// Whether one launch moves bytes in both directions.
inline bool moves_both_ways(Engine engine) {
  return engine == Engine::kSmBoth || engine == Engine::kSmBothAgain;
}
// Moves of each word by kSmBothAgain, as nvbandwidth has them.
inline constexpr unsigned kTimesAgain = 16;

// One kit for each GPU of a session. The GPUs outlive it. Not thread safe.
class Kits {
 public:
  // Loads code into each GPU's context and makes them stay while a KeepWarm lives. SM engines waive
  // where the build or the driver has no device code. The first GPU's context is current
  // afterwards.
  static Result<Kits> create(std::span<const gpu::Gpu> gpus, Engine engine);
  // Adds pattern_code and path; for SM engines also copy_code and copy_threads (the grid of a
  // launch).
  void report_facts(Reporter& reporter) const;

  // One copy of `bytes` by the threads or the engines of `runs_on`. Engines that move both ways:
  // `bytes` in total, odd units of 512 bytes from source to target, even ones back.
  struct Copy {
    const gpu::Gpu* runs_on;
    cu::DevicePtr target;
    cu::DevicePtr source;
    std::uint64_t bytes;
    std::uint64_t beside = 1;  // copies that run on this GPU at once, this one among them
  };
  // Queues it on `stream` of its GPU, whose context is current.
  Status copy(const Copy& copy, cu::Stream stream) const;
  // The blocks that kSm launches where `beside` copies run on the GPU at once; 0 for the other
  // engines.
  [[nodiscard]] unsigned copy_blocks(const gpu::Gpu& gpu, std::uint64_t beside) const;

  // The first `bytes` become the pattern of `seed`. Changes the current context.
  Status fill(const Area& area, std::uint64_t bytes, std::uint64_t seed);
  // Both areas become the pattern of `seed`, less the units that come from the other one.
  Status fill_both(const gpu::Gpu& runs_on, const Area& target, const Area& source,
                   std::uint64_t bytes, std::uint64_t seed);
  // kDataLoss when the first `bytes` are not the pattern of `seed`.
  Status verify(const Area& area, std::uint64_t bytes, std::uint64_t seed);
  // The same where `copies` copies went through the slots of `rotation`: their bytes are the
  // pattern of `source_seed` at their place, all others still that of `target_seed`.
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
  // The grid and the block of a launch, one-dimensional.
  struct Shape {
    unsigned blocks;
    unsigned threads;
  };
  static Status launch(const Kit& kit, cu::Function function, const Shape& shape, void** arguments,
                       cu::Stream stream);
  static Status launch_both(const Kit& kit, const Copy& copy, bool again, cu::Stream stream);
  [[nodiscard]] Kit& kit_of(const gpu::Gpu& gpu) const;
  Status clear_units(const Kit& kit, const Area& area, std::uint64_t bytes, unsigned parity) const;

  // At least `bytes` of the pattern in host memory. Grows the store, never shrinks it.
  Result<std::span<const std::byte>> host_pattern(std::uint64_t seed, std::uint64_t bytes);

  Engine engine_ = Engine::kCopyEngine;
  std::vector<std::unique_ptr<Kit>> kits_;
  // By seed; they take long to make.
  std::map<std::uint64_t, HostBuffer> host_patterns_;
};

// The first byte of `seen` that is not `base`'s, or `written`'s within the copies of `copy_bytes`
// bytes that begin at `offsets` (ascending, apart). Nothing: all are right. Pure.
std::optional<Mismatch> first_difference(std::span<const std::byte> seen,
                                         std::span<const std::byte> base,
                                         std::span<const std::byte> written,
                                         std::span<const std::uint64_t> offsets,
                                         std::uint64_t copy_bytes);

}  // namespace railgauge::cuda
