// GPU code of this build: machine code for current GPUs and PTX for all others, made from one .cu
// file by build_device_code.sh, loaded by the driver. A build without nvcc has none of it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/handles.h"

namespace railgauge::gpu {

// Machine code for one compute capability: 90 runs on all 9.x GPUs.
struct CubinImage {
  int capability;
  std::span<const unsigned char> bytes;
};

// The code that the build embeds for one source file; empty without nvcc.
struct DeviceCode {
  const char* name;  // of the source: "kernels/gpu/pattern.cu"
  std::span<const CubinImage> cubins;
  std::span<const unsigned char> ptx;  // ends in a zero byte
  int ptx_version;                     // PTX ISA 3.2 is 32: the lowest that ptxas takes it as
  int ptx_capability;                  // lowest compute capability that it runs on
  int toolkit_version;                 // CUDA release of the compiler: 13000 is 13.0
};

// Lowest CUDA release of a driver that loads our table and reads PTX of `ptx_version` (PTX ISA
// manual, release history; the table ends where our code does). 0 when unknown.
int cuda_release_of_ptx(int ptx_version);
// The Linux driver that came with a CUDA release (CUDA release notes, table of minimum drivers);
// "unknown" for a release that the table lacks.
std::string first_driver_of(int cuda_release);

// The driver that runs all of `codes`: "driver 384.81 (CUDA 9.0) or later", the newest that the PTX
// of one or our table of the driver's functions needs, or "none, built without nvcc". Pure.
std::string driver_needed(std::span<const DeviceCode* const> codes);

// Code in a GPU's context, unloaded with this object under that context. Movable. Not thread safe.
class LoadedCode {
 public:
  // Loads into the context of `gpu`, which is current: machine code where the driver is at least as
  // new as the compiler and the GPU's capability is among them, else PTX, compiled by the driver.
  // Waives (kUnimplemented) with the driver that would do, without nvcc, and for an older GPU.
  static Result<LoadedCode> load(const Gpu& gpu, const DeviceCode& code);

  // The function's handle, valid for as long as the code is loaded. kInternal when the code lacks
  // it.
  [[nodiscard]] Result<cu::Function> function(const char* name) const;
  // "sm_90" or "ptx 3.2 for 3.5, compiled by the driver": a fact.
  [[nodiscard]] const std::string& image() const { return image_; }

 private:
  Module module_;
  std::string image_;
  const char* source_ = "";
};

}  // namespace railgauge::gpu
