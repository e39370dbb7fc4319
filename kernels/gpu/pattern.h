// The seeded pattern of kernels/memory/host_buffer.h in GPU memory, identical bit for bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/memory/gpu_buffer.h"

namespace railgauge::gpu {

// Fills and compares by a GPU kernel; without device code by copies through host memory, with the
// same result but slower. Synchronous. The GPU's context must be current. Not thread safe.
class Pattern {
 public:
  // Loads the code into the GPU's context. Fails on the GPU's errors; missing device code is not an
  // error.
  static Result<Pattern> create(const Gpu& gpu);

  // Writes the pattern of `seed` to any memory that the device reaches. `memory` is aligned to 8
  // bytes unless copies fill it.
  Status fill(cu::DevicePtr memory, std::uint64_t bytes, std::uint64_t seed);
  // Compares all bytes. Returns the offset of a byte at most 7 bytes before the first difference;
  // absent when all are equal.
  Result<std::optional<std::uint64_t>> find_mismatch(cu::DevicePtr memory, std::uint64_t bytes,
                                                     std::uint64_t seed);
  // Returns kDataLoss when the bytes differ from the pattern of `seed`: "`what`: verify 8192 bytes:
  // byte 4096 is 0x00, expected 0x5c".
  Status verify(cu::DevicePtr memory, std::uint64_t bytes, std::uint64_t seed,
                const std::string& what);

  // Returns the place of execution for a fact: "sm_90", or "host".
  [[nodiscard]] std::string runs_on() const { return code_ ? code_->image() : "host"; }

 private:
  explicit Pattern(const Gpu& gpu) : gpu_(&gpu) {}
  Status launch(cu::Function function, void** arguments);

  // Outlives this object.
  const Gpu* gpu_;
  std::optional<LoadedCode> code_;
  cu::Function fill_ = nullptr;
  cu::Function compare_ = nullptr;
  GpuBuffer first_wrong_;
};

}  // namespace railgauge::gpu
