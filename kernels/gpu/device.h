// One GPU of a task: found, its primary context retained, its facts read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"
#include "kernels/dl/cuda.h"
#include "kernels/gpu/handles.h"

namespace railgauge::gpu {

// How to treat a slice of a partitioned GPU (MIG).
enum class Slices : std::uint8_t { kRefuse, kTake };

// One GPU with its primary context retained. Movable. Not thread safe, except for the constant
// queries.
class Gpu {
 public:
  // Opens `endpoint`: "gpuN", N counted by PCI address among the GPUs that CUDA shows; "" is gpu0.
  // Waives (kNotFound, kFailedPrecondition) without a driver or a GPU, for an index out of range,
  // and for a slice of a partitioned GPU (MIG) unless they are taken. Leaves the GPU's context
  // current on this thread.
  static Result<Gpu> open(std::string_view endpoint, Slices slices = Slices::kRefuse);
  // Opens every GPU, in order, and leaves the first one's context current. Returns at least one
  // GPU, else an error as open().
  static Result<std::vector<Gpu>> open_all(Slices slices = Slices::kRefuse);

  // Returns the number of GPUs that CUDA shows; errors as load_cuda().
  static Result<int> count();

  // Identity and facts, read when the GPU was opened.
  [[nodiscard]] int index() const { return device_; }
  [[nodiscard]] const std::string& name() const { return name_; }  // "gpu0": for messages and pairs
  [[nodiscard]] const std::string& model() const { return model_; }  // "NVIDIA H200"
  [[nodiscard]] const std::string& slice() const { return slice_; }  // "1g.18gb", "" if whole
  [[nodiscard]] const std::string& pci_address() const { return pci_address_; }  // "0000:00:06.0"
  [[nodiscard]] const std::string& uuid() const { return uuid_; }  // "GPU-16b0...", "" if unknown
  [[nodiscard]] int capability() const { return capability_; }     // compute capability 9.0 is 90
  // CUDA's handles, for driver calls; this object owns the context.
  [[nodiscard]] cu::Device device() const { return device_; }
  [[nodiscard]] cu::Context context() const { return context_; }

  // Makes this GPU's context current on the calling thread.
  [[nodiscard]] Status make_current() const;
  // Returns an attribute's value, 0 for an attribute that the driver does not know. Any other
  // failure is an error, because attributes decide what is measured and how.
  [[nodiscard]] Result<int> attribute(int which) const;
  // Returns the free bytes of memory, by cuMemGetInfo. This GPU's context must be current.
  [[nodiscard]] Result<std::uint64_t> free_bytes() const;
  // Returns the NUMA node of the GPU's slot from `sysfs` (/sys), or -1 where it is not reported.
  [[nodiscard]] int numa_node(const std::string& sysfs = "/sys") const;

  // Reports the GPU's facts: device, gpu_model, gpu_slice (of a slice), gpu_uuid, pci_address,
  // cuda_driver, cuda_release, compute_capability and (where known) numa_node.
  void report_facts(Reporter& reporter) const;

 private:
  static Result<Gpu> open_index(const Cuda& cuda, int index, Slices slices);

  cu::Device device_ = 0;
  // Releases the context with this object; `context_` is its handle.
  PrimaryContext retained_;
  cu::Context context_ = nullptr;
  std::string name_;
  std::string model_;
  std::string slice_;
  std::string pci_address_;
  std::string uuid_;
  int capability_ = 0;
};

// Converts the result of a call about `gpu` to a Status: "gpu0: `act`: CUDA_ERROR_... ". Outcomes
// as cuda_status().
Status gpu_status(const Gpu& gpu, cu::Return returned, std::string_view act);

// Returns `outcome`, a Status or a Result, whose error begins with the GPU's name: for acts that do
// not know their GPU.
template <class Outcome>
Outcome on_gpu(const Gpu& gpu, Outcome outcome) {
  if (!outcome) outcome.error().message.insert(0, gpu.name() + ": ");
  return outcome;
}

}  // namespace railgauge::gpu
