// The seeded pattern of kernels/memory/host_buffer.h in GPU memory, bit for bit the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge::gpu {

// Fills and compares by a GPU kernel; in a build without device code by copies through host memory,
// which is the same but slow. Synchronous. The GPU's context must be current. Not thread safe.
class Pattern {
 public:
  // Loads the code into the GPU's context. Errors are those of the GPU; missing device code is
  // none.
  static Result<Pattern> create(const Gpu& gpu);

  // Writes the pattern of `seed` to any memory that the device reaches; `memory` is aligned to 8
  // bytes unless it is filled by copies.
  Status fill(cu::DevicePtr memory, std::uint64_t bytes, std::uint64_t seed);
  // Offset of a byte at most 7 bytes before the first difference, or nothing. All bytes are
  // compared.
  Result<std::optional<std::uint64_t>> find_mismatch(cu::DevicePtr memory, std::uint64_t bytes,
                                                     std::uint64_t seed);
  // kDataLoss when the bytes are not the pattern of `seed`: "`what`: verify 8192 bytes: byte 4096
  // is 0x00, expected 0x5c".
  Status verify(cu::DevicePtr memory, std::uint64_t bytes, std::uint64_t seed,
                const std::string& what);

  // Where it runs: "sm_90", or "host": a fact.
  [[nodiscard]] std::string runs_on() const { return code_ ? code_->image() : "host"; }

 private:
  explicit Pattern(const Gpu& gpu) : gpu_(&gpu) {}
  Status launch(cu::Function function, void** arguments);

  // Outlives this.
  const Gpu* gpu_;
  std::optional<LoadedCode> code_;
  cu::Function fill_ = nullptr;
  cu::Function compare_ = nullptr;
  GpuBuffer first_wrong_;
};

}  // namespace railgauge::gpu
