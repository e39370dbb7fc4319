// GPU code of this build: machine code for current GPUs and PTX for all others, made from one .cu
// file by build_device_code.sh and loaded by the driver. A build without nvcc has no such code.
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
  int ptx_version;                     // 32 is PTX ISA 3.2: the lowest at which ptxas accepts it
  int ptx_capability;                  // lowest compute capability that it runs on
  int toolkit_version;                 // CUDA release of the compiler: 13000 is 13.0
  const char* lacking = "";            // what the build had not, where there is no code: "nvcc"
};

// Returns the lowest CUDA release whose driver loads our table and reads PTX of `ptx_version` (PTX
// ISA manual, release history; the table ends at our newest code). 0 when unknown.
int cuda_release_of_ptx(int ptx_version);
// Returns the Linux driver that came with a CUDA release (CUDA release notes, table of minimum
// drivers), or "unknown" for a release that the table lacks.
std::string first_driver_of(int cuda_release);

// Returns the driver that runs all of `codes`: "driver 384.81 (CUDA 9.0) or later", the newest that
// any PTX or our table of driver functions needs, or "none, built without nvcc". Pure.
std::string driver_needed(std::span<const DeviceCode* const> codes);

// Code loaded in a GPU's context; the destructor unloads it there. Movable. Not thread safe.
class LoadedCode {
 public:
  // Loads into the context of `gpu`, which is current: machine code when the driver is at least as
  // new as the compiler and the code covers the GPU's capability, else PTX, which the driver
  // compiles. Waives (kUnimplemented) without nvcc, for a GPU that is too old, and for a driver
  // that is too old, with the oldest sufficient one.
  static Result<LoadedCode> load(const Gpu& gpu, const DeviceCode& code);

  // Returns the function's handle, valid while the code is loaded. kInternal when the code lacks
  // the function.
  [[nodiscard]] Result<cu::Function> function(const char* name) const;
  // Returns the loaded form for a fact: "sm_90" or "ptx 3.2 for 3.5, compiled by the driver".
  [[nodiscard]] const std::string& image() const { return image_; }

 private:
  Module module_;
  std::string image_;
  std::string source_;  // its GPU and the name of the code
};

}  // namespace railgauge::gpu
