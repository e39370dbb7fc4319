// A Vulkan loader and driver without hardware: libvulkan-fake.so, taken by the loader through
// RAILGAUGE_LIBVULKAN. Memory is a memfd; its exported descriptor is what libcuda-fake.so imports,
// so that both see the same bytes.
//
// Tests link it and steer it here; other processes by RAILGAUGE_FAKE_VULKAN=NAME=VALUE,... with the
// names below. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace railgauge::fake {

struct VulkanControl {
  std::atomic<std::uint64_t> calls{0};        // since reset(), of those that can fail
  std::atomic<std::uint64_t> fail_call{0};    // this call fails, once; 0: none
  std::atomic<std::uint64_t> fail_error{3};   // with the negative of this: initialisation failed
  std::atomic<std::int64_t> live_handles{0};  // instances, devices, memory, mappings

  std::atomic<std::uint64_t> instances{0};  // made since reset()
  std::atomic<std::uint64_t> gpus{2};
  std::atomic<std::uint64_t> no_large_bar{0};  // 1: no memory of the GPU is visible to the CPU
  std::atomic<std::uint64_t> other_uuid{0};    // 1: GPUs that CUDA does not know
  std::atomic<std::uint64_t> no_export{0};     // 1: vkGetMemoryFdKHR is not there

  // Back to what RAILGAUGE_FAKE_VULKAN says; live handles stay.
  void reset();
};

// The loaded library's own, one for the process.
VulkanControl& vulkan_control();

}  // namespace railgauge::fake
