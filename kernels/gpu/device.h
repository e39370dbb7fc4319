// One GPU as a task uses it: found, its primary context retained, its facts read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/handles.h"

namespace railgauge::gpu {

// One GPU with its primary context retained. Movable. Not thread safe, except for the constant
// queries.
class Gpu {
 public:
  // `endpoint` is "gpuN", N counted by PCI address among the GPUs that CUDA shows; "" is gpu0.
  // Waives (kNotFound, kFailedPrecondition) without a driver or a GPU, for an index out of range,
  // for a slice of a partitioned GPU (MIG). Leaves the GPU's context current on this thread.
  static Result<Gpu> open(std::string_view endpoint);
  // Every GPU, in order; the first one's context is current afterwards. At least one, else as
  // open().
  static Result<std::vector<Gpu>> open_all();

  // How many GPUs CUDA shows; errors as load_cuda().
  static Result<int> count();

  // Identity and facts, read when the GPU was opened.
  [[nodiscard]] int index() const { return device_; }
  [[nodiscard]] const std::string& name() const { return name_; }  // "gpu0": for messages and pairs
  [[nodiscard]] const std::string& model() const { return model_; }              // "NVIDIA H200"
  [[nodiscard]] const std::string& pci_address() const { return pci_address_; }  // "0000:00:06.0"
  [[nodiscard]] const std::string& uuid() const { return uuid_; }  // "GPU-16b0...", "" if unknown
  [[nodiscard]] int capability() const { return capability_; }     // compute capability 9.0 is 90
  // CUDA's handles, for calls of the driver; the context is owned here.
  [[nodiscard]] cu::Device device() const { return device_; }
  [[nodiscard]] cu::Context context() const { return context_; }

  // Makes this GPU's context current on the calling thread.
  [[nodiscard]] Status make_current() const;
  // An attribute's value; an attribute that the driver does not know is 0. Any other failure is an
  // error: it decides what is measured, and how.
  [[nodiscard]] Result<int> attribute(int which) const;
  // Bytes of memory that are free now, by cuMemGetInfo. This GPU's context must be current.
  [[nodiscard]] Result<std::uint64_t> free_bytes() const;
  // NUMA node of the GPU's slot from `sysfs` (/sys), or -1 where the machine does not report it.
  [[nodiscard]] int numa_node(const std::string& sysfs = "/sys") const;

  // device, gpu_model, gpu_uuid, pci_address, cuda_driver, cuda_release, compute_capability and
  // (where known) numa_node of the GPU.
  void report_facts(Reporter& reporter) const;

 private:
  static Result<Gpu> open_index(const Cuda& cuda, int index);

  cu::Device device_ = 0;
  // Released when the GPU is destroyed; `context_` is its handle.
  PrimaryContext retained_;
  cu::Context context_ = nullptr;
  std::string name_;
  std::string model_;
  std::string pci_address_;
  std::string uuid_;
  int capability_ = 0;
};

// The result of a call about `gpu` as a Status: "gpu0: `act`: CUDA_ERROR_... ". Outcomes as
// cuda_status().
Status gpu_status(const Gpu& gpu, cu::Return returned, std::string_view act);

}  // namespace railgauge::gpu
